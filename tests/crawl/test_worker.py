"""The thread that owns the database, with a database that does as it is told."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from scrapy.utils.defer import deferred_f_from_coro_f
from sqlalchemy.exc import DataError, OperationalError

from scrapy_simhash.crawl.gathering import Barrier, Gatherer, Job
from scrapy_simhash.crawl.worker import Worker
from scrapy_simhash.exceptions import IndexUnavailable, SchemeMismatch
from scrapy_simhash.index.index import BATCH
from scrapy_simhash.index.verdict import Claim, Document, Verdict
from scrapy_simhash.simhash.scheme import Sketch


def document(name="a"):
    return Document(Sketch(1, 9, np.arange(9, dtype=np.uint64)), name)


def claim(number):
    return Claim(number, {})


def unavailable():
    error = IndexUnavailable("the database is away")
    error.__cause__ = OperationalError("", {}, Exception("away"))
    return error


class Recorder:
    """A session: notes what is asked of it, and does it when `gate` is open."""

    def __init__(self):
        self.calls = []
        self.gate = threading.Event()
        self.gate.set()
        self.fail = lambda claims: None
        self.closed_run = None
        self.closed = False
        self.run = SimpleNamespace(id=1, recovery=SimpleNamespace(claims=0), close=self.close_run)

    def index(self, namespace):
        return SimpleNamespace(execute=lambda **asked: self.execute(namespace, **asked))

    def execute(self, namespace, *, claims, confirm, release, duplicates):
        self.gate.wait(10)
        if error := self.fail(claims):
            raise error
        self.calls.append(
            SimpleNamespace(
                namespace=namespace,
                claims=[document.key for document in claims],
                confirm=[claim.id for claim in confirm],
                release=[claim.id for claim in release],
                duplicates=duplicates,
            )
        )
        return [Verdict("unique", claim=claim(ord(document.key[0]))) for document in claims]

    def close_run(self, *, settled, reason, stats):
        self.closed_run = (settled, reason)

    def beat(self):
        return 0

    def sizes(self):
        return {}

    def close(self):
        self.closed = True


@pytest.fixture
def session():
    return Recorder()


@pytest.fixture
def worker(session, monkeypatch):
    monkeypatch.setattr("scrapy_simhash.crawl.worker._REST", 0.05)
    return Worker(lambda: session, timeout=5)


async def close(worker):
    await worker.close(settled=True, reason="finished")


async def until(condition):
    """Wait for the thread; the limit only keeps a failing test from hanging."""
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen")


@deferred_f_from_coro_f
async def test_what_is_asked_while_it_works_is_committed_together(worker, session):
    session.gate.clear()
    first = asyncio.ensure_future(worker.claim("n", document("a")))
    await asyncio.sleep(0.1)
    others = [asyncio.ensure_future(worker.claim("n", document(name))) for name in "bcd"]
    worker.confirm("n", claim(7))
    await asyncio.sleep(0.1)
    session.gate.set()
    verdicts = await asyncio.gather(first, *others)
    await close(worker)
    assert [verdict.claim.id for verdict in verdicts] == list(map(ord, "abcd"))
    assert [call.claims for call in session.calls] == [["a"], ["b", "c", "d"]]
    assert session.calls[1].confirm == [7]


@deferred_f_from_coro_f
async def test_namespaces_are_kept_apart(worker, session):
    session.gate.clear()
    asked = [asyncio.ensure_future(worker.claim(name, document())) for name in "xyx"]
    await asyncio.sleep(0.1)
    session.gate.set()
    await asyncio.gather(*asked)
    await close(worker)
    assert sorted(call.namespace for call in session.calls for _ in call.claims) == ["x", "x", "y"]


@deferred_f_from_coro_f
async def test_a_claim_that_comes_too_late_is_released(session):
    worker = Worker(lambda: session, timeout=0.2)
    session.gate.clear()
    with pytest.raises(IndexUnavailable, match=r"within 0\.2 s"):
        await worker.claim("n", document("a"))
    session.gate.set()
    await until(lambda: any(call.release == [ord("a")] for call in session.calls))
    await close(worker)


@deferred_f_from_coro_f
async def test_a_claim_nobody_waits_for_any_more_is_released(worker, session):
    session.gate.clear()
    asked = asyncio.ensure_future(worker.claim("n", document("a")))
    await asyncio.sleep(0.1)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    session.gate.set()
    await until(lambda: any(call.release == [ord("a")] for call in session.calls))
    await close(worker)


@deferred_f_from_coro_f
async def test_a_claim_given_up_before_its_turn_is_never_made(worker, session):
    session.gate.clear()
    first = asyncio.ensure_future(worker.claim("n", document("a")))
    await asyncio.sleep(0.1)
    second = asyncio.ensure_future(worker.claim("n", document("b")))
    await asyncio.sleep(0.1)
    second.cancel()
    await asyncio.sleep(0.1)
    session.gate.set()
    await first
    await close(worker)
    assert [call.claims for call in session.calls if call.claims] == [["a"]]


@deferred_f_from_coro_f
async def test_outcomes_wait_until_the_database_is_back(worker, session):
    session.fail = lambda claims: unavailable()
    worker.confirm("n", claim(1))
    worker.release("n", claim(2))
    with pytest.raises(IndexUnavailable):
        await worker.claim("n", document())
    session.fail = lambda claims: None
    await until(lambda: session.calls)
    await close(worker)
    assert (session.calls[0].confirm, session.calls[0].release) == ([1], [2])
    assert session.closed_run == (True, "finished")


@deferred_f_from_coro_f
async def test_a_run_whose_outcomes_could_not_be_written_stays_open(worker, session, caplog):
    """The next run releases what it claimed."""
    session.fail = lambda claims: unavailable()
    worker.confirm("n", claim(1))
    await close(worker)
    assert session.closed_run is None
    assert session.closed
    assert "1 outcomes could not be written" in caplog.text


@deferred_f_from_coro_f
async def test_while_the_database_is_away_nobody_waits_for_it(session, monkeypatch):
    monkeypatch.setattr("scrapy_simhash.crawl.worker._REST", 60)
    tried = []
    session.fail = lambda claims: tried.append(1) or unavailable()
    worker = Worker(lambda: session, timeout=5)
    for _ in range(5):
        with pytest.raises(IndexUnavailable):
            await worker.claim("n", document())
    await close(worker)
    assert len(tried) == 1


@deferred_f_from_coro_f
async def test_it_rests_longer_each_time_the_database_does_not_answer(worker, session):
    session.fail = lambda claims: unavailable()
    for _ in range(3):
        with pytest.raises(IndexUnavailable):
            await worker.claim("n", document())
        worker._resting = None
    assert worker._rest == pytest.approx(0.05 * 2**3)
    session.fail = lambda claims: None
    await worker.claim("n", document())
    assert worker._rest == 0.05
    await close(worker)


@deferred_f_from_coro_f
async def test_one_that_can_not_be_claimed_does_not_harm_the_others(worker, session):
    def refuse(claims):
        if any(document.key == "bad" for document in claims):
            error = IndexUnavailable("a value is out of range")
            error.__cause__ = DataError("", {}, Exception("out of range"))
            return error
        return None

    session.fail = refuse
    session.gate.clear()
    asked = [asyncio.ensure_future(worker.claim("n", document(name))) for name in ("a", "bad", "c")]
    await asyncio.sleep(0.1)
    session.gate.set()
    answers = await asyncio.gather(*asked, return_exceptions=True)
    await close(worker)
    assert [type(answer) for answer in answers] == [Verdict, IndexUnavailable, Verdict]


@deferred_f_from_coro_f
async def test_a_mismatch_is_said_to_each_and_not_taken_for_an_outage(worker, session):
    session.fail = lambda claims: SchemeMismatch("another scheme") if claims else None
    for _ in range(2):
        with pytest.raises(SchemeMismatch):
            await worker.claim("n", document())
    session.fail = lambda claims: None
    assert (await worker.claim("n", document())).kind == "unique"
    await close(worker)


@deferred_f_from_coro_f
async def test_it_is_opened_again_after_it_could_not_be_opened(session, monkeypatch):
    monkeypatch.setattr("scrapy_simhash.crawl.worker._REST", 0)
    attempts = iter([unavailable(), ModuleNotFoundError("no driver"), None])

    def connect():
        if error := next(attempts):
            raise error
        return session

    worker = Worker(connect, timeout=5)
    for said in ("away", "no driver"):
        with pytest.raises(IndexUnavailable, match=said):
            await worker.claim("n", document())
    assert worker.figures.run is None
    assert (await worker.claim("n", document())).kind == "unique"
    assert worker.figures.run == 1
    await close(worker)


@deferred_f_from_coro_f
async def test_it_is_closed_no_later_than_the_timeout(session, caplog):
    worker = Worker(lambda: session, timeout=0.2)
    session.gate.clear()
    worker.confirm("n", claim(1))
    await close(worker)
    assert "did not close within 0.2 s" in caplog.text
    assert not session.closed
    session.gate.set()
    await until(lambda: session.closed)


@deferred_f_from_coro_f
async def test_without_work_no_database_is_opened():
    def connect():
        raise AssertionError("nobody asked for it")

    await close(Worker(connect, timeout=1))


# What is done together


def test_what_is_there_is_taken_up_to_a_barrier():
    asked = Gatherer()
    jobs, barrier = [Job("n", claim=document(name)) for name in "abc"], Barrier()
    for job in (*jobs[:2], barrier, jobs[2]):
        asked.put(job)
    assert asked.take(5) == (jobs[:2], barrier)
    assert asked.take(5) == (jobs[2:], None)
    assert asked.take(0) == ([], None)


def test_outcomes_that_trickle_in_are_not_put_off_for_ever(monkeypatch):
    """Each comes before the one before it has waited long enough."""
    monkeypatch.setattr("scrapy_simhash.crawl.gathering._OUTCOMES_WAIT", 0.1)
    asked, is_over = Gatherer(), threading.Event()

    def trickle():
        while not is_over.wait(0.03):
            asked.put(Job("n", confirm=claim(1)))

    thread = threading.Thread(target=trickle)
    thread.start()
    jobs, _ = asked.take(5)
    is_over.set()
    thread.join()
    assert 0 < len(jobs) < BATCH
