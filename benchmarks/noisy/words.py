"""Words, sentences, names and days for the pages of a kind, all drawn from one `random.Random`.

Half of what an English text consists of are the real words that every text has; the others are made
of syllables, frequent and rare ones as in real texts (Zipf), and each text uses a few dozen words
of its own subject more often. Chinese texts are written in the words of jieba's dictionary, by
their frequency there.
"""

from __future__ import annotations

import datetime as dt
from functools import cache
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from random import Random

_COMMON = """the of and to in a is that for it as was with be by on not he his but at are this
have from or had an they which one you were all her she there would their we him been has when who
will no more if out so up said what its about than into them can only other time new some could
these two may first then do any like my now over such our man me even most made after also did many
off before must well back through years much where your way down should because each just those
people how too little state good very make world still see own work long here get both between life
being under three never know same last another while us might great go come since against right
during without again place old small few found every used say though number part until always away
something fact less once high upon school think does got united left number course war until yet
government system better set told nothing night end why called didn eyes find going look asked later
knew point next program city business give group toward young let room president side social given
present several order national second possible rather per face among form important often things
looked early white case large need big four within felt children along saw best ever least power
development light thing seemed family interest want members mind country area others turned although
open done God service certain kind problem began different door thus help sense means whole matter
"""
_FUNCTION = _COMMON.split()
_STARTS = "b br c ch cl cr d dr f fl fr g gl gr h j k l m n p pl pr qu r s sh sl sp st t th v w"
_VOWELS = "a e i o u a e i o ea ou ai ee"
_ENDS = "b ck d g l ll m n nd ng nt p r rd rk rn rt s sh ss st t th x"
_TAILS = ["", "", "", "s", "s", "ed", "ing", "er", "ly", "ment", "ness", "able", "ion", "al", "ist"]
_YEAR = "January February March April May June July August September October November December"
_MONTHS = _YEAR.split()
_NAMES = """Anna Ben Carla David Elena Frank Grace Henry Irene Jack Karen Liam Maria Noah Olivia
Paul Quinn Rosa Samuel Tess Umar Vera Walter Xenia Yusuf Zoe Amir Beth Colin Dora"""
_FIRST = _NAMES.split()
_TOWNS_A = "Ash Brad Clay Dun East Fair Glen Hart Kings Lang Mill New Oak Red Stan Thorn West"
_TOWNS_B = "bridge burn bury dale field ford ham hurst ley mouth port stead ton well wick worth"


