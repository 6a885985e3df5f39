"""What a page is, and the site that it belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from website.stories import Story


@dataclass(frozen=True)
class Outlet:
    """A newspaper, a portal or a blog, a shop or a council, with a host and a look of its own."""

    name: str
    title: str
    language: str
    encoding: str = "utf-8"
    # Whether a box beside each story presents its author.
    authors: bool = False

    @property
    def home(self) -> str:
        """The address of its front page."""
        return f"http://{self.name}.example/"


@dataclass(frozen=True)
class Thing:
    """What a page tells beside a story or instead of one, such as an author, an event, an offer.

    Things with the same `group` are the same thing. One without a page of its own is
    distinguished from others by all its fields.
    """

    kind: str
    group: str
    fields: dict[str, str]
    # Whether it differs from the day before.
    changed: bool = False

    @property
    def label(self) -> str:
        """All its fields, on one line."""
        return ", ".join(self.fields.values())


@dataclass(frozen=True)
class Page:
    """One address of a site.

    Pages with the same `group` are duplicates of each other; a page without a group (a list, an
    attachment) is a duplicate of nothing. `headline` is what links to the page say.
    """

    outlet: Outlet
    path: str
    kind: str
    headline: str
    story: Story | None = None
    group: str | None = None
    things: tuple[Thing, ...] = ()
    # Of a list: the pages it links to, its number, and whether no other list follows.
    listed: tuple[Page, ...] = ()
    number: int = 1
    last: bool = True

    @property
    def url(self) -> str:
        """The address of the page."""
        return self.outlet.home + self.path.removeprefix("/")

    def label(self, thing: Thing) -> str:
        """What an item of a thing on this page is known by."""
        return self.url if thing.kind in {"offer", "meeting", "chapter"} else thing.label
