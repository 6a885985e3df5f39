"""Reports that come every day or every quarter, obituaries: fixed phrases around other facts."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from random import Random

from benchmarks.noisy.aside._stories import ld, menu, og
from benchmarks.noisy.site import Kind, Page, shuffled
from benchmarks.noisy.words import Words, british, english, paras, slug

WEATHER = {"title": "h1.title::text", "body": ".report", "date": ".issued::text", "article": "main"}
SKIES = [
    "mostly cloudy with showers",
    "sunny spells and dry",
    "overcast with rain in places",
    "clear after morning fog",
    "cloudy with snow above 800 metres",
    "changeable with thunderstorms",
]
WINDS = [
    "light winds from the west",
    "a moderate southwesterly wind",
    "fresh northerly winds with gusts on the coast",
    "hardly any wind",
]


def weather(random: Random, count: int) -> Iterator[Page]:
    """The report of a weather service, day by day."""
    first = dt.datetime(2024, 2, 1, 5, 30, tzinfo=dt.UTC)
    for number in range(count):
        day = first + dt.timedelta(days=number)
        parts = []
        for when in ("Today", "Tonight", "Tomorrow", "The day after tomorrow"):
            low = random.randint(-4, 12)
            parts.append(
                f"{when} it is {random.choice(SKIES)} in the north and {random.choice(SKIES)} in the south. Temperatures lie between {low} degrees in the hills and {low + random.randint(3, 11)} degrees along the rivers, with {random.choice(WINDS)}. The chance of precipitation is {random.randint(0, 10)}0 percent."
            )
        parts.append(
            "Warnings are issued by the regional centres. The next report appears at 11.30 am. All times are local times; heights are in metres above sea level."
        )
        rows = "\n".join(
            f"<tr><td>{place}</td> <td>{random.randint(-6, 18)}</td> <td>{random.randint(990, 1040)}</td></tr>"
            for place in ("Coast", "Lowland", "Hills", "Mountains")
        )
        html = f"""<!DOCTYPE html><html lang="en"><head><title>Weather report - State Weather Service</title><meta name="DC.creator" content="State Weather Service"></head><body><div id="kopf">State Weather Service {menu(["Weather and climate", "Research", "Services", "Press"])}</div> <main id="main"><h1 class="title">Weather report for the whole country</h1> <p class="issued">Issued on {day:%A}, {day:%d.%m.%Y}, {day:%H:%M}</p> <div class="report">{paras(parts)}<table><tr><th>Region</th> <th>°C</th> <th>hPa</th></tr>{rows}</table></div></main><div id="fuss">{menu(["Imprint", "Contact", "Glossary"])}© SWS 2024</div></body></html>"""
        yield Page(
            f"https://www.sws.example/report/{day:%Y%m%d}.html", html.encode(), str(number), WEATHER
        )


RATES = {
    "title": "h2.page-title::text",
    "body": "#rates",
    "date": ".asof::text",
    "article": "#rates",
}
COIN = "US dollar;Yen;Lev;Czech koruna;Danish krone;Pound sterling;Forint;Zloty;Leu;Swedish krona;Swiss franc;Icelandic krona;Norwegian krone;Lira;Australian dollar;Real;Canadian dollar;Yuan renminbi;Hong Kong dollar;Rupiah;Shekel;Rupee;Won;Peso;Ringgit;New Zealand dollar;Philippine peso;Singapore dollar;Baht;Rand"


def rates(random: Random, count: int) -> Iterator[Page]:
    """Rates of exchange of each working day, in a table under the same explanation."""
    names = COIN.split(";")
    values = [random.choice([1.1, 4.5, 7.8, 25.0, 160.0]) * random.uniform(0.7, 1.4) for _ in names]
    for number in range(count):
        day = dt.date(2024, 1, 8) + dt.timedelta(days=number + 2 * (number // 5))
        values = [value * random.uniform(0.992, 1.008) for value in values]
        rows = "\n".join(
            f'<tr><td class="currency">{name}</td> <td class="spot">{value:.4f}</td> <td class="trend">{random.choice("▲▼")}</td></tr>'
            for name, value in zip(names, values, strict=True)
        )
        html = f"""<!DOCTYPE html><html lang="en"><head><title>Reference exchange rates | Central Bank</title><meta name="robots" content="noarchive"></head><body><header>Central Bank {menu(["About", "Media", "Statistics", "Payments", "Banknotes"])}</header><nav class="crumb">Home &gt; Statistics &gt; Exchange rates</nav><main><h2 class="page-title">Reference exchange rates of the euro</h2> <div id="rates"><div class="asof">{day.day} {day:%B %Y}</div> <div>All currencies are quoted against the euro. The rates are usually updated around 16:00 on every working day, except on closing days. They are based on the daily concertation between central banks and are published for information only; using them for transactions is strongly discouraged.</div> <table class="forextable">{rows}</table></div></main><footer>Copyright 2024, Central Bank. Disclaimer and copyright. Cookies.</footer></body></html>"""
        yield Page(
            f"https://bank.example/stats/rates/html/index.en.html?date={day}",
            html.encode(),
            str(day),
            RATES,
        )


DRAW = {
    "title": "h1.draw__title::text",
    "body": ".draw__content",
    "date": ".draw__date::attr(datetime)",
    "article": "main",
}


def lottery(random: Random, count: int) -> Iterator[Page]:
    """A newspaper's report of each draw, written by a machine."""
    day = dt.date(2023, 6, 3)
    for number in range(count):
        day += dt.timedelta(days=3 if number % 2 else 4)
        balls = sorted(random.sample(range(1, 50), 6))
        extra, game, jackpot = (
            random.randint(0, 9),
            random.randint(10**6, 10**7 - 1),
            random.randint(1, 45),
        )
        name = f"{day:%A}, {day.day} {day:%B %Y}"
        texts = [
            f"Six right numbers and the right super number: that is what players need to win the jackpot. These numbers were drawn on {name}. All information without guarantee.",
            f"The winning numbers are {', '.join(map(str, balls))}. The super number is {extra}. The numbers of the additional game are {game}.",
            f"There are about {jackpot} million euros in the jackpot this time. The next draw takes place on {day + dt.timedelta(days=4):%A}; tickets are sold until shortly before the draw at all agencies and on the internet.",
            "The chance of six right numbers with the super number is one in 140 million. Those who do not have the super number can still be glad of a sum of several hundred thousand euros, and even two right numbers with the super number pay back a part of the stake.",
            "Gambling can be addictive. Help is given free of charge and anonymously by the hotline of the Federal Centre for Health Education. Persons under the age of 18 must not take part.",
        ]
        html = f"""<!doctype html><html lang="en"><head><title>Lottery on {day:%A}: these are the winning numbers of {day:%d.%m.%Y}</title>{og(type="article", title="The winning numbers", published=str(day))}</head><body><header>Metro Post {menu(["News", "Sport", "Stars", "Advice"])}</header><main><article><h1 class="draw__title">Lottery on {day:%A}: the current winning numbers</h1> <time class="draw__date" datetime="{day}T19:{random.randint(25, 59)}">{day:%d.%m.%Y}</time><div class="share">Share Tweet Mail</div> <div class="draw__content">{paras(texts)}</div></article></main><aside>Top videos. Horoscope. Crossword. {random.randint(2, 400)} people read this now.</aside><footer>Metro Post 2024</footer></body></html>"""
        yield Page(
            f"https://www.metropost.example/advice/lottery-{day:%A-%d-%m-%Y}.html".lower(),
            html.encode(),
            str(day),
            DRAW,
        )


