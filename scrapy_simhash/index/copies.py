"""What was dropped as copies of items of other sites: two different items are no copies of one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from scrapy_simhash.index import queries
from scrapy_simhash.index.candidates import BatchCandidates
from scrapy_simhash.index.verdict import ClaimRow
from scrapy_simhash.index.visits import may_be_one_site
from scrapy_simhash.item.urls import site

# Claims whose copies are remembered until these are recorded.
_REMEMBERED_CLAIMS = 1024


class Copies:
    """The copies of claims of other sites, from the table and from this process.

    `here` returns the parameters of a query for lists of numbers.
    """

    def __init__(self, here: Callable[..., dict[str, Any]], *, is_needed: bool) -> None:
        self._here, self._is_needed = here, is_needed
        self._noted: dict[int, deque[ClaimRow]] = {}

    def note(self, copies: Iterable[tuple[ClaimRow, ClaimRow]]) -> None:
        """Note documents that were dropped, each behind its claim: they are recorded later."""
        for claim, row in copies:
            if row.facts and not may_be_one_site(row.url, claim.url):
                self._noted.setdefault(claim.id, deque(maxlen=queries.COPIES)).append(row)
        while len(self._noted) > _REMEMBERED_CLAIMS:
            del self._noted[next(iter(self._noted))]

    def read(
        self, connection: Connection, candidates: BatchCandidates
    ) -> Mapping[int, Sequence[ClaimRow]]:
        """Some copies of each claim of another site that a batch is compared with."""
        rows, claims = candidates.batch.rows, candidates.rows
        sites = {site(row.url) for row in (*rows, *claims.values()) if row.url}
        if len(sites) < 2 or not self._is_needed:
            return {}
        wanted = {
            claim
            for number, claim in candidates.compared
            if rows[number].facts
            and claim in claims
            and not may_be_one_site(rows[number].url, claims[claim].url)
        }
        if not wanted:
            return {}
        copies = {claim: list(self._noted.get(claim, ())) for claim in wanted}
        unread = {*wanted}
        while unread:
            here = self._here(ids=sorted(unread))
            read = connection.execute(queries.copies, here).all()
            for claim, identity, url, facts, last_run in read:
                copies[claim].append(
                    ClaimRow(identity=identity, url=url, facts=facts, last_run=last_run)
                )
            # One with more copies than an answer has must not hide those of the others.
            is_cut = len(read) == queries.COPIES
            unread = unread.difference(row[0] for row in read) if is_cut else set()
        return copies
