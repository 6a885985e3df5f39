"""Job advertisements of an employer, flats of a house, rooms of a hotel, and terms of firms."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from benchmarks.noisy.aside._stories import ld, menu, og
from benchmarks.noisy.site import Kind, Page, shuffled
from benchmarks.noisy.words import Words, british, paras, slug

JOBS = ["Nurse (intensive care)", "Physiotherapist", "Kitchen assistant", "Medical secretary"]
DUTIES = [
    "You care for our patients in shifts and in a team that has worked together for many years.",
    "You write the documentation in our electronic record and keep to the standards of our house.",
    "You talk with relatives calmly and clearly, also when a day is difficult.",
    "You train new colleagues and students who spend a part of their education with us.",
    "You take part in our regular case conferences and bring in your own suggestions.",
    "You order supplies and watch over the stocks of your station.",
]
WANTED = [
    "A completed vocational training or a comparable qualification",
    "Experience in a clinic is welcome but no condition",
    "Reliability, patience and a sense of humour",
    "Good spoken and written English",
    "Willingness to work at weekends about twice a month",
]
OFFERED = [
    "Pay by the collective agreement with a bonus at the end of the year",
    "Thirty days of leave and two more for shift work",
    "A ticket for public transport at a reduced price",
    "A place in our nursery from the age of ten months",
    "Further education at our own academy, in working hours",
    "Company pension, to which you pay nothing",
]
ABOUT = "The Linden Clinics are a non-profit group of hospitals and care homes with more than 11,000 employees at 19 sites. We treat about 340,000 patients a year. People with severe disabilities are preferred where qualifications are equal. We are pleased about applications from people of every origin, age and faith. Please apply through our portal; applications on paper are not sent back. Travel costs for interviews cannot be paid."
WORKDAY = {
    "title": "h2[data-automation-id=jobPostingHeader]::text",
    "body": ".job-description",
    "date": "[data-automation-id=postedOn] dd::text",
    "category": "[data-automation-id=locations] dd::text",
    "article": "main",
}


def _bullets(items: list[str]) -> str:
    return "<ul>" + "\n".join(f"<li>{item}</li>" for item in items) + "</ul>"


def jobs_by_town(random: Random, count: int) -> Iterator[Page]:
    """The same posts at other sites of the employer: the town stands in the title and the text."""
    words, pages = Words(random), []
    towns = [words.town() for _ in range(count)]
    for number in range(count):
        job, town = (
            JOBS[number % len(JOBS)],
            towns[number // len(JOBS)] + random.choice(["", " North", " Hill"]),
        )
        hours, start, reference = (
            random.choice([20, 30, 38.5]),
            words.day(2024, 2025),
            f"R-{random.randint(10000, 99999)}",
        )
        named = number % 3 > 0
        title = f"{job}, {town}" if named else job
        picked = _bullets(Random(job).sample(DUTIES, 4))
        html = f"""<!DOCTYPE html><html lang="en-US"><head><title>{title}</title>{og(title=title, description=ABOUT[:150], type="article")}{ld(type="JobPosting", title=title, identifier={"value": reference}, hiringOrganization="Linden Clinics", jobLocation=town, datePosted=f"{start:%Y-%m-%d}")}</head><body><div id="root"><header>Linden Clinics Careers {menu(["Search for Jobs", "Sign In", "Talent community"])}</header><main><div data-automation-id="jobPostingPage"><h2 data-automation-id="jobPostingHeader">{title}</h2> <button>Apply</button>
