"""The thread that owns the database, with a database that does what the test asks."""

from __future__ import annotations

import asyncio
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from scrapy.utils.defer import deferred_f_from_coro_f
from sqlalchemy.exc import DataError, OperationalError

from scrapy_simhash.crawl.thread import DatabaseThread
from scrapy_simhash.crawl.worker import Worker
from scrapy_simhash.exceptions import FingerprintMismatch, IndexUnavailable
from scrapy_simhash.index.index import BATCH
from scrapy_simhash.index.verdict import ClaimRow, Document, Verdict
from scrapy_simhash.simhash.scheme import Sketch
from scrapy_simhash.text.packed import TooLarge


def document(name="a"):
    return Document(Sketch(1, 9, np.arange(9, dtype=np.uint64)), name)


def claimed(number):
    return Verdict("unique", claim=ClaimRow(id=number), row=ClaimRow(id=number))


def unavailable():
    error = IndexUnavailable("the database is unavailable")
    error.__cause__ = OperationalError("", {}, Exception("away"))
    return error


class Recorder:
    """A session: notes what is asked of it, and does it when `gate` is open."""

    def __init__(self):
        self.calls = []
        self.secret = bytes(16)
        self.gate = threading.Event()
        self.gate.set()
        self.busy = False
        self.fail = lambda claims: None
        self.closed_run = None
        self.closed = False
        self.probes = []
        self.abandoned = 0
        self.run = SimpleNamespace(
            id=1,
            abandon=self.abandon_run,
            send_heartbeat=lambda: None,
            recovery=SimpleNamespace(clear=lambda seconds: False),
        )

    def meet(self, documents):
        return [None for _ in documents]

    def index(self, namespace):
        return SimpleNamespace(
            execute=lambda **asked: self.execute(namespace, **asked),
            meet=self.meet,
        )

    def execute(self, namespace, *, claims=(), confirm=(), release=(), left_out=()):
        self.busy = True
        self.gate.wait(10)
        if error := self.fail(claims):
            raise error
        self.calls.append(
            SimpleNamespace(
                namespace=namespace,
                claims=[document.key for document in claims],
                confirm=[verdict.claim.id for verdict in confirm],
                release=[verdict.claim.id for verdict in release],
                left_out=left_out,
            )
        )
        return [claimed(ord(document.key[0])) for document in claims]

    def close_run(self, *, settled, reason):
        self.closed_run = (settled, reason)
        return 0

    def abandon_run(self):
        self.abandoned += 1

    def probe(self):
        self.probes.append(time.monotonic())
        self.gate.wait(10)
        if error := self.fail([]):
            raise error

    def is_gone(self):
        return False

    def is_outdated(self, argument):
        return False

    def count(self, figures):
        pass

    def close(self):
        self.closed = True


@pytest.fixture
def session():
    return Recorder()


@pytest.fixture
def worker(session):
    return Worker(lambda liveness: session, timeout=5)


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
async def test_a_claim_nobody_waits_for_any_more_is_released(worker, session):
    session.gate.clear()
    asked = asyncio.ensure_future(worker.claim("n", document("a")))
    await until(lambda: session.busy)
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
    await until(lambda: session.busy)
    second = asyncio.ensure_future(worker.claim("n", document("b")))
    await asyncio.sleep(0.1)
    second.cancel()
    await asyncio.sleep(0.1)
    session.gate.set()
    await first
    await close(worker)
    assert [call.claims for call in session.calls if call.claims] == [["a"]]


@deferred_f_from_coro_f
async def test_a_run_whose_outcomes_could_not_be_written_stays_open(worker, session, caplog):
    """The next run releases what it claimed."""
    session.fail = lambda claims: unavailable()
    worker.confirm("n", claimed(1))
    await close(worker)
    assert session.closed_run is None
    assert session.closed
    assert session.abandoned
    assert "outcomes that could not be written: 1; " in caplog.text


