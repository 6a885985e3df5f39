"""Stories written by a small grammar from the sentences in en.toml and zh.toml."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

_HERE = Path(__file__).parent
_SLOT = re.compile(r"\[([a-z]+\d*)\]")
_CHOICE = re.compile(r"\{([^{}]*)\}")
_NUMBER = re.compile(r"<(\d+)-(\d+)>")

STORIES_PER_TOPIC = 9


@dataclass(frozen=True)
class Story:
    """The content of a story, the same on all its pages."""

    id: str
    language: str
    topic: str
    headline: str
    other_headline: str  # what another editor would put above the same story
    author: str
    month: str
    paragraphs: tuple[str, ...]


class Grammar:
    """The sentences of one language and what may fill their gaps."""

    def __init__(self, language: str) -> None:
        with (_HERE / f"{language}.toml").open("rb") as file:
            source = tomllib.load(file)
        self.language = language
        self.topics: list[dict[str, list[str]]] = source["topics"]
        self._edits: list[tuple[str, str]] = source["edits"]
        self._common: list[str] = source["common"]["sentences"]
        self._comments: list[str] = source["common"]["comments"]
        self._about: list[str] = source["authors"]["about"]
        self._slots: dict[str, list[str]] = source["slots"]

    def stories(self) -> list[Story]:
        """Every story of the language, neighbours being of different topics."""
        return [
            self._story(index, topic)
            for index in range(STORIES_PER_TOPIC)
            for topic in range(len(self.topics))
        ]

    def _story(self, index: int, topic_index: int) -> Story:
        topic = self.topics[topic_index]
        story_id = f"{self.language}-{topic_index + 1}{index + 1:02}"
        random = Random(story_id)
        slots = self._fill_slots(random)
        own = random.sample(topic["sentences"], random.randint(8, 12))
        common = random.sample(self._common, random.randint(5, 9))
        # The first two sentences stay on the topic, then general remarks come in between.
        body = own[2:] + common
        random.shuffle(body)
        sentences = [self._expand(pattern, slots, random) for pattern in own[:2] + body]
        headline, other_headline = random.sample(topic["headlines"], 2)
        return Story(
            id=story_id,
            language=self.language,
            topic=str(topic["name"]),
            headline=self._expand(headline, slots, random),
            other_headline=self._expand(other_headline, slots, random),
            author=random.choice(self._slots["person"]),
            month=slots["month"],
            paragraphs=self._paragraphs(sentences, random),
        )

    def revise(self, story: Story) -> Story:
        """The story as it reads after a light edit: about one word in a hundred and fifty."""
        size = sum(len(paragraph) for paragraph in story.paragraphs)
        edits = max(1, size // (900 if self.language == "en" else 200))
        # Separators keep an edit within one paragraph.
        text = "\n".join(story.paragraphs)
        for old, new in self._edits:
            word = rf"\b{old}\b" if self.language == "en" else old
            text, done = re.subn(word, new, text, count=1)
            edits -= done
            if not edits:
                break
        else:
            text += f"\n{'(Updated.)' if self.language == 'en' else '（有更新）'}"
        return replace(story, paragraphs=tuple(text.split("\n")))

    def comments(self, page: str) -> list[str]:
        """What readers wrote below a page."""
        random = Random(f"comments {page}")
        slots = self._fill_slots(random)
        patterns = random.sample(self._comments, random.randint(2, 4))
        return [self._expand(pattern, slots, random) for pattern in patterns]

    def about(self, author: str) -> str:
        """What a paper says of an author, in a line."""
        random = Random(f"about {author}")
        return self._expand(random.choice(self._about), self._fill_slots(random), random)

    def _fill_slots(self, random: Random) -> dict[str, str]:
        """Names for one story: [town], [town2], ... are never the same."""
        slots: dict[str, str] = {}
        for name, values in self._slots.items():
            for number, value in enumerate(random.sample(values, min(4, len(values))), start=1):
                slots[name if number == 1 else f"{name}{number}"] = value
        return slots

    def _expand(self, pattern: str, slots: dict[str, str], random: Random) -> str:
        text = _CHOICE.sub(lambda found: random.choice(found[1].split("|")), pattern)
        text = _NUMBER.sub(lambda found: str(random.randint(int(found[1]), int(found[2]))), text)
        text = _SLOT.sub(lambda found: slots[found[1]], text)
        return text[0].upper() + text[1:]

    def _paragraphs(self, sentences: list[str], random: Random) -> tuple[str, ...]:
        space = " " if self.language == "en" else ""
        paragraphs = []
        while sentences:
            length = random.randint(1, 4)
            paragraphs.append(space.join(sentences[:length]))
            sentences = sentences[length:]
        return tuple(paragraphs)