<div data-automation-id="locations"><dl><dt>locations</dt> <dd>{town}</dd></dl></div> <div data-automation-id="time"><dl><dt>time type</dt> <dd>{"Full time" if hours == 38.5 else "Part time"}</dd></dl></div> <div data-automation-id="postedOn"><dl><dt>posted on</dt> <dd>Posted {random.randint(2, 30)} Days Ago</dd></dl></div> <div data-automation-id="requisitionId"><dl><dt>job requisition id</dt> <dd>{reference}</dd></dl></div>
<div class="job-description" data-automation-id="jobPostingDescription"><p>For our house in {town} we are looking for a {job} from {british(start)}, {hours} hours a week.</p> <p><b>Your tasks</b></p>{picked}<p><b>Your profile</b></p>{_bullets(WANTED)}<p><b>What we offer</b></p>{_bullets(OFFERED)}<p><b>About us</b></p> <p>{ABOUT}</p> <p>Questions? {words.person()} will be glad to answer them. Reference: {reference}</p></div></div> <h3>Similar Jobs ({random.randint(2, 9)})</h3></main><footer>Follow us. © 2024 Workday, Inc.</footer></div></body></html>"""
        url = f"https://linden.jobs.example/en-US/careers/job/{slug(town)}/{slug(job)}_{reference}"
        pages.append(Page(url, html.encode(), str(number), WORKDAY))
    yield from shuffled(random, pages)


SERVICE = {
    "title": "#jobtitle::text",
    "body": "#advert",
    "date": "table.facts tr:last-child td + td::text",
    "article": "#advert",
}


def jobs_by_table(random: Random, count: int) -> Iterator[Page]:
    """A public service: grade, office, reference and deadline stand in a table only."""
    words, pages = Words(random), []
    texts = [words.paragraph(50) for _ in range(5)]
    for number in range(count):
        job = ["Clerk", "Case worker", "Surveyor"][number % 3]
        deadline = words.day(2024, 2025)
        rows = {
            "Reference number": f"{random.randint(100, 999)}/{random.randint(10, 99)}-{number}",
            "Office": f"Tax office {words.town()}",
            "Grade": f"A {random.randint(6, 9)}",
            "Number of posts": str(random.randint(1, 3)),
            "Closing date": british(deadline),
        }
        table = "\n".join(
            f"<tr><td>{name}:</td> <td>{value}</td></tr>" for name, value in rows.items()
        )
        html = f"""<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN"><html><head><title>Vacancies of the Tax Administration</title></head><body bgcolor="#ffffff"><table width="780"><tr><td colspan="2"><img src="arms.gif"> Tax Administration</td></tr> <tr><td valign="top" class="nav">{menu(["Vacancies", "Training", "Forms", "Offices"])}</td> <td valign="top">
<div id="advert"><span id="jobtitle">{job} in the tax administration (m/f/d)</span><table class="facts" border="1">{table}</table> <div>{"<br><br>".join(texts)}</div> <div>{"; ".join(WANTED)}.</div> <div>{"; ".join(OFFERED)}.</div> <div>Please state the reference number in your application. Applications that arrive after the closing date cannot be considered. Documents are destroyed when the procedure has ended.</div></div></td></tr> <tr><td class="publ">{random.randint(100, 900)} visitors today</td></tr></table></body></html>"""
        pages.append(
            Page(
                f"https://tax.state.example/vacancies/show.php?nr={4000 + 17 * number}",
                html.encode(),
                str(number),
                SERVICE,
            )
        )
    yield from shuffled(random, pages)


FLAT = {
    "title": "h1#expose-title::text",
    "body": ".is24-expose-content",
    "article": "#is24-content",
}
HOUSE = "The new building stands in a quiet side street, five minutes on foot from the park and the tram. It has a lift, a room for bicycles and a garage below ground; a space can be rented for 85 euros. All flats have underfloor heating, three-pane windows, wooden floors and a fitted kitchen with dishwasher and oven. The bathrooms are tiled to the ceiling. Each flat has a cellar of its own and a fast connection by glass fibre."
AROUND = "Shops for daily needs, a pharmacy and two schools are near. The tram takes you to the main station in eleven minutes, the motorway can be reached in ten. The river with its beaches, cafés and long paths for walkers and runners begins behind the next corner."
LETTING = "Viewings take place in groups on Saturdays. Please use the form and tell us something about yourself. We need proof of income for the last three months and a credit report. The deposit is three months' rent without heating, to be paid before the keys are given to you. The details are given by the owner; we accept no liability for them."


def flats(random: Random, count: int) -> Iterator[Page]:
    """Flats of one house that differ in their number, floor, size and rent."""
    pages = []
    for number in range(count):
        floor, door = divmod(number, 5)
        rooms = random.choice([1, 2, 2, 3, 3, 4])
        size = 21 * rooms + random.randint(0, 900) / 100
        rent = size * random.choice([14.2, 14.8, 15.5])
        criteria = {
            "Flat": f"{floor}.{door + 1:02}",
            "Floor": f"{floor} of 8" if floor else "Ground floor",
            "Rooms": str(rooms),
            "Living space approx.": f"{size:.2f} m²",
            "Available from": random.choice(["at once", "01.05.2024", "01.06.2024"]),
            "Net rent": f"€{rent:.2f}",
            "Service charges": f"€{size * 3.1:.2f}",
            "Outside": random.choice(["Balcony", "Loggia", "Terrace", "None"]),
        }
        rows = "\n".join(
            f'<dl class="grid"><dt class="is24qa-label">{name}</dt> <dd class="is24qa">{value}</dd></dl>'
            for name, value in criteria.items()
        )
        title = "First letting: bright flat in the Riverside Quarter"
        html = f"""<!DOCTYPE html><html lang="en"><head><title>{title} - flat to rent in Riverton</title>{og(title=title, type="realestate")}</head><body id="rentflat"><div id="usercentrics-root">We value your privacy. <button>Accept all</button></div> <header><a href="/">HomeScout</a>{menu(["Rent", "Buy", "Finance", "Sell", "Plus membership"])}</header><div id="is24-content"><h1 id="expose-title">{title}</h1> <div class="address-block">Mill Bank 14, 10999 Riverton</div>
