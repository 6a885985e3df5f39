"""The index: claims on fingerprints, made and looked up in SQL.

A claim holds a fingerprint for its owner. It is *pending* until what it stands for is stored, then
*confirmed*; or it is *released*, as if it had never been made. A batch of documents is prepared
(`batch`), the namespace locked, the claims read that its keys lead to (`reader`), decided on
(`decide`) and written (`writer`), in one transaction (`claiming`).
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self

from sqlalchemy import select

from scrapy_simhash.db import schema
from scrapy_simhash.db.engine import check_url
from scrapy_simhash.db.lock import current_usage
from scrapy_simhash.db.secret import secret_of
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.exceptions import NamespaceGone
from scrapy_simhash.index.batch import bare_sketch
from scrapy_simhash.index.claiming import foresee, nearest_claims
from scrapy_simhash.index.invalidated import invalidated_count
from scrapy_simhash.index.ledger import Ledger
from scrapy_simhash.index.lookup import Lookup
from scrapy_simhash.index.namespace import open_namespace
from scrapy_simhash.index.runs import Run
from scrapy_simhash.index.verdict import (
    Claim,
    Claimant,
    Document,
    Duplicate,
    FactsMode,
    Match,
    SameUrl,
    Verdict,
)
from scrapy_simhash.keys.plan import choose_keys
from scrapy_simhash.simhash.scheme import Scheme, keyed, load_scheme

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import TracebackType

    from sqlalchemy.engine import URL

__all__ = ["BATCH", "Index"]

logger = logging.getLogger(__name__)

#: As many documents share one transaction at most: more would make the others wait too long.
BATCH = 64

_NOBODY = Claimant(0, 0)


class Index:
    """The claims of one namespace.

    Args:
        database: an SQLAlchemy URL, or a :class:`Database` that several indexes share.
        namespace: claims are compared only inside one.
        similarity: Jaccard similarity of the features from which two documents are
            near-duplicates, 0.7 to 1.
        distance: instead, the Hamming distance up to which they are.
        candidates: "bands", "blocks", or "auto": bands where the scheme has shingles and a
            similarity is asked for, blocks otherwise.
        scheme: name or import path of the scheme, or a scheme.
        scheme_options: options for a scheme given by name.
        same_url: "pass" claims a changed version of an owner's own document, "drop" only one that
            is no near-duplicate of its newest version.
        facts: where what documents say beside their texts keeps them apart: "always"; "auto", on
            one site, and prices across sites; "never".
        engine_options: for :func:`sqlalchemy.create_engine`.
        timeout: seconds until a call gives up.
        run: the run whose claims these are; one of its own, closed with the index, by default.
        text_budget: bytes of compressed text kept in the namespace; 0 keeps none.
        item_budget: bytes of dropped items kept in the namespace.
        expected_size: how many documents there will be, to choose the keys of a new namespace by;
            one that exists keeps those it has.
        compared: what is compared, in words; a namespace that was made otherwise is warned of.
        secret: 16 characters or more that fingerprints hang on, for a database that is made here;
            one that exists must have been made with it. By default each database draws its own.

    Attributes:
        scheme: the scheme with the secret in it. `index.scheme.sketch(text).fingerprint` is what
            the index has of a text.

    Raises:
        ValueError: an argument is out of its range, or the URL can't be read.
        SchemeMismatch: the database was made with another secret, or the namespace with another
            scheme or other keys.
        IndexUnavailable: the database does not answer.
    """

    def __init__(
        self,
        database: str | URL | Database,
        *,
        namespace: str = "default",
        similarity: float = 0.9,
        distance: int | None = None,
        candidates: Literal["auto", "bands", "blocks"] = "auto",
        scheme: str | Scheme = "shingles",
        scheme_options: Mapping[str, Any] | None = None,
        same_url: SameUrl = "pass",
        facts: FactsMode = "auto",
        engine_options: Mapping[str, Any] | None = None,
        timeout: float = 10.0,
        run: Run | None = None,
        text_budget: int = 256 << 20,
        item_budget: int = 1 << 30,
        expected_size: int = 1_000_000,
        compared: str = "",
        secret: str | None = None,
    ) -> None:
        given = load_scheme(scheme, scheme_options) if isinstance(scheme, str) else scheme
        keys = choose_keys(
            given,
            similarity,
            distance,
            candidates,
            expected_size=expected_size,
            engine=database.dialect if isinstance(database, Database) else _engine_of(database),
        )
        self.namespace = namespace
        self._owns_database = not isinstance(database, Database)
        self.database = (
            database
            if isinstance(database, Database)
            else Database(database, options=engine_options, timeout=timeout, secret=secret)
        )
        try:
            self.database.check_secret(None if secret is None else secret_of(secret))
            self.scheme = keyed(given, self.database.secret)
            self.lookup = Lookup(
                self.database.dialect,
                self.scheme,
                similarity=similarity,
                distance=distance,
                expected_size=expected_size,
                same_url=same_url,
                facts=facts,
            )
            self._keys, self._compared = keys, compared
            self._budgets = text_budget, item_budget
            self._open()
        except BaseException:
            if self._owns_database:
                self.database.close()
            raise
        self._run, self._owns_run = run, run is None

    def _open(self) -> None:
        """Find the namespace, or make it."""
        opened = open_namespace(
            self.database,
            self.namespace,
            scheme=self.scheme.id,
            plan=self._keys.id,
            compared=self._compared,
        )
        self.id = opened.id
        self.lookup.open(self.namespace, opened, self._keys)
        self._ledger = Ledger(self.database, opened, self.lookup, *self._budgets)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __len__(self) -> int:
        """The number of claims, pending and confirmed."""
        row = schema.namespaces.c
        size = select(current_usage("size") - invalidated_count(row.id)).where(row.id == self.id)
        return self.database.read(lambda connection: connection.scalar(size)) or 0

    def close(self) -> None:
        """Close what the index opened itself: its run, settling it, and its database."""
        try:
            if self._owns_run and self._run is not None:
                self._run.close(settled=True, reason="closed")
        finally:
            if self._owns_database:
                self.database.close()

    @property
    def run(self) -> Run:
        """The run that makes the claims."""
        if self._run is None:
            self._run = Run.open(self.database)
        return self._run

    @property
    def _claimant(self) -> Claimant:
        return Claimant(self.run.id, self.run.generation)

    def claim(
        self,
        content: str | int | None,
        *,
        key: str,
        url: str = "",
    ) -> Verdict:
        """Claim a text, or a bare fingerprint, for an owner.

        Args:
            content: a text; or a fingerprint, which needs an index with exact blocks, and to be
                compared with texts must be made by the index's own `scheme`; None is what a text
                without a fingerprint has.
            key: the owner key.
            url: where it was found.

        Raises:
            TypeError: a bare fingerprint where the index has bands.
            ValueError: a fingerprint that is negative or wider than the scheme's.
            IndexUnavailable: the database did not answer in time; nothing was claimed, or what
                was claimed is released when this run is recovered.
        """
        return self.execute(claims=[self.document(content, key=key, url=url)])[0]

    def claim_many(self, documents: Iterable[Mapping[str, Any]]) -> list[Verdict]:
        """Claim many documents, in order: the first of a group of twins gets the claim.

        Args:
            documents: mappings with "text" or "fingerprint", "key" and, if known, "url".

        Returns:
            a verdict for each, in the same order.

        Raises:
            KeyError, TypeError, ValueError, IndexUnavailable: see :meth:`claim`. Documents are
                claimed 64 at a time; those before the one that failed stay claimed.
        """
        prepared = [
            self.document(
                given["text"] if "text" in given else given["fingerprint"],
                key=given["key"],
                url=given.get("url", ""),
            )
            for given in documents
        ]
        return [
            verdict
            for start in range(0, len(prepared), BATCH)
            for verdict in self.execute(claims=prepared[start : start + BATCH])
        ]

    def confirm(self, *verdicts: Verdict) -> None:
        """What these verdicts claimed is stored."""
        self.execute(confirm=[verdict.claim for verdict in verdicts if verdict.claim])

    def release(self, *verdicts: Verdict) -> None:
        """What these verdicts claimed was not stored: nobody is its duplicate any more."""
        self.execute(release=[verdict.claim for verdict in verdicts if verdict.claim])

    def document(
        self, content: str | int | None, *, key: str, url: str = "", **more: Any
    ) -> Document:
        """Prepare a text or a fingerprint for :meth:`execute`; raises as :meth:`claim` does."""
        if isinstance(content, str):
            return Document(self.scheme.sketch(content), key, url, text=content, **more)
        return Document(bare_sketch(content, self.scheme, self.lookup.keys), key, url, **more)

    def nearest(self, content: str | int, limit: int = 5) -> list[Match]:
        """The nearest claims that the keys lead to, whether near enough to be duplicates or not.

        With exact blocks none within the index's distance is missed; farther ones come as the keys
        happen to meet. Takes no lock and claims nothing.

        Raises:
            TypeError, ValueError, IndexUnavailable: as :meth:`claim`.
        """
        document = self.document(content, key="")
        if document.sketch.fingerprint is None:
            return []
        return self._ledger.look_up(document, _NOBODY, partial(nearest_claims, count=limit))

    def foresee(self, document: Document) -> Verdict:
        """What would be said of a page that is the same in all that it shows; claims nothing.

        Takes no lock, so it may be overtaken.

        Raises:
            IndexUnavailable: as :meth:`claim`.
        """
        return self._ledger.look_up(document, self._claimant, foresee)

    def execute(
        self,
        claims: Sequence[Document] = (),
        confirm: Sequence[Claim] = (),
        release: Sequence[Claim] = (),
        duplicates: Sequence[Duplicate] = (),
    ) -> list[Verdict]:
        """Do all of this in one transaction, in this order: release, confirm, claim, remember.

        Returns:
            the verdicts on `claims`, in their order.

        Raises:
            IndexUnavailable: nothing of it is known to have been done.
        """
        if not (claims or confirm or release or duplicates):
            return []
        if self._owns_run:
            # First: if it fails, nothing of what is asked for has been done.
            self.run.beat()
            self.run.recovery.clear()
        try:
            work = claims, confirm, release, duplicates
            return self._ledger.execute(self._claimant, *work)
        except NamespaceGone:
            logger.warning(
                "Namespace %r was reset while it was in use: it begins anew", self.namespace
            )
            self._open()
            return self._ledger.execute(self._claimant, *work)


def _engine_of(url: str | URL) -> str:
    return check_url(url).get_backend_name()