@deferred_f_from_coro_f
async def test_while_the_database_is_away_nobody_waits_for_it(worker, session):
    """The thread alone asks again and again, and sees that it is back."""
    tried = []
    session.fail = lambda claims: (tried.append(claims) if claims else None) or unavailable()
    for _ in range(5):
        with pytest.raises(IndexUnavailable, match="unavailable"):
            await worker.claim("n", document())
    assert len(tried) == 1
    await until(lambda: len(session.probes) > 2)
    session.fail = lambda claims: None
    await until(lambda: worker.refusal is None)
    assert (await worker.claim("n", document())).kind == "unique"
    await close(worker)


@deferred_f_from_coro_f
async def test_while_the_thread_hangs_nobody_waits_for_it_a_second_time(session):
    worker = Worker(lambda liveness: session, timeout=1)
    session.gate.clear()
    with pytest.raises(IndexUnavailable, match="within 1 s"):
        await worker.claim("n", document("a"))
    for _ in range(100):
        with pytest.raises(IndexUnavailable, match="earlier"):
            await worker.claim("n", document("b"))
    session.gate.set()
    await until(lambda: worker.refusal is None)
    assert (await worker.claim("n", document("c"))).kind == "unique"
    await close(worker)
    # The late call was made; the others were not even started.
    assert [call.claims for call in session.calls if call.claims] == [["a"], ["c"]]
    assert [call.release for call in session.calls if call.release] == [[ord("a")]]


@deferred_f_from_coro_f
async def test_a_database_that_is_busy_with_others_is_waited_for(session):
    worker = Worker(lambda liveness: session, timeout=1)
    session.gate.clear()
    asked = asyncio.ensure_future(worker.claim("n", document("a")))
    for _ in range(15):
        await asyncio.sleep(0.2)
        worker.figures.liveness.note()
    assert not asked.done()
    session.gate.set()
    assert (await asked).kind == "unique"
    await close(worker)


@deferred_f_from_coro_f
async def test_a_blocked_event_loop_is_no_fault_of_the_database(session):
    """The answer is there before anybody can look for it, or comes soon after."""
    worker = Worker(lambda liveness: session, timeout=1)
    for is_slow in (False, True):
        if is_slow:
            session.gate.clear()
        asked = asyncio.ensure_future(worker.claim("n", document("a")))
        await asyncio.sleep(0)
        time.sleep(3)
        if is_slow:
            await asyncio.sleep(0.1)
            session.gate.set()
        assert (await asked).kind == "unique"
    await close(worker)
    assert not any(call.release for call in session.calls)


@deferred_f_from_coro_f
async def test_many_outcomes_are_taken_up_bit_by_bit(worker, session):
    session.fail = lambda claims: unavailable()
    for number in range(3 * BATCH):
        worker.confirm("n", claimed(number))
    await until(lambda: len(session.probes) > 1)
    session.fail = lambda claims: None
    await until(lambda: sum(len(call.confirm) for call in session.calls) == 3 * BATCH)
    await close(worker)
    assert max(len(call.confirm) for call in session.calls) == BATCH
    assert [n for call in session.calls for n in call.confirm] == list(range(3 * BATCH))


@deferred_f_from_coro_f
async def test_a_heartbeat_comes_first_and_clearing_up_last(worker, session):
    done, left = [], [True, True, False]
    session.run.send_heartbeat = lambda: done.append("beat")
    session.run.recovery.clear = lambda seconds: done.append("tidy") or bool(left and left.pop(0))
    execute = session.execute
    session.execute = lambda *given, **asked: done.append("batch") or execute(*given, **asked)
    await worker.claim("n", document("a"))
    # Until nothing is left; then it rests.
    await until(lambda: not left)
    await worker.claim("n", document("b"))
    await until(lambda: done[-1] == "tidy")
    so_far = list(done)
    await close(worker)
    done = so_far
    assert done[:2] == ["batch", "tidy"], "the first opens it"
    assert [name for name in done if name != "beat"] == ["batch", *["tidy"] * 3, "batch", "tidy"]
    assert done[done.index("batch", 1) - 1] == "beat"


def out_of_range():
    error = IndexUnavailable("a value is out of range")
    error.__cause__ = DataError("", {}, Exception("out of range"))
    return error


