"""Examples of docs/duplicates.md: lists of things, and later crawls."""

from __future__ import annotations

from duplicate_pages import (
    ONE,
    OTHER_TEXT,
    STORY,
    TEXT,
    Case,
    both,
    entries,
    listed,
    page,
    products,
    single,
    thing,
)
from site_pages import sentences

QUOTE = thing(author="A. Smith", text=sentences("a quote", 20))
AUTHOR = thing(name="A. Smith", profile=f"{ONE}/author/smith")
REVIEWS = [sentences(("a review", number), 20) for number in range(4)]
COMMENTS = (
    "Left after 20 minutes",
    "Saw it 2 times already",
    "Worth every one of the 9 euros",
    "3 of us fell asleep",
    "12 out of 10 for the dog",
    "The 2nd half drags",
)
PERSON = thing(name="A. Smith", role="member")


def post(author: str, text: str, number: int) -> str:
    """A post of a thread."""
    return thing(author=author, text=text, title="How to flash it", url=f"{ONE}/t#p{number}")


LISTS = {
    "The products of a category's second page, below the same long paragraph": both(
        page(TEXT, *products(1, 2, 3)), page(TEXT, *products(4, 5, 6)), read=listed
    ),
    "The variants of a product, listed under its description, with a URL each": Case(
        [
            {
                f"{ONE}/p/1": page(
                    *(
                        thing(name="A lamp", url=f"{ONE}/p/1?colour={colour}", text=TEXT)
                        for colour in ("red", "blue", "green")
                    )
                )
            }
        ],
        read=listed,
    ),
    "A quote found again on another page, an item without a URL": both(
        page(QUOTE, thing(author="B. Jones", text="Less is more.")),
        page(QUOTE, heading="Quotes of A. Smith"),
        read=listed,
    ),
    "An author repeated beside another article": both(
        page(thing(title="A flood", text=TEXT), AUTHOR),
        page(thing(title="A fire", text=OTHER_TEXT), AUTHOR),
        read=listed,
        about=lambda item: "name" in item,
    ),
    "A comment on a page of its own, below the article it belongs to": both(
        page(thing(title="A flood", text=TEXT)),
        page(TEXT, thing(author="B. Jones", comment="I have seen it too.")),
    ),
    "The article of a comment that was found on a page of its own": both(
        page(TEXT, thing(author="B. Jones", comment="I have seen it too.")),
        page(thing(title="A flood", text=TEXT)),
    ),
    "The reviews on a product's second page, below the same long text": both(
        page(TEXT, thing(stars="5", text=REVIEWS[0]), thing(stars="4", text=REVIEWS[1])),
        page(TEXT, thing(stars="5", text=REVIEWS[2]), thing(stars="4", text=REVIEWS[3])),
        read=listed,
    ),
    "A post repeated on the next page of its thread": both(
        page(*entries(1, 2)),
        page(*entries(1, 3)),
        read=listed,
        about=lambda item: item["sku"] == "a1",
    ),
    "A post that quotes one on the page before, under the title of their thread": both(
        page(post("B. Jones", TEXT, 1), post("C. Miller", OTHER_TEXT, 2)),
        page(post("D. Young", f"{TEXT} I agree.", 3), post("E. Frost", REVIEWS[0], 4)),
        read=listed,
        about=lambda item: item["author"] == "D. Young",
    ),
    "Notices under the URL of their page that differ in a number": Case(
        [
            {
                f"{ONE}/notices": page(
                    *(
                        thing(url=f"{ONE}/notices", text=f"{TEXT}<p>It is case {number}.</p>")
                        for number in (12, 13, 14)
                    )
                )
            }
        ],
        read=listed,
    ),
    "Short comments with numbers under the URL of their page": Case(
        [
            {
                f"{ONE}/film": page(
                    TEXT, *(thing(url=f"{ONE}/film", title="A film", comment=c) for c in COMMENTS)
                )
            }
        ],
        read=listed,
    ),
    "A person on a second committee, a row that holds the URL of its page": both(
        page(PERSON, thing(name="B. Jones", role="chair"), heading="Planning"),
        page(PERSON, thing(name="C. Brown", role="chair"), heading="Finance"),
    ),
}

LATER = {
    "A page that did not change": Case(
        [{f"{ONE}/1": page(thing(**STORY))}, {f"{ONE}/1": page(thing(**STORY))}], single
    ),
}