OBITUARY = {
    "title": "h1.obit-name::text",
    "body": ".obit-text",
    "date": ".obit-dates::text",
    "comments": ".guestbook b::text",
    "article": "article",
}


def obituaries(random: Random, count: int) -> Iterator[Page]:
    """Notices of a funeral home: the phrases are the house's, the people are not."""
    words, pages = Words(random), []
    towns = [words.town() for _ in range(5)]
    churches = ["St Mark's Lutheran Church", "the First Methodist Church", "Holy Cross Church"]
    for number in range(count):
        first, last = words.person().split()
        she = random.random() < 0.5
        who, whose = ("She", "her") if she else ("He", "his")
        died = words.day(2022, 2025)
        age = random.randint(58, 97)
        born = dt.datetime(
            died.year - age, random.randint(1, 12), random.randint(1, 28), tzinfo=dt.UTC
        )
        kin = [words.person().split()[0] for _ in range(7)]
        town = random.choice(towns)
        burial = died + dt.timedelta(days=random.randint(3, 8))
        texts = [
            f"{first} {last}, {age - (born.replace(year=died.year) > died)}, of {town}, passed away peacefully on {died:%A}, {english(died)}, surrounded by {whose} loving family.",
            f"{first} was born on {english(born)} in {random.choice(towns)}, to {kin[0]} and {kin[1]} {last}. {who} graduated from {random.choice(towns)} High School and worked for {random.randint(12, 41)} years as a {random.choice(['teacher', 'nurse', 'carpenter', 'farmer', 'bus driver', 'bookkeeper'])}. {who} loved {random.choice(['gardening', 'fishing', 'quilting', 'baseball'])}, {random.choice(['playing cards', 'baking', 'old tractors', 'crosswords'])} and above all time with family and friends.",
            f"{first} is survived by {whose} {'husband' if she else 'wife'}, {kin[2]}; {whose} children {kin[3]} and {kin[4]}; {random.randint(2, 9)} grandchildren; and {whose} sister {kin[5]}. {who} was preceded in death by {whose} parents and {whose} brother {kin[6]}.",
            f"A celebration of life will be held at {random.randint(10, 14)}:00 on {burial:%A}, {english(burial)}, at {random.choice(churches)} in {town}, with burial to follow in the church cemetery. Visitation will be one hour before the service.",
            "In lieu of flowers, memorials may be given to the charity of your choice. Online condolences may be left for the family on this page. Harper Funeral Home and Cremation Services is honoured to serve the family.",
        ]
        html = f"""<!DOCTYPE html><html lang="en"><head><title>{first} {last} Obituary - {town} | Harper Funeral Home</title>{og(title=f"{first} {last} Obituary", type="article")}{ld(type="Person", name=f"{first} {last}", deathDate=f"{died:%Y-%m-%d}")}</head><body><header>Harper Funeral Home {menu(["Obituaries", "Plan ahead", "Grief support", "Flowers"])}</header><article><h1 class="obit-name">{first} {last}</h1> <div class="obit-dates">{english(born)} — {english(died)}</div> <div class="buttons">Plant a tree Send flowers Share</div> <div class="obit-text">{paras(texts)}</div> <div class="guestbook"><b>{random.randint(0, 40)}</b> memories shared. Light a candle.</div></article><aside>{random.randint(1, 60)} trees planted this month. Recent obituaries: {words.person()}, {words.person()}, {words.person()}</aside><footer>Site by FuneralWeb</footer></body></html>"""
        pages.append(
            Page(
                f"https://www.harperfuneral.example/obituary/{slug(first + ' ' + last)}-{number}",
                html.encode(),
                str(number),
                OBITUARY,
            )
        )
    yield from shuffled(random, pages)


