"""Pages as sites make them: the same header, navigation and footer around the content."""

from __future__ import annotations

import random
from collections.abc import Iterable

from loopback import prose


def sentences(seed: object, words: int = 120) -> str:
    """Sentences without numbers; those of two seeds share nothing."""
    text = prose(seed, words).split()
    starts = range(0, words, 12)
    return " ".join(" ".join(text[start : start + 12]).capitalize() + "." for start in starts)


def paragraphs(*texts: str) -> str:
    return "".join(f"<p>{text}</p>" for text in texts)


def story(seed: object, words: int = 240) -> list[str]:
    """The paragraphs of a text."""
    return [sentences(f"{seed} {number}", 60) for number in range(words // 60)]


def title(seed: object, words: int = 5) -> str:
    return prose(f"title of {seed}", words).title()


def person(seed: object) -> str:
    return prose(f"name of {seed}", 2).title()


def price(seed: object) -> str:
    return f"€ {random.Random(f'price of {seed}').randrange(200, 99_900) / 100:.2f}"


def links(paths: Iterable[str], name: str = "nav") -> str:
    return f"<ul class='{name}'>" + "".join(
        f"<li><a href='{path}'>{title(path, 2)}</a></li>" for path in paths
    ) + "</ul>"  # fmt: skip


def layout(site: str, heading: str, main: str, *, aside: str = "", head: str = "") -> bytes:
    """A page of a site.

    Args:
        site: its name, which decides its header, navigation and footer.
        heading: the page's title and first heading.
        main: HTML of the content.
        aside: HTML of the sidebar.
        head: HTML for the head.
    """
    menu = links([f"/{section}/" for section in prose(f"{site} menu", 8).split()])
    footer = paragraphs(sentences(f"{site} footer", 24), f"© {title(site, 2)}")
    return (
        f"<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'>"
        f"<title>{heading} | {title(site, 2)}</title>{head}</head><body>"
        f"<header><a class='logo' href='/'>{title(site, 2)}</a>"
        f"<form action='/search'><input name='q'><button>Search</button></form></header>"
        f"<nav>{menu}</nav><aside class='sidebar'>{aside}</aside>"
        f"<main><h1>{heading}</h1>{main}</main>"
        f"<footer>{links(['/imprint', '/privacy', '/contact'])}{footer}</footer></body></html>"
    ).encode()


def bare(heading: str, main: str) -> bytes:
    """A print view: the content alone."""
    return (
        f"<!DOCTYPE html><html><head><meta charset='utf-8'><title>{heading}</title></head>"
        f"<body><h1>{heading}</h1>{main}</body></html>"
    ).encode()