@pytest.mark.parametrize(
    "error", [out_of_range(), TooLarge("17 MB")], ids=lambda e: type(e).__name__
)
@deferred_f_from_coro_f
async def test_one_that_can_not_be_claimed_does_not_harm_the_others(worker, session, error):
    def refuse(claims):
        return error if any(document.key == "bad" for document in claims) else None

    session.fail = refuse
    session.gate.clear()
    asked = [asyncio.ensure_future(worker.claim("n", document(name))) for name in ("a", "bad", "c")]
    worker.confirm("n", claimed(1))
    await asyncio.sleep(0.1)
    session.gate.set()
    answers = await asyncio.gather(*asked, return_exceptions=True)
    await close(worker)
    assert [type(answer) for answer in answers] == [Verdict, type(error), Verdict]
    assert [call.confirm for call in session.calls if call.confirm] == [[1]]


@deferred_f_from_coro_f
async def test_a_mismatch_is_reported_to_each_and_not_taken_for_an_outage(worker, session):
    session.fail = lambda claims: FingerprintMismatch("another scheme") if claims else None
    for _ in range(2):
        with pytest.raises(FingerprintMismatch):
            await worker.claim("n", document())
    session.fail = lambda claims: None
    assert (await worker.claim("n", document())).kind == "unique"
    await close(worker)


@deferred_f_from_coro_f
async def test_a_thread_that_fails_goes_on(worker, session, monkeypatch, caplog):
    """Whoever waits gets an error, and no outcome is lost."""
    do, failed = DatabaseThread.do, []

    def fails_at_times(thread, jobs):
        if len(failed) < 2:
            failed.append(jobs)
            raise MemoryError
        return do(thread, jobs)

    monkeypatch.setattr(DatabaseThread, "do", fails_at_times)
    worker.confirm("n", claimed(7))
    for number in (1, 2):
        with pytest.raises(IndexUnavailable, match="MemoryError"):
            await worker.claim("n", document())
        await until(lambda: worker.refusal is None)
        assert len(failed) == number
    assert (await worker.claim("n", document())).kind == "unique"
    session.close = fails_to_close
    await close(worker)
    assert [call.confirm for call in session.calls if call.confirm] == [[7]]
    assert session.closed_run == (True, "finished")
    assert caplog.text.count("The thread of the index failed; it goes on") == 1
    assert "did not close" not in caplog.text


def fails_to_close():
    raise OSError("a disk is full")


@pytest.mark.parametrize(("is_busy", "at_least"), [(False, 0.3), (True, 10 * 0.3)])
@deferred_f_from_coro_f
async def test_at_the_end_a_database_is_waited_for_but_not_for_ever(
    session, is_busy, at_least, caplog
):
    """For longer, if others are seen to get through."""
    session.gate.clear()
    worker = Worker(lambda liveness: session, timeout=0.3)
    worker.confirm("n", claimed(1))
    closing = asyncio.ensure_future(worker.close(settled=True, reason="finished"))
    started = time.monotonic()
    while not closing.done() and time.monotonic() - started < 60:
        await asyncio.sleep(0.05)
        if is_busy:
            worker.figures.liveness.note()
    assert at_least <= time.monotonic() - started < 50
    assert await closing is None
    assert is_busy or "did not close within 0.3 s" in caplog.text
    assert "did not close" in caplog.text
    assert session.abandoned
    assert not session.closed
    session.gate.set()
    await until(lambda: session.closed)


# What is done together


@deferred_f_from_coro_f
async def test_a_look_up_that_fails_harms_no_claim(session):
    """What is committed has been answered, whatever comes after it."""

    def fails(items):
        raise ValueError("a damaged row")

    session.meet = fails
    worker = Worker(lambda liveness: session, timeout=5)
    session.gate.clear()
    asked = [
        asyncio.ensure_future(getattr(worker, ask)("n", document(name)))
        for ask, name in (("claim", "a"), ("meet", "p"), ("claim", "b"))
    ]
    await asyncio.sleep(0.1)
    session.gate.set()
    answers = await asyncio.gather(*asked, return_exceptions=True)
    await close(worker)
    assert [type(answer) for answer in answers] == [Verdict, ValueError, Verdict]
    assert [call.claims for call in session.calls if call.claims] == [["a", "b"]]
