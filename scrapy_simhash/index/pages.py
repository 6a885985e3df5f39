"""Known pages: what a spider has met, and whether all that a page yielded is still stored.

The row of a page has its request, the validators that its server gave, and the claims that cover
its items. A crawl may leave the page as it is, unread, only if it is *trusted*: its callback ended
well, each of its items has a valid claim, and, if it yielded requests, its visit has made them all.
A page that is not trusted is known all the same: the next visit reads it.
"""

from __future__ import annotations

import json
import zlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
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
    visits: int = 0
    size: int = 0
    parent: int = 0
    is_only_known: bool = False
    has_links: bool = False
    request: bytes = b""
    etag: str | None = None
    modified: str | None = None
    claims: bytes = b""
    copies: bytes = b""


class KnownPage(NamedTuple):
    """A known page; its age are the seconds since it was last answered."""

    row: PageRow
    is_trusted: bool
    age: float
    #: See `Verdict.process`.
    process: str


class PageVisit(NamedTuple):
    """What a visit found: the page was read, or not modified, or not asked for, or failed.

    Attributes:
        row: what is to be stored, but for the run and the time.
        outcome: "forgotten" deletes the row.
        process: see `Verdict.process`; None if no claim is named.
    """

    row: PageRow
    outcome: Literal["read", "unmodified", "left_out", "failed", "forgotten"]
    process: str | None = None


class _Trust(NamedTuple):
    """Which runs of a spider can be trusted.

    Attributes:
        since: the last run that did not record pages: it may have followed other links.
        dead: the runs that crashed.
        followed: those that made all requests that their callbacks yielded.
    """

    since: int
    dead: frozenset[int]
    followed: frozenset[int]


class Pages:
    """The pages of the spider of a run, for one namespace, given by its number."""

    def __init__(self, database: Database, run: Run, namespace: int) -> None:
        self._database, self._run, self.namespace = database, run, namespace
        self._trust = database.read(partial(_read_trust, run))
        self._here = _row.namespace == namespace, _row.owner == run.owner

    def find(self, identities: Collection[int]) -> list[KnownPage | None]:
        """The pages with these identities; None for those that are not known."""
        query = sa.select(schema.pages).where(*self._here, is_in(_row.identity, "numbers"))
        found = self._read(query, numbers=list(identities))
        pages = {page.row.identity: page for page in found}
        return [pages.get(identity) for identity in identities]

    def unasked(self, after: int | None, has_links: bool) -> list[KnownPage]:
        """The next pages, with links or without, that this visit has not asked for.

        They are in the order of their identities, behind the one given.
        """
        of_visit = sa.select(_run.id).where(_run.epoch == self._run.epoch)
        query = sa.select(schema.pages).where(
            *self._here, _row.has_links.is_(has_links), _row.last_run.not_in(of_visit)
        )
        if after is not None:
            query = query.where(_row.identity > after)
        found = self._read(query.order_by(_row.identity).limit(PORTION))
        if has_links and not found:
            self._forget_sessions(of_visit)
        return found

    def _forget_sessions(self, of_visit: sa.Select[tuple[int]]) -> None:
        """Forget the pages that have moved, as those of a former session do.

        They are asked for only because they are known: the page that led to them was read and does
        so no more, or is such a page itself. And their items were found at new pages, where they
        count as copies; or they have none, and led to pages that are all forgotten. If a page that
        was not modified still links to one, it is known again when that is read.
        """
        before = schema.pages.alias("before")
        has_led = sa.exists().where(
            *(before.c.namespace == _row.namespace, before.c.owner == _row.owner),
            before.c.identity == _row.parent,
            sa.or_(before.c.is_only_known, before.c.run != self._run.id),
        )
        query = sa.select(schema.pages).where(
            *self._here, _row.is_only_known, _row.last_run.in_(of_visit)
        )
        opened = sa.select(sa.func.min(_run.opened)).where(_run.epoch == self._run.epoch)
        copies = sa.select(_copy.claim, _copy.identity).where(
            *(_copy.namespace == self.namespace, is_in(_copy.claim, "numbers")),
            *(_copy.run.in_(of_visit), _copy.created >= opened.scalar_subquery()),
        )

        def find(connection: sa.Connection) -> set[int]:
            found = connection.execute(query.where(~has_led)).all()
            lost: dict[int, PageRow] = {}
            while new := {
                row.identity: row for row in map(PageRow._make, found) if row.identity not in lost
            }:
                lost |= new
                led_to = query.where(is_in(_row.parent, "numbers"))
                found = connection.execute(led_to, {"numbers": list(new)}).all()
            claims = {claim for row in lost.values() for claim in _covering(row)}
            named = connection.execute(copies, {"numbers": sorted(claims)}).all() if claims else []
            return _moved(lost, {claim for claim, identity in named if identity not in lost})

        here = {"of_namespace": self.namespace, "of_owner": self._run.owner}

        def forget(numbers: Sequence[int], connection: sa.Connection) -> None:
            lock(connection, self.namespace)
            connection.execute(_delete, {**here, "numbers": list(numbers)})

        moved = sorted(self._database.read(find))
        in_parts(self._database, self.namespace, moved, forget)

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
                self._is_trusted(row) and valid.issuperset(_covering(row)),
                now - row.seen,
                process,
            )
            for row in rows
        ]

    def _is_trusted(self, row: PageRow) -> bool:
        since, dead, followed = self._trust
        is_followed = not row.has_links or row.run in followed
        return row.run > since and row.run not in dead and is_followed