<div class="is24-expose-content"><div class="criteriagroup">{rows}</div> <h4>Property</h4> <pre class="is24qa-objektbeschreibung">{HOUSE}</pre> <h4>Location</h4> <pre class="is24qa-lage">{AROUND}</pre> <h4>Other</h4> <pre class="is24qa-sonstiges">{LETTING}</pre></div> <div class="contact">Riverside Letting Ltd. <button>Contact</button> Report listing. Online for {random.randint(1, 30)} days. Saved by {random.randint(0, 80)} people. Scout-ID: {148000000 + 7919 * number}</div></div>
<section><h2>Similar homes</h2>{random.randint(20, 90)} m² in Riverton, €{random.randint(500, 1900)}; {random.randint(20, 90)} m² in Riverton, €{random.randint(500, 1900)}</section><footer>{menu(["Imprint", "Terms", "Privacy", "Safety"])}</footer></body></html>"""
        pages.append(
            Page(
                f"https://www.homescout.example/expose/{148000000 + 7919 * number}",
                html.encode(),
                str(number),
                FLAT,
            )
        )
    yield from shuffled(random, pages)


TERMS = {
    "title": "h1::text",
    "body": ".wp-block-group",
    "updated": ".revised::text",
    "article": "main",
}


def privacy_policies(random: Random, count: int) -> Iterator[Page]:
    """Policies that firms made with the same generator: names, addresses and officers differ."""
    words = Words(random)
    for _ in range(count):
        firm, town, officer = words.firm(), words.town(), words.person()
        host = f"{slug(firm.split()[0])}.example"
        street = f"{random.randint(1, 240)} {words.made().capitalize()} Street"
        day, years = british(words.day(2021, 2025)), random.choice(["two", "three", "six", "ten"])
        clauses = [
            f"This privacy policy describes how {firm} collects, uses and protects information when you visit {host}. By using the website you accept the practices described in this policy. If you do not agree, please do not use the website.",
            f"The controller within the meaning of data protection law is {firm}, {street}, {town}. You can reach our data protection officer, {officer}, at privacy@{host} or by post at the address above.",
            "We collect information that you provide to us, such as your name, postal address, e-mail address and telephone number when you fill in a form, place an order, subscribe to our newsletter or contact our support.",
            "When you visit the website our server automatically records your browser type, operating system, the page from which you came, the pages you view and the time of your visit. These data are needed to show the website and to keep it secure.",
            f"We use cookies and similar technologies to remember your settings and to understand how visitors use the website. You can refuse cookies in your browser; some parts of {host} may then not work as intended.",
            f"{firm} does not sell personal information. We share it with service providers that host our website, process payments or send our messages, and only as far as they need it for their work.",
            f"We keep personal data no longer than is necessary for the purposes for which they were collected, in general {years} years after the last contact, unless a law requires us to keep them longer.",
            "You have the right to access your data, to have them corrected or erased, to restrict or object to their processing, and to receive them in a portable format. You may also lodge a complaint with a supervisory authority.",
            "Our website may contain links to other websites. We are not responsible for the content or the privacy practices of those websites and encourage you to read their policies.",
            f"We may change this policy from time to time. The current version is always available at {host}/privacy-policy. This policy was last revised on {day}.",
            f"If you have questions about this policy, please write to {firm}, {street}, {town}.",
        ]
        html = f"""<!doctype html><html lang="en"><head><title>Privacy Policy - {firm}</title><meta name="robots" content="max-image-preview:large"></head><body class="privacy-policy page-template-default page"><header><a href="/">{firm}</a>{menu(["Home", "Products", "About", "Contact"])}</header><main><h1 class="wp-block-post-title">Privacy Policy</h1> <div class="wp-block-group">{paras(clauses)}</div></main><footer>© 2024 {firm}. All rights reserved. <span class="revised">{day}</span></footer></body></html>"""
        yield Page(f"https://www.{host}/privacy-policy/", html.encode(), host, TERMS)


ROOM = {
    "title": "h1.room-name::text",
    "body": ".room-text",
    "category": ".crumbs a:last-of-type::text",
    "article": "main",
}


def hotel_rooms(random: Random, count: int) -> Iterator[Page]:
    """The hotels of a chain: a text of the brand with the town, the address and the distances."""
    words, pages = Words(random), []
    for number in range(count):
        town, street = words.town(), f"{random.randint(1, 99)} {words.made().capitalize()} Avenue"
        rooms, metres, drive = (
            random.randint(60, 240),
            random.randint(100, 2500),
            random.randint(5, 50),
        )
        texts = [
            f"Welcome to the Nightingale Hotel {town}. The hotel at {street} has {rooms} rooms, free wireless internet in the whole house and a bar that is open around the clock.",
            "You sleep in beds of two metres ten with mattresses made for us, behind soundproof windows and with air conditioning that you set as you like. Rain showers, a flat television and a desk are in every room, and children up to the age of twelve sleep in the room of their parents for nothing.",
            f"The station is {metres} metres away, and the airport can be reached in {drive} minutes by car. {random.choice(['The congress centre', 'The old market', 'The cathedral', 'The harbour'])} of {town} is the sight next to the house.",
            "Breakfast is served from 6.30 to 10.30 am, on Saturdays and Sundays until noon. Check in from 3 pm, check out until 11 am. Dogs are welcome for a fee. Pay at the machine or with our app, and go to your room without waiting.",
        ]
        html = f"""<!DOCTYPE html><html lang="en"><head><title>Hotel {town} | Nightingale Hotels</title><meta name="description" content="Book your room in {town} at the best price.">{ld(type="Hotel", name=f"Nightingale Hotel {town}", address=street)}</head><body><header>Nightingale {menu(["Hotels", "Offers", "Groups", "My bookings"])}</header><div class="crumbs"><a href="/">Hotels</a> <a href="/gb/">Great Britain</a> <a>{town}</a></div> <main><h1 class="room-name">Nightingale Hotel {town}</h1> <div class="price">from €{random.randint(59, 159)} a night</div> <div class="rating">{random.randint(78, 96) / 10} / 10 ({random.randint(200, 4000)} reviews)</div> <div class="room-text">{paras(texts)}</div> <button>Check availability</button></main><section>Last booked {random.randint(1, 55)} minutes ago</section><footer>{menu(["Press", "Jobs", "Imprint", "Cookie settings"])}</footer></body></html>"""
        pages.append(
            Page(
                f"https://www.nightingale.example/en/hotels/{slug(town)}-{number}",
                html.encode(),
                str(number),
                ROOM,
            )
        )
    yield from shuffled(random, pages)


KINDS = (
    Kind("Jobs: town in title or text", jobs_by_town, 40),
    Kind("Jobs: office and reference in a table", jobs_by_table, 36),
    Kind("Flats of one house", flats, 40),
    Kind("Privacy policies of firms", privacy_policies, 40),
    Kind("Hotels of a chain", hotel_rooms, 35),
)