QUARTER = {
    "title": "h1.release-title::text",
    "body": ".xn-content",
    "date": ".release-date::text",
    "article": "main",
}


def quarters(random: Random, count: int) -> Iterator[Page]:
    """The results of three firms, quarter by quarter."""
    words = Words(random)
    size = -(-count // 3)
    for number in range(count):
        if number % size == 0:
            firm, chief, about = words.firm(), words.person(), words.paragraph(45)
            sales = random.uniform(90, 900)
        year, quarter = 2012 + number % size // 4, number % size % 4
        sales *= random.uniform(0.9, 1.14)
        change, margin = random.uniform(-9, 14), random.uniform(2, 19)
        day = dt.datetime(
            year + quarter // 3,
            (4 + 3 * quarter - 1) % 12 + 1,
            random.randint(18, 29),
            tzinfo=dt.UTC,
        )
        ordinal = ["first", "second", "third", "fourth"][quarter]
        texts = [
            f"{firm} today reported its financial results for the {ordinal} quarter of {year}. Net sales were €{sales:.1f} million, {'an increase' if change > 0 else 'a decrease'} of {abs(change):.1f} percent compared with the same quarter of the previous year. Operating income was €{sales * margin / 100:.1f} million, or {margin:.1f} percent of net sales.",
            f"“We are {'pleased with' if change > 0 else 'working hard on'} our results in the {ordinal} quarter,” said {chief}, chief executive of {firm}. “{words.sentence()} {words.sentence()}”",
            f"Orders received amounted to €{sales * random.uniform(0.8, 1.2):.1f} million. Free cash flow was €{sales * random.uniform(-0.05, 0.12):.1f} million. The number of employees at the end of the quarter was {random.randint(2000, 2900):,}.",
            f"For the full year the company {random.choice(['confirms', 'raises', 'narrows'])} its guidance and expects net sales between €{sales * 3.9:.0f} million and €{sales * 4.2:.0f} million.",
            f"A conference call will be held on {british(day)} at 10.00 am. A recording will be available on the website of the company for twelve months.",
            "This release contains statements on the future that rest on present assumptions and estimates. Many factors can cause the actual results to be different. The company accepts no duty to update such statements. Figures are rounded and have not been audited.",
            f"About {firm}: {about}",
        ]
        html = f"""<!DOCTYPE html><html lang="en"><head><title>{firm} Reports Financial Results :: {firm.split()[0]}</title><meta name="description" content="Investor news"></head><body class="q4web"><header>{firm} {menu(["Products", "Company", "Investors", "Careers"])}</header><div class="module-stock">Stock quote €{random.uniform(10, 60):.2f}</div> <main><h1 class="release-title">{firm} Reports {ordinal.capitalize()} Quarter {year} Results</h1> <span class="release-date">{day:%m/%d/%Y}</span><a>Download this press release (PDF)</a><div class="xn-content">{paras(texts)}</div></main><footer>E-mail alerts. Contacts. RSS. Powered by an investor platform</footer></body></html>"""
        yield Page(
            f"https://ir.{slug(firm.split()[0])}.example/news/{year}/q{quarter + 1}/default.aspx",
            html.encode(),
            str(number),
            QUARTER,
        )


KINDS = (
    Kind("Weather reports by day", weather, 40),
    Kind("Exchange rates by day", rates, 40),
    Kind("Lottery draws", lottery, 40),
    Kind("Obituaries of a funeral home", obituaries, 35),
    Kind("Results of firms by quarter", quarters, 36),
)
