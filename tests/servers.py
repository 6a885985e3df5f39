"""Database servers for the tests: running ones, or else servers that are started here.

Tests use the PostgreSQL and MariaDB of the URLs in SIMHASH_TEST_POSTGRESQL and
SIMHASH_TEST_MARIADB, or those that answer on 127.0.0.1. Every test uses databases of its own, which
are dropped afterwards. Without installed servers the tests are skipped with a line that names what
to install. A server that is started here keeps its files in a temporary directory and is stopped
with the process.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path

import psutil
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import SQLAlchemyError

from scrapy_simhash.db import schema
from scrapy_simhash.db.transactions import Database

_INSTALL = {
    "postgresql": "apt-get install postgresql",
    "mariadb": "apt-get install mariadb-server",
    "pgbouncer": "apt-get install pgbouncer",
}
_PLACES = (
    "/usr/sbin",
    "/usr/libexec",
    *sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin"))),
)

_cleanup = ExitStack()
atexit.register(_cleanup.close)
_numbers = count()


ENGINES = ("sqlite", "postgresql", "mariadb")


@contextmanager
def empty_database(engine: str, folder: Path) -> Iterator[URL]:
    """An empty database of any of the engines; a file in the folder for SQLite."""
    if engine == "sqlite":
        yield make_url(f"sqlite:///{folder}/seen.db")
    else:
        with database_on(server(engine)) as url:
            yield url


def cleared_database(engine: str, folder: Path) -> URL:
    """A database with empty tables; on a server the tests of this process share it."""
    if engine == "sqlite":
        return make_url(f"sqlite:///{folder}/seen.db")
    url = _shared(engine)
    opened = create_engine(url)
    with opened.begin() as connection:
        for table in schema.metadata.sorted_tables:
            if table is not schema.meta:
                connection.execute(table.delete())
        # Each test draws its own.
        connection.execute(schema.meta.delete().where(schema.meta.c.name == "secret"))
    opened.dispose()
    return url


@cache
def _shared(engine: str) -> URL:
    url = _cleanup.enter_context(database_on(server(engine)))
    Database(url).close()
    return url


@contextmanager
def database_on(server: URL, how: str = "") -> Iterator[URL]:
    """An empty database on a server; `how` are further words of the statement that makes it."""
    name = f"simhash_test_{os.getpid()}_{next(_numbers)}"
    force = " WITH (FORCE)" if server.get_backend_name() == "postgresql" else ""
    _execute(server, f"CREATE DATABASE {name} {how}")
    try:
        yield server.set(database=name)
    finally:
        _execute(server, f"DROP DATABASE {name}{force}")


@cache
def server(engine: str) -> URL:
    """The URL of a running server."""
    if given := os.environ.get(f"SIMHASH_TEST_{engine.upper()}"):
        return make_url(given)
    usual, start = {
        "postgresql": (
            "postgresql+psycopg://postgres@127.0.0.1:5432/postgres",
            lambda: _postgresql("-F"),
        ),
        "mariadb": ("mariadb+pymysql://root@127.0.0.1:3306/", _mariadb),
    }[engine]
    return make_url(usual) if _answers(make_url(usual)) else start().url


@contextmanager
def pgbouncer(url: URL) -> Iterator[URL]:
    """A database through pgbouncer, which gives each transaction one of two connections."""
    (program,) = _need("pgbouncer", "pgbouncer")
    directory, (port,) = _directory(), free_ports(1)
    configuration = directory / "pgbouncer.ini"
    configuration.write_text(
        f"""
        [databases]
        * = host={url.host} port={url.port or 5432} user={url.username}
        [pgbouncer]
        listen_addr = 127.0.0.1
        listen_port = {port}
        unix_socket_dir =
        auth_type = any
        pool_mode = transaction
        default_pool_size = 2
        """.replace("  ", ""),
        encoding="utf-8",
    )
    pooled = url.set(host="127.0.0.1", port=port)
    process = _start([program, str(configuration)], directory / "log")
    try:
        _wait(lambda: _answers(pooled), process)
        yield pooled
    finally:
        _stop(process)


@cache
def own_server(engine: str) -> Server:
    """A server that a test may kill; what was committed is on disk."""
    if engine == "postgresql":
        return _postgresql()
    return _mariadb("--innodb-flush-log-at-trx-commit=1")


class Server:
    """A server that can be stopped and started again.

    Args:
        url: of the server.
        start: starts it on its existing files.
        stops_at: the signal of an orderly shutdown, even while clients are connected.
    """

    def __init__(
        self, url: URL, start: Callable[[], subprocess.Popen[bytes]], stops_at: signal.Signals
    ) -> None:
        self.url = url
        self._start = start
        self._stops_at = stops_at
        self._process = start()
        self._wait()

    def kill(self) -> None:
        """Kill all its processes as a power cut would."""
        # A process that is still alive would lock the files.
        psutil.wait_procs(self._signal(signal.SIGKILL), 10)
        self._process.wait()

    def stop(self) -> None:
        """Shut it down in order."""
        self._process.send_signal(self._stops_at)
        self._process.wait(60)

    def freeze(self) -> None:
        """Stop all its processes; its connections stay open."""
        self._signal(signal.SIGSTOP)

    def revive(self) -> None:
        """Continue or restart it, and wait until it answers."""
        if self._process.poll() is None:
            self._signal(signal.SIGCONT)
        else:
            self._process = self._start()
        self._wait()

    def _signal(self, number: signal.Signals) -> list[psutil.Process]:
        """Send a signal to all its processes; returns the child processes."""
        first = psutil.Process(self._process.pid)
        others = set(first.children(recursive=True))
        # The parent first: it would restart its children.
        first.send_signal(number)
        others.update(first.children(recursive=True))
        for process in others:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)
        return list(others)

    def _wait(self) -> None:
        _wait(lambda: _answers(self.url), self._process)


def free_ports(number: int) -> list[int]:
    """Free ports of the loopback interface."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _postgresql(*options: str) -> Server:
    initdb, postgres = _need("postgresql", "initdb", "postgres")
    directory = _directory()
    data = directory / "data"
    _run([initdb, "--auth=trust", "--username=postgres", "--no-sync", "-D", str(data)])
    (port,) = free_ports(1)
    arguments = ["-D", str(data), "-p", str(port), "-h", "127.0.0.1", "-k", str(directory)]
    url = URL.create("postgresql+psycopg", "postgres", None, "127.0.0.1", port, "postgres")
    command = [postgres, *arguments, *options]
    # At a SIGTERM it would wait for its clients.
    return Server(url, lambda: _start(command, directory / "log"), signal.SIGINT)


