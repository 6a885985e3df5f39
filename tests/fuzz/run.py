"""Run targets for a number of minutes, each in its own process, and print the findings.

Atheris chooses the bytes of the examples, guided by the lines of the package that they reach;
without Atheris hypothesis draws them.
"""

from __future__ import annotations

import argparse
import gc
import logging
import multiprocessing
import os
import queue
import random
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil
import pytest
from fuzz.target import TARGETS, Check, fuzzed
from hypothesis import Phase, seed
from hypothesis.strategies import tuples

#: What is imported, numpy's buffers and caches with a bound have been filled by then.
_WARM = 0.2
#: Growth after that which is a finding, in megabytes.
_GROWTH = 64
#: Examples that hypothesis makes of one seed.
_ROUND = 200
#: Bytes that Atheris makes an example of; hypothesis takes no more.
_BYTES = 8192


@dataclass
class Result:
    """The result of a target."""

    name: str
    executions: int = 0
    findings: int = 0
    growth: float = 0.0
    slowest: float = 0.0
    guided: bool = False


class Watch:
    """Counts the executions and findings of a check, and when its time is over."""

    def __init__(self, check: Check, strategies: Any, name: str, minutes: float) -> None:
        self.result = Result(name)
        self.given = tuples(*strategies)
        self._check = check
        self._said: set[str] = set()
        self._began = time.monotonic()
        self._seconds = 60 * minutes
        self._warm: float | None = None

    def __call__(self, *values: Any) -> None:
        began = time.monotonic()
        try:
            self._check(*values)
        except Exception as error:
            self.fail(error, values)
            raise
        finally:
            self.result.executions += 1
            self.result.slowest = max(self.result.slowest, time.monotonic() - began)

    @property
    def is_over(self) -> bool:
        passed = time.monotonic() - self._began
        if self._warm is None and passed > _WARM * self._seconds:
            self._warm = _megabytes()
        return passed > self._seconds

    def fail(self, error: BaseException, values: object) -> None:
        """Print a finding, once for each place that raises."""
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{type(error).__name__} at {last.filename}:{last.lineno}"
        if place not in self._said:
            self._said.add(place)
            self.result.findings += 1
            print(f"{self.result.name}: {place}: {str(error)[:500]}\n  {repr(values)[:4000]}")
            traceback.print_exception(error, limit=-6, file=sys.stdout)

    def end(self) -> Result:
        if self._warm is not None:
            self.result.growth = _megabytes() - self._warm
        if self.result.growth > _GROWTH:
            self.result.findings += 1
            print(f"{self.result.name}: memory grew by {self.result.growth:.0f} MB")
        return self.result


def _megabytes() -> float:
    gc.collect()
    return float(psutil.Process().memory_info().rss / 1e6)


def _targets(left_out: Callable[[str], None] = lambda message: None) -> dict[str, Any]:
    """The targets of all test files in this folder; reports the files that can't be imported."""
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        try:
            import_module(f"fuzz.{path.stem}")
        except pytest.skip.Exception as skipped:
            left_out(f"{path.name} is left out: {skipped}")
    return TARGETS


def _run(name: str, minutes: float, first: int, results: Any) -> None:
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    logging.disable()
    try:
        import atheris
    except ImportError:
        watch = Watch(*_targets()[name], name, minutes)
        _by_hypothesis(watch, first)
        results.put(watch.end())
        return
    with atheris.instrument_imports(include=["scrapy_simhash"], enable_loader_override=False):
        watch = Watch(*_targets()[name], name, minutes)
    watch.result.guided = True
    _by_atheris(atheris, watch, first, results)


def _by_hypothesis(watch: Watch, first: int) -> None:
    def check(values: tuple[Any, ...]) -> None:
        if not watch.is_over:
            watch(*values)

    while not watch.is_over:
        one = fuzzed(check, (watch.given,), max_examples=_ROUND, phases=(Phase.generate,))
        try:
            seed(first)(one)()
        except Exception as error:  # noqa: BLE001 - the watch has reported it, or the strategy failed
            watch.fail(error, "while an example was made")
        first += 1


def _by_atheris(atheris: Any, watch: Watch, first: int, results: Any) -> None:
    def check(values: tuple[Any, ...]) -> None:
        watch(*values)

    one = fuzzed(check, (watch.given,)).hypothesis.fuzz_one_input  # type: ignore[attr-defined]

    def step(content: bytes) -> None:
        if watch.is_over:
            results.put(watch.end())
            results.close()
            results.join_thread()
            # Atheris ends by no other way.
            os._exit(0)
        try:
            one(content)
        except Exception as error:  # noqa: BLE001 - as above
            watch.fail(error, "while an example was made")

    options = [f"-seed={first}", f"-max_len={_BYTES}", "-len_control=0", "-verbosity=0"]
    atheris.Setup([watch.result.name, *options], step)
    atheris.Fuzz()


def main() -> int:
    """Run the targets in turn; returns 1 if any has findings."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="all of them by default")
    parser.add_argument("--minutes", type=float, default=10, help="of each target")
    parser.add_argument("--seed", type=int, default=None, help="where the examples begin")
    options = parser.parse_args()
    known = _targets(left_out=print)
    if unknown := set(options.targets) - set(known):
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    first = random.randrange(1, 1 << 30) if options.seed is None else options.seed
    print(f"seed {first}")
    found = [_in_a_process(name, options.minutes, first) for name in options.targets or known]
    print(f"{'target':32} {'minutes':>7} {'executions':>10} {'findings':>8} {'MB more':>8} slowest")
    for one in found:
        print(
            f"{one.name:32} {options.minutes:7g} {one.executions:10,} {one.findings:8} "
            f"{one.growth:8.1f} {one.slowest:6.2f} s{' (guided)' if one.guided else ''}"
        )
    return min(1, sum(one.findings for one in found))


def _in_a_process(name: str, minutes: float, first: int) -> Result:
    fresh = multiprocessing.get_context("spawn")
    results = fresh.Queue()
    process = fresh.Process(target=_run, args=(name, minutes, first, results))
    process.start()
    while True:
        try:
            result: Result = results.get(timeout=1)
            break
        except queue.Empty:
            if not process.is_alive() and results.empty():
                print(f"{name}: the process died with {process.exitcode}")
                result = Result(name, findings=1)
                break
    process.join()
    return result


if __name__ == "__main__":
    sys.exit(main())
