"""Processes of the suite, forked from one that has imported the large packages."""

from __future__ import annotations

import os
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

#: Seconds after which any process is killed.
HARD_KILL = 180

_context = get_context("forkserver")
_context.set_forkserver_preload(["__main__", "scrapy.crawler", "scrapy_simhash.crawl.components"])


def start(call: Callable[..., Any], *arguments: object, log: Path) -> ForkServerProcess:
    """Call a function in a new process; its output goes to a file."""
    process = _context.Process(target=_run, args=(call, arguments, log), daemon=True)
    process.start()
    return process


def _run(call: Callable[..., Any], arguments: tuple[object, ...], log: Path) -> None:
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(log.parent)
    call(*arguments)


def kill(process: ForkServerProcess) -> None:
    """Kill a process and wait for its end."""
    process.kill()
    process.join()


def is_stopped(process: ForkServerProcess) -> bool:
    """Whether all threads of a process have stopped; that takes a moment after the signal."""
    tasks = Path(f"/proc/{process.pid}/task").glob("*/stat")
    try:
        return all(task.read_text().rpartition(")")[2].split()[0] == "T" for task in tasks)
    except FileNotFoundError:
        return False