def _mariadb(*options: str) -> Server:
    _need("mariadb", "mariadbd", "mariadb-install-db")
    data = _directory() / "data"
    _install_mariadb(data)
    (port,) = free_ports(1)
    return Server(_mariadb_url(port), lambda: _start_mariadb(data, port, *options), signal.SIGTERM)


def _mariadb_url(port: int) -> URL:
    return URL.create("mariadb+pymysql", "root", None, "127.0.0.1", port)


def _install_mariadb(data: Path) -> None:
    (install,) = _need("mariadb", "mariadb-install-db")
    _run(
        [
            install,
            "--no-defaults",
            f"--datadir={data}",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
        ]
    )


def _start_mariadb(data: Path, port: int, *options: str) -> subprocess.Popen[bytes]:
    (server,) = _need("mariadb", "mariadbd")
    return _start(
        [
            server,
            "--no-defaults",
            f"--datadir={data}",
            f"--socket={data}.sock",
            f"--pid-file={data}.pid",
            f"--port={port}",
            "--bind-address=127.0.0.1",
            "--innodb-buffer-pool-size=64M",
            "--innodb-flush-log-at-trx-commit=2",
            *options,
        ],
        data.with_suffix(".log"),
    )


def _need(engine: str, *programs: str) -> list[str]:
    """The paths of programs; skips the test if one is missing."""
    path = os.pathsep.join([os.environ.get("PATH", ""), *_PLACES])
    found = {program: shutil.which(program, path=path) for program in programs}
    if missing := [program for program, where in found.items() if where is None]:
        pytest.skip(
            f"no {engine} answers on 127.0.0.1 and {', '.join(missing)} is not installed; "
            f"install it with: {_INSTALL[engine]}"
        )
    return [where for where in found.values() if where]


def _directory() -> Path:
    directory = Path(tempfile.mkdtemp(prefix="simhash-test-"))
    _cleanup.callback(shutil.rmtree, directory, ignore_errors=True)
    if user := _user():
        shutil.chown(directory, user)
    return directory


def _user() -> str | None:
    """Database servers refuse to run as root."""
    return "nobody" if os.geteuid() == 0 else None


def _run(command: Sequence[str]) -> None:
    result = subprocess.run(command, user=_user(), cwd="/", capture_output=True, check=False)
    if result.returncode:
        pytest.fail(f"{command[0]}: {result.stderr.decode(errors='replace')}")


def _start(command: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, user=_user(), cwd="/", stdout=output, stderr=output)
    _cleanup.callback(_stop, process)
    return process


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait(ready: Callable[[], bool], process: subprocess.Popen[bytes], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not ready():
        if process.poll() is not None or time.monotonic() > deadline:
            pytest.fail(f"{process.args!r} did not start")
        time.sleep(0.1)


def _answers(url: URL) -> bool:
    with suppress(SQLAlchemyError, ModuleNotFoundError):
        return bool(_execute(url, "SELECT 1"))
    return False


def _execute(url: URL, statement: str) -> Sequence[Sequence[object]]:
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            result = connection.execute(text(statement))
            return result.all() if result.returns_rows else []
    finally:
        engine.dispose()