class Words:
    """Draws texts.

    Args:
        random: what everything is drawn with.
        language: "en" or "zh".
    """

    def __init__(self, random: Random, language: str = "en") -> None:
        self.random = random
        self.language = language
        self._words, self._weights = _chinese() if language == "zh" else _english()
        self._subject: list[str] = []

    def subject(self, words: int = 40) -> None:
        """Begin a text about something else: from now on other words are frequent."""
        self._subject = self.random.sample(self._words, words)

    def word(self) -> str:
        """A word that carries meaning."""
        if self._subject and self.random.random() < 0.4:
            return self.random.choice(self._subject)
        return self.random.choices(self._words, cum_weights=self._weights)[0]

    def words(self, count: int) -> list[str]:
        """Words as they follow each other in a text; in Chinese, words of mostly two characters."""
        if self.language == "zh":
            return [
                self.random.choice("的了在是和有为对不与将就也等") if self.random.random() < 0.25
                else self.word()
                for _ in range(count)
            ]  # fmt: skip
        return [self._english_word() for _ in range(count)]

    def _english_word(self) -> str:
        which = self.random.random()
        if which < 0.48:
            return self.random.choice(_FUNCTION)
        if which < 0.49:
            return str(self.random.randint(*self.random.choice([(2, 99), (1950, 2024)])))
        return self.word().capitalize() if which < 0.53 else self.word()

    def sentence(self, low: int = 8, high: int = 26) -> str:
        count = self.random.randint(low, high)
        if self.language == "zh":
            parts = ["".join(self.words(max(3, count // 4))) for _ in range(3)]
            return "，".join(parts) + "。"
        words = self.words(count)
        if count > 14:
            words[count // 2] += ","
        text = " ".join(words)
        return text[0].upper() + text[1:] + "."

    def paragraph(self, words: int = 60) -> str:
        """Sentences with about so many words."""
        between = "" if self.language == "zh" else " "
        sentences, count = [], 0
        while count < words:
            sentences.append(self.sentence())
            count += len(sentences[-1]) // 3 if between == "" else sentences[-1].count(" ") + 1
        return between.join(sentences)

    def paragraphs(self, low: int = 100, high: int = 800) -> list[str]:
        """The paragraphs of a text about a subject of its own, of so many words in all."""
        self.subject()
        left, texts = self.random.randint(low, high), []
        while left > 0:
            size = min(left, self.random.randint(30, 90))
            texts.append(self.paragraph(max(8, size)))
            left -= size
        return texts

    def title(self, low: int = 4, high: int = 9) -> str:
        """A headline."""
        count = self.random.randint(low, high)
        if self.language == "zh":
            return "".join(self.word() for _ in range(max(4, count)))
        words = [self.word() for _ in range(count)]
        for place in range(2, count - 1, 3):
            words[place] = self.random.choice(["of", "in", "for", "and", "to", "with", "over"])
        return " ".join(words).capitalize()

    def person(self) -> str:
        if self.language == "zh":
            family = self.random.choice("王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗")
            return family + "".join(
                self.random.choices("伟芳娜敏静丽强磊军洋艳勇杰娟涛明超秀霞平", k=2)
            )
        return f"{self.random.choice(_FIRST)} {self.made().capitalize()}"

    def firm(self) -> str:
        ending = self.random.choice(["Ltd", "Inc", "Group", "Systems", "Partners", "& Co"])
        return f"{self.made().capitalize()}{self.made()} {ending}"

    def town(self) -> str:
        ending = self.random.choice(_TOWNS_B.split())
        return self.random.choice(_TOWNS_A.split()) + ending

    def made(self) -> str:
        """A word that hardly any text has: of a name, a brand, a model."""
        return _made(self.random)

    def day(self, since: int = 2019, until: int = 2025) -> dt.datetime:
        """A moment, to the minute."""
        start = dt.datetime(since, 1, 1, tzinfo=dt.UTC)
        days = (dt.datetime(until, 1, 1, tzinfo=dt.UTC) - start).days
        minutes = self.random.randint(6 * 60, 22 * 60)
        return start + dt.timedelta(days=self.random.randrange(days), minutes=minutes)

    def chance(self, share: float) -> bool:
        return self.random.random() < share


def english(moment: dt.datetime) -> str:
    """A day as a site writes it: "March 5, 2024"."""
    return f"{_MONTHS[moment.month - 1]} {moment.day}, {moment.year}"


def british(moment: dt.datetime) -> str:
    """A day as a site writes it: "5 March 2024"."""
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"


def slug(text: str) -> str:
    """A text as a part of an address."""
    return "-".join("".join(c if c.isalnum() else " " for c in text.lower()).split())


def paras(texts: list[str], tag: str = "p") -> str:
    """Texts as elements."""
    return "\n".join(f"<{tag}>{text}</{tag}>" for text in texts)


def _made(random: Random) -> str:
    parts = [
        random.choice(_STARTS.split()) + random.choice(_VOWELS.split())
        for _ in range(random.choice([1, 1, 1, 2, 2, 3]))
    ]
    return "".join(parts) + random.choice(_ENDS.split()) + random.choice(_TAILS)


@cache
def _english() -> tuple[list[str], list[float]]:
    """Five thousand made words and the sums of their weights."""
    random = Random("words")
    words = list(dict.fromkeys(_made(random) for _ in range(6000)))[:5000]
    return words, [*accumulate(1 / (rank + 8) for rank in range(len(words)))]


@cache
def _chinese() -> tuple[list[str], list[float]]:
    """The four thousand most frequent words of two characters, and the sums of their weights."""
    # Not imported, which takes half a second and warns.
    jieba = find_spec("jieba")
    assert jieba is not None
    assert jieba.origin is not None
    text = Path(jieba.origin).with_name("dict.txt").read_text("utf-8")
    rows = [line.split() for line in text.splitlines()]
    known = {word: int(count) for word, count, _ in rows if len(word) == 2}
    plain = [word for word in known if all("\u4e00" <= c <= "\u9fff" for c in word)]
    words = sorted(plain, key=lambda word: (-known[word], word))[:4000]
    return words, [*accumulate(1 / (rank + 8) for rank in range(len(words)))]
