"""The index: claims of documents, made and looked up in SQL.

A claim records a document's fingerprint under its identity key. It is *pending* until the item is
stored, then *confirmed*; or it is *released*, as if it had never been made. A batch of documents is
prepared (`batch`), the namespace locked, the claims found by keys read (`lookup`), decided on
(`decide`) and written (`writer`), in one transaction (`claiming`).
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Self

from sqlalchemy import Connection, Row, insert, select
from sqlalchemy.engine import URL

from scrapy_simhash.db import schema
from scrapy_simhash.db.engine import check_url
from scrapy_simhash.db.transactions import Database, read_secret
from scrapy_simhash.db.values import TEXT_LENGTH, check_name, secret_of, storable
from scrapy_simhash.exceptions import FingerprintMismatch, NamespaceGone
from scrapy_simhash.index.batch import bare_sketch
from scrapy_simhash.index.claiming import Work
from scrapy_simhash.index.lookup import Lookup
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.runs import Run
from scrapy_simhash.index.verdict import Document, LeftOut, Verdict
from scrapy_simhash.keys.plan import choose_keys
from scrapy_simhash.simhash.scheme import keyed
from scrapy_simhash.visible import shortened

logger = logging.getLogger(__name__)

#: The most documents of one transaction: with more, other writers would wait too long.
BATCH = 64


class Index:
    """The claims of one namespace; `scheme` makes fingerprints with the secret of its database.

    Args:
        database: an SQLAlchemy URL, or a :class:`Database` shared by several indexes.
        namespace: documents are compared only within one.
        rule: when two documents are near-duplicates; by default ``Rule()``.
        engine_options: for :func:`sqlalchemy.create_engine`.
        timeout: seconds until a call gives up; ten times as long if others are seen to commit.
        run: the run that claims; by default its own, which is closed with the index.
        text_budget: bytes of compressed texts stored in the namespace; 0 stores none.
        item_budget: bytes of dropped items stored in the namespace.
        expected_size: the documents that the keys of a new namespace are chosen for.
        compared: what is compared, in words, of which a change is logged.
        secret: at least 16 characters that all fingerprints depend on; by default drawn.

    Raises:
        ValueError: an argument is out of range, or the URL can't be read.
        FingerprintMismatch: the secret, scheme or keys of the database or namespace are different.
        IndexUnavailable: the database does not answer.

    >>> with Index("sqlite://") as index:
    ...     index.confirm(index.claim("The ferry to the island sails at nine", key="/ferry"))
    ...     index.claim("The ferry to the island sails at nine!", key="/print/ferry").kind
    'duplicate'
    """

    def __init__(
        self,
        database: str | URL | Database,
        *,
        namespace: str = "default",
        rule: Rule | None = None,
        engine_options: Mapping[str, Any] | None = None,
        timeout: float = 10.0,
        run: Run | None = None,
        text_budget: int = 4 << 30,
        item_budget: int = 1 << 30,
        expected_size: int = 1_000_000,
        compared: str = "",
        secret: str | None = None,
    ) -> None:
        self._rule = rule = rule or Rule()
        self._wanted_keys = choose_keys(
            rule.scheme, rule.similarity, rule.distance, expected_size=expected_size
        )
        self.namespace = check_name(namespace)
        self._compared = storable(compared, TEXT_LENGTH)
        self._budgets = text_budget, item_budget
        self.counts: Counter[str] = Counter()
        self._owns_database = not isinstance(database, Database)
        if not isinstance(database, Database):
            url = check_url(database)
            database = Database(url, options=engine_options, timeout=timeout, secret=secret)
        self.database = database
        try:
            self.database.check_secret(None if secret is None else secret_of(secret))
            self.scheme = keyed(rule.scheme, self.database.secret)
            self._open()
        except BaseException:
            if self._owns_database:
                self.database.close()
            raise
        self._run, self._owns_run = run, run is None

    def _open(self) -> None:
        """Find the namespace, or create it; an existing one keeps its keys."""
        columns = {
            "name": self.namespace,
            "scheme": self.scheme.id,
            "plan": self._wanted_keys.id,
            "compared": self._compared,
        }
        row = self.database.transact(partial(_find_or_make, self.database, columns))
        if row.scheme != self.scheme.id:
            raise FingerprintMismatch(
                f"namespace {row.name!r} of {self.database} holds fingerprints of the scheme "
                f"{row.scheme!r}, this one is {self.scheme.id!r}: they can't be compared. Use "
                "another namespace, the old scheme, or start over: scrapy simhash reset "
                f"--namespace {row.name}"
            )
        _warn_if_changed(row, self._compared)
        self.id = row.id
        self.lookup = Lookup(
            self.database,
            row,
            self._wanted_keys,
            scheme=self.scheme,
            rule=self._rule,
            counts=self.counts,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        """The number of claims; those of dead runs count until they are deleted."""
        row = schema.namespaces.c
        size = select(row.size).where(row.id == self.id)
        return self.database.read(lambda connection: connection.scalar(size)) or 0

    def close(self) -> None:
        """Close the run and the database, unless they were given; confirmed claims are final."""
        try:
            if self._owns_run and self._run is not None:
                self._run.close(settled=True, reason="closed")
        finally:
            if self._owns_database:
                self.database.close()

    @property
    def run(self) -> Run:
        """The run that claims, opened on first use."""
        if self._run is None:
            self._run = Run.open(self.database)
        return self._run

    def claim(self, content: str | int | None, *, key: str, url: str = "") -> Verdict:
        """Claim a text or a fingerprint.

        Args:
            content: a text; or a fingerprint, which needs an index with a distance, and is
                comparable with texts only if made by the index's `scheme`; None if there is none.
            key: the identity key: documents with the same key are versions of one.
            url: of its page.

        Raises:
            TypeError: a fingerprint, but the index has a similarity.
            ValueError: a fingerprint that is negative or wider than the scheme's.
            IndexUnavailable: the database did not answer in time. Nothing was claimed, or the claim
                is released when this run is recovered.
        """
        return self.execute(claims=[self.document(content, key=key, url=url)])[0]

    def claim_many(self, documents: Iterable[Mapping[str, Any]]) -> list[Verdict]:
        """Claim many documents, in order; returns a verdict for each.

        Args:
            documents: mappings with "text" or "fingerprint", "key" and optionally "url".

        Raises:
            KeyError, TypeError, ValueError, IndexUnavailable: see :meth:`claim`. Documents are
                claimed 64 at a time; those before a batch that failed stay claimed.
        """
        prepared = [
            self.document(
                given["text"] if "text" in given else given["fingerprint"],
                key=given["key"],
                url=given.get("url", ""),
            )
            for given in documents
        ]
        return self.execute(claims=prepared)

    def confirm(self, *verdicts: Verdict) -> None:
        """Confirm the claims of verdicts: their documents are stored."""
        self.execute(confirm=verdicts)

    def release(self, *verdicts: Verdict) -> None:
        """Release the claims of verdicts, whose documents were not stored."""
        self.execute(release=verdicts)

    def document(
        self, content: str | int | None, *, key: str, url: str = "", **more: Any
    ) -> Document:
        """Prepare a text or a fingerprint for :meth:`execute`; raises as :meth:`claim` does."""
        if isinstance(content, str):
            return Document(self.scheme.sketch(content), key, url, text=content, **more)
        return Document(bare_sketch(content, self.scheme, self.lookup.keys), key, url, **more)

    def execute(
        self,
        claims: Sequence[Document] = (),
        confirm: Sequence[Verdict] = (),
        release: Sequence[Verdict] = (),
        left_out: Sequence[LeftOut] = (),
    ) -> list[Verdict]:
        """Release, confirm, claim and note what is left out, in this order.

        All is done in one transaction, but each 64 further claims in one of their own: the
        documents of a transaction are compared with each other.

        Confirmed and released are the claims of verdicts, if they have any. Returns the verdicts on
        `claims`, in their order.

        Raises:
            IndexUnavailable: none of it is known to have been done.
        """
        if len(claims) > BATCH:
            first = self.execute(claims[:BATCH], confirm, release, left_out)
            return first + self.execute(claims[BATCH:])
        if not (claims or confirm or release or left_out):
            return []
        if self._owns_run:
            # First: if the heartbeat fails, nothing has been done.
            self.run.send_heartbeat()
            self.run.recovery.clear()
        work = partial(Work, claims=claims, confirm=confirm, release=release, left_out=left_out)
        try:
            return work(self.run, self.lookup, self._budgets).do()
        except NamespaceGone:
            logger.warning("Namespace %r was reset while in use: it starts empty", self.namespace)
            self._open()
            return work(self.run, self.lookup, self._budgets).do()


def _find_or_make(
    database: Database, columns: Mapping[str, Any], connection: Connection
) -> Row[Any]:
    """The row of a namespace, which is made with these columns if there is none of this name."""
    if read_secret(connection) != database.secret:
        # Everything prepared so far was made with the old one.
        raise FingerprintMismatch(f"{database} was reset and has another secret now")
    wanted = select(schema.namespaces).where(schema.namespaces.c.name == columns["name"])
    if row := connection.execute(wanted).one_or_none():
        return row
    made = {**columns, "created": database.now()}
    connection.execute(insert(schema.namespaces).values(made))
    return connection.execute(wanted).one()


def _warn_if_changed(namespace: Row[Any], compared: str) -> None:
    """Log that crawls have compared something else, in words, than this one does."""
    if compared and namespace.size and namespace.compared != compared:
        logger.warning(
            "Namespace %r was made by crawls that compare something else (%s) than this one (%s): "
            "items stored before may not be recognised, and are then stored once more. To "
            "start over: scrapy simhash reset --namespace %s",
            namespace.name,
            shortened(namespace.compared or "unknown"),
            compared,
            shortened(namespace.name),
        )
