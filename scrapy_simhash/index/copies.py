"""What was dropped as copies of items of other sites: two different items are no copies of one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from scrapy_simhash.index import queries
from scrapy_simhash.index.candidates import Candidates
from scrapy_simhash.index.verdict import Row
from scrapy_simhash.index.visits import may_be_one_site

# Claims whose copies are remembered until these are recorded.
_REMEMBERED = 1024


class Copies:
    """The copies of claims of other sites, from the table and from this process.

    `here` returns the parameters of a query for lists of numbers.
    """

    def __init__(self, here: Callable[..., dict[str, Any]], *, is_needed: bool) -> None:
        self._here, self._is_needed = here, is_needed
        self._noted: dict[int, deque[Row]] = {}

    def note(self, copies: Iterable[tuple[Row, Row]]) -> None:
        """Note documents that were dropped, each behind its claim: they are recorded later."""
        for claim, mine in copies:
            if mine.facts and not may_be_one_site(mine.url, claim.url):
                self._noted.setdefault(claim.id, deque(maxlen=queries.COPIES)).append(mine)
        while len(self._noted) > _REMEMBERED:
            del self._noted[next(iter(self._noted))]

    def read(self, connection: Connection, found: Candidates) -> Mapping[int, Sequence[Row]]:
        """Some copies of each claim of another site that a batch is compared with."""
        batch, rows = found.batch.rows, found.rows
        claims = {
            claim
            for number, claim in found.compared()
            if batch[number].facts
            and claim in rows
            and not may_be_one_site(batch[number].url, rows[claim].url)
        }
        if not claims or not self._is_needed:
            return {}
        copies = {claim: list(self._noted.get(claim, ())) for claim in claims}
        unread = {*claims}
        while unread:
            here = self._here(ids=sorted(unread))
            read = connection.execute(queries.copies, here).all()
            for claim, identity, url, facts, met in read:
                copies[claim].append(Row(identity=identity, url=url, facts=facts, met=met))
            # One with more copies than an answer has must not hide those of the others.
            is_cut = len(read) == queries.COPIES
            unread = unread.difference(row[0] for row in read) if is_cut else set()
        return copies
