"""Known pages: what a spider has met, and whether all that a page yielded is still stored.

The row of a page has its request, the validators that its server gave, and the claims that cover
its items. A crawl may leave the page as it is, unread, only if it is *trusted*: its callback ended
well, each of its items has a valid claim, and, if it yielded requests, its visit has made them all.
A page that is not trusted is known all the same: the next visit reads it.

Every tenth visit *reads all* pages, as a first one does. It finds what servers have wrongly called
unmodified, and forgets the pages that no link leads to, unless they have items that are nowhere
else.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any, Literal, NamedTuple

import numpy as np
import sqlalchemy as sa

from scrapy_simhash.db import schema
from scrapy_simhash.db.lock import lock
from scrapy_simhash.db.statements import insert_rows, is_in
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.db.values import State
from scrapy_simhash.index.invalidated import is_valid
from scrapy_simhash.index.runs import Run
from scrapy_simhash.index.writer import in_parts

#: Pages that are read at once.
PORTION = 500

#: So many visits read only what was modified; the next one reads all pages.
_VISITS = 9

#: Instead of the number of its pages, what a run has that began to read all of them.
BEGUN = -1

#: The smallest identity.
_FIRST = -(1 << 63)

# Stored requests are compressed with it, so it never changes.
_COMMON = (
    b'{"url":"https://www.","callback":"parse_item","callback":"_callback","errback":"_errback",'
    b'"headers":{"Referer":["https://www."]},"meta":{"rule":0,"link_text":"","depth":1},'
    b'"cb_kwargs":{},"priority":,"dont_filter":true}'
)

_row, _run, _claim, _copy = (
    table.c for table in (schema.pages, schema.runs, schema.claims, schema.duplicates)
)


class PageRow(NamedTuple):
    """A row of the table of pages, in the order of its columns."""

    namespace: int = 0
    owner: int = 0
    identity: int = 0
    run: int = 0
    last_run: int = 0
    seen: float = 0.0
    interval: int = 0
    size: int = 0
    depth: int = 0
    has_links: bool = False
    request: bytes = b""
    etag: str | None = None
    modified: str | None = None
    claims: bytes = b""
    copies: bytes = b""


class KnownPage(NamedTuple):
    """A known page, and the seconds since it was last answered; see `Verdict.process`.

    A full visit is one that reads all pages; a stale page was not read since the last one.
    """

    row: PageRow
    is_trusted: bool
    in_full_visit: bool
    is_stale: bool
    age: float
    process: str


class PageVisit(NamedTuple):
    """How a visit to a page went, and its row but for the run and the time.

    The process is that of the claims, see `Verdict.process`; None without any.
    """

    row: PageRow
    outcome: Literal["read", "unmodified", "left_out", "failed"]
    process: str | None = None


class Pages:
    """The pages of the spider of a run, for one namespace, given by its number."""

    def __init__(self, database: Database, run: Run, namespace: int) -> None:
        self._database, self._run, self.namespace = database, run, namespace
        self._here = _row.namespace == namespace, _row.owner == run.owner
        self._of_visit = sa.select(_run.id).where(_run.epoch == run.epoch)
        self._unmet = _row.last_run.not_in(self._of_visit)
        #: How many were known at the start.
        self.count = self._count()
        names = ("id", "epoch", "job", "reason", "settled", "pages")
        query = _runs_alike(run, *names).where(_run.id != run.id).order_by(_run.id.desc())
        found = database.read(lambda connection: connection.execute(query).all())
        # A visit that recorded no pages may have followed other links.
        runs = list(takewhile(lambda one: one.pages is not None, found))
        self._stored = {one.id for one in runs if one.settled}
        # Nobody has made the requests that a run had in memory when it died.
        broken = {one.epoch for one in runs if not one.settled}
        self._followed, goes_on = set[int](), set[tuple[str, int]]()
        for one in runs:
            # The requests of a job that was stopped in time are made by the next run of its visit.
            if one.reason == "finished" or (one.job and (one.job, one.epoch) in goes_on):
                goes_on.add((one.job, one.epoch))
                self._followed |= {one.id} if one.epoch not in broken else set()
        full = _last_full([one for one in runs if one.pages and one.epoch != run.epoch])
        self._last_full = full.id if full else 0
        later = {one.epoch for one in runs if full and one.epoch > full.epoch} - {run.epoch}
        # Where URLs have sessions, each visit doubles the pages.
        has_grown = full is not None and self.count >= 2 * full.pages > 2
        of_visit = [one.pages for one in runs if one.epoch == run.epoch and one.id < run.id]
        is_due = full is None or has_grown or len(later) >= _VISITS
        self._reads_all = any(of_visit) if of_visit else is_due
        if self._reads_all:
            run.mark(pages=BEGUN)

    def find(self, identities: Collection[int]) -> list[KnownPage | None]:
        """The pages with these identities; None for those that are not known."""
        query = sa.select(schema.pages).where(*self._here, is_in(_row.identity, "numbers"))
        found = self._read(query, numbers=list(identities))
        pages = {page.row.identity: page for page in found}
        return [pages.get(identity) for identity in identities]

    def unasked(self, depth: int, after: int = _FIRST) -> list[KnownPage]:
        """The next pages that this visit has not asked for, the nearest to its start first.

        They come after the one with this depth and identity. What a page passes on with its
        requests may have changed, so it is asked for before those that it leads to.
        """
        left = *self._here, self._unmet
        following: int | None = depth
        while following is not None:
            nearest = *left, _row.depth == following, _row.identity > after
            query = sa.select(schema.pages).where(*nearest).order_by(_row.identity).limit(PORTION)
            if not (found := self._read(query)):
                deeper = sa.select(sa.func.min(_row.depth)).where(*left, _row.depth > following)
                after, following = _FIRST, self._scalar(deeper)
            elif wanted := self._with_missing_items(found) if self._reads_all else found:
                return wanted
            else:
                after = found[-1].row.identity
        return []

    def _with_missing_items(self, pages: Sequence[KnownPage]) -> list[KnownPage]:
        """Those of some pages that have an item that this visit has not found anywhere."""
        here = _claim.namespace == self.namespace, is_in(_claim.id, "numbers")
        met = sa.select(_claim.id).where(*here, _claim.last_run.in_(self._of_visit))
        here = _copy.namespace == self.namespace, is_in(_copy.claim, "numbers")
        as_copies = sa.select(_copy.claim).where(*here, _copy.run.in_(self._of_visit))
        query = met.union_all(as_copies)
        numbers = {"numbers": sorted({one for page in pages for one in _covering(page.row)})}
        found = self._database.read(lambda connection: set(connection.scalars(query, numbers)))
        return [page for page in pages if not found.issuperset(_covering(page.row))]

    def close(self) -> None:
        """Forget what a visit has not met that has read all pages; called when the run is closed.

        No page leads there, and nothing is there that was not found elsewhere: these are pages of
        former sessions, or gone.
        """
        run, read = self._run, self._database.read
        is_stopped = sa.and_(_run.id == run.id, _run.reason != "finished")
        going_on = _runs_alike(run, "id").where(
            _run.epoch == run.epoch, sa.or_(_run.settled.is_(False), is_stopped)
        )
        unmet = sa.select(_row.identity).where(*self._here, self._unmet)
        if self._reads_all and self._scalar(going_on) is None:
            gone = read(lambda connection: connection.execute(unmet).scalars().all())
            in_parts(self._database, self.namespace, gone, self._forget)
            run.mark(pages=max(1, self._count()))

    def _forget(self, numbers: Sequence[int], connection: sa.Connection) -> None:
        lock(connection, self.namespace)
        here = {"of_namespace": self.namespace, "of_owner": self._run.owner}
        connection.execute(_delete, {**here, "numbers": list(numbers)})

    def _count(self) -> int:
        query = sa.select(sa.func.count()).select_from(schema.pages).where(*self._here)
        return self._scalar(query) or 0

    def _scalar(self, query: sa.Select[Any]) -> Any:
        return self._database.read(lambda connection: connection.scalar(query))

    def _read(self, query: sa.Select[tuple[object, ...]], **lists: object) -> list[KnownPage]:
        stored = (
            sa.select(_claim.id)
            .where(_claim.namespace == self.namespace, is_in(_claim.id, "claims"))
            .where(_claim.state == State.CONFIRMED, is_valid())
        )

        def read(connection: sa.Connection) -> tuple[list[PageRow], set[int]]:
            rows = list(map(PageRow._make, connection.execute(query, lists)))
            claims = {claim for row in rows for claim in _covering(row)}
            here = {"claims": sorted(claims)}
            return rows, set(connection.execute(stored, here).scalars()) if claims else claims

        rows, valid = self._database.read(read)
        now, process = self._database.now(), self._run.process
        return [
            KnownPage(
                row,
                row.run in (self._followed if row.has_links else self._stored)
                and valid.issuperset(_covering(row)),
                self._reads_all,
                row.run <= self._last_full,
                now - row.seen,
                process,
            )
            for row in rows
        ]


def _last_full(runs: Sequence[sa.Row[Any]]) -> sa.Row[Any] | None:
    """The run of the last full visit, given all runs of full visits, the newest first.

    One that was stopped is made again, once: where each is stopped, as by a limit, the visits
    between them would have to read all pages, too.
    """
    ended = {one.epoch for one in runs if one.pages != BEGUN}
    visits = list(dict.fromkeys(one.epoch for one in runs))
    is_repeated = len(visits) > 1 and visits[0] not in ended and visits[1] in ended
    last = visits[1:2] if is_repeated else visits[:1]
    return next((one for one in runs if one.epoch in last), None)


def _runs_alike(run: Run, *columns: str) -> sa.Select[Any]:
    """Columns of the runs of the same spider with the same arguments."""
    this = schema.runs.alias("mine")
    alike = (_run[name] == this.c[name] for name in ("spider", "arguments"))
    return sa.select(*(_run[name] for name in columns)).where(this.c.id == run.id, *alike)


def pack_request(plain: Mapping[str, Any]) -> bytes:
    """A request as it is stored: compressed JSON."""
    packer = zlib.compressobj(1, zlib.DEFLATED, -13, zdict=_COMMON)
    written = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    return packer.compress(written.encode("utf-8", "surrogatepass")) + packer.flush()


def unpack_request(packed: bytes) -> dict[str, Any]:
    """Reverse `pack_request`; raises ValueError if it is damaged."""
    try:
        content = zlib.decompressobj(-13, zdict=_COMMON).decompress(packed, 1 << 24)
        plain = json.loads(content.decode("utf-8", "surrogatepass"))
        if isinstance(plain["url"], str):
            return dict(plain)
    except (zlib.error, TypeError, KeyError, ValueError) as error:
        raise ValueError(f"damaged request: {error}") from error
    raise ValueError("damaged request")


def pack_numbers(numbers: Iterable[int]) -> bytes:
    """Numbers as they are stored in a row."""
    return np.fromiter(numbers, "<i8").tobytes()


def _numbers(packed: bytes) -> list[int]:
    return np.frombuffer(packed, "<i8").tolist() if packed else []


def _covering(row: PageRow) -> list[int]:
    """The claims that cover the items of a page."""
    return [*_numbers(row.claims), *_numbers(row.copies)[::2]]


# On MariaDB, columns are set from the left to the right: the download is compared with the old one.
_of_list = _claim.download == _claim.epoch
_meet_claims = (
    sa.update(schema.claims)
    .where(_claim.namespace == sa.bindparam("here"), is_in(_claim.id, "numbers"))
    .ordered_values(
        (_claim.download, sa.case((_of_list, sa.bindparam("of_visit")), else_=_claim.download)),
        (_claim.epoch, sa.bindparam("of_visit")),
        (_claim.last_run, sa.bindparam("of_run")),
        (_claim.seen, sa.bindparam("now")),
    )
)
_meet_copies = (
    sa.update(schema.duplicates)
    .where(_copy.namespace == sa.bindparam("here"), _copy.claim == sa.bindparam("of_claim"))
    .where(_copy.identity == sa.bindparam("of_identity"))
    .values(run=sa.bindparam("of_run"))
)
_delete = sa.delete(schema.pages).where(
    *(_row[name] == sa.bindparam(f"of_{name}") for name in ("namespace", "owner")),
    is_in(_row.identity, "numbers"),
)


def write_visits(
    connection: sa.Connection, namespace: int, run: Run, visits: Sequence[PageVisit], now: float
) -> None:
    """Record what a visit found of pages; needs the lock.

    The items of those that were not modified, or not asked for, count as met and unchanged.
    """
    if not visits:
        return
    last = {visit.row.identity: _settled(visit, namespace, run, now) for visit in visits}
    met = [row for row, outcome, _ in last.values() if outcome in {"unmodified", "left_out"}]
    here = {"here": namespace, "of_run": run.id, "of_visit": run.epoch, "now": now}
    if claims := {claim for row in met for claim in _numbers(row.claims)}:
        connection.execute(_meet_claims, {**here, "numbers": sorted(claims)})
    copies = [number for row in met for number in _numbers(row.copies)]
    if named := [
        {**here, "of_claim": claim, "of_identity": identity}
        for claim, identity in zip(copies[::2], copies[1::2], strict=True)
    ]:
        connection.execute(_meet_copies, named)
    owner = {"of_namespace": namespace, "of_owner": run.owner}
    connection.execute(_delete, {**owner, "numbers": list(last)})
    insert_rows(connection, schema.pages, [visit.row for visit in last.values()])


def _settled(visit: PageVisit, namespace: int, run: Run, now: float) -> PageVisit:
    """A visit with the row to be stored."""
    row, outcome, _ = visit
    if row.namespace not in {0, namespace}:
        # Its claims were made before the namespace was reset.
        row, outcome = row._replace(claims=b"", copies=b""), "failed"
    row = row._replace(
        namespace=namespace,
        owner=run.owner,
        run={"read": run.id, "failed": 0}.get(outcome, row.run),
        last_run=run.id,
        seen=row.seen if outcome == "left_out" else now,
    )
    return visit._replace(row=row, outcome=outcome)