def _moved(lost: Mapping[int, PageRow], claims: Collection[int]) -> set[int]:
    """Which pages have moved, given the claims whose items were found at new pages."""
    led_to: defaultdict[int, set[int]] = defaultdict(set)
    for row in lost.values():
        led_to[row.parent].add(row.identity)
    stay = {one for one, row in lost.items() if not set(_covering(row)) <= set(claims)}
    without_items = [one for one, row in lost.items() if not _covering(row)]
    while more := {
        one for one in without_items if one not in stay and (not led_to[one] or led_to[one] & stay)
    }:
        stay |= more
    return lost.keys() - stay


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
    return list(map(int, np.frombuffer(packed, "<i8")))


def _covering(row: PageRow) -> list[int]:
    """The claims that cover the items of a page."""
    return [*_numbers(row.claims), *_numbers(row.copies)[::2]] if row.claims or row.copies else []


def _read_trust(run: Run, connection: sa.Connection) -> _Trust:
    this = schema.runs.alias("mine")
    alike = (_run[name] == this.c[name] for name in ("spider", "arguments"))
    names = ("id", "epoch", "job", "reason", "closed", "recovered", "on_crash", "records_pages")
    runs = connection.execute(
        sa.select(*(_run[name] for name in names))
        .where(this.c.id == run.id, *alike)
        .order_by(_run.id.desc())
    ).all()
    followed: set[int] = set()
    goes_on: dict[tuple[str, int], bool] = {}
    for one in runs:
        visit = one.job, one.epoch
        # The requests of a job that was stopped in time are made by the next run of its visit.
        is_stopped = one.closed is not None and one.job and goes_on.get(visit, False)
        goes_on[visit] = is_stopped or (one.closed is not None and one.reason == "finished")
        if goes_on[visit]:
            followed.add(one.id)
    dead = (one.id for one in runs if one.recovered is not None and one.on_crash == "release")
    since = max((one.id for one in runs if not one.records_pages), default=0)
    return _Trust(since, frozenset(dead), frozenset(followed))


# On MariaDB, columns are set from the left to the right: the download is compared with the old one.
_meet_claims = (
    sa.update(schema.claims)
    .where(_claim.namespace == sa.bindparam("here"), is_in(_claim.id, "numbers"))
    .ordered_values(
        (
            _claim.download,
            sa.case(
                (_claim.download == _claim.epoch, sa.bindparam("of_visit")), else_=_claim.download
            ),
        ),
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
    met = [one.row for one in last.values() if one.outcome in {"unmodified", "left_out"}]
    here = {"here": namespace, "of_run": run.id}
    if claims := {claim for row in met for claim in _numbers(row.claims)}:
        times = {"of_visit": run.epoch, "now": now}
        connection.execute(_meet_claims, {**here, **times, "numbers": sorted(claims)})
    copies = [pair for row in met for pair in np.frombuffer(row.copies, "<i8").reshape(-1, 2)]
    if copies:
        named = [{"of_claim": int(claim), "of_identity": int(one)} for claim, one in copies]
        connection.execute(_meet_copies, [{**here, **pair} for pair in named])
    owner = {"of_namespace": namespace, "of_owner": run.owner}
    connection.execute(_delete, {**owner, "numbers": list(last)})
    rows = [one.row for one in last.values() if one.outcome != "forgotten"]
    insert_rows(connection, schema.pages, rows)


def _settled(visit: PageVisit, namespace: int, run: Run, now: float) -> PageVisit:
    """A visit with the row to be stored."""
    row, outcome = visit.row, visit.outcome
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
