"""A gate before a server of the tests: open, shut, or silent, as if the server were."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from servers import free_ports

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import URL


class Gate:
    """What passes on to a server whatever comes to a port of its own.

    Attributes:
        url: the server's, by way of the gate.
    """

    def __init__(self, url: URL) -> None:
        self._server = (
            url.host,
            url.port or {"postgresql": 5432}.get(url.get_backend_name(), 3306),
        )
        (self._port,) = free_ports(1)
        self.url = url.set(port=self._port)
        self._listener: socket.socket | None = None
        self._ends: list[socket.socket] = []
        self._passes = threading.Event()
        self._passes.set()

    def open(self) -> None:
        """Let through whoever comes."""
        self._listener = socket.create_server(("127.0.0.1", self._port))
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def shut(self) -> None:
        """Cut all connections; refuse new ones."""
        ends, self._ends = self._ends, []
        for end in (self._listener, *ends):
            if end is not None:
                # Otherwise whoever waits in it goes on to do so.
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()
        self._listener = None

    def freeze(self) -> None:
        """Take connections and let nothing through, as a process that is stopped."""
        self._passes.clear()

    def thaw(self) -> None:
        """Let through what has come meanwhile."""
        self._passes.set()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.create_connection(self._server)
                self._ends += [client, server]
                for ends in ((client, server), (server, client)):
                    threading.Thread(target=self._pass_on, args=ends, daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self._passes.wait()
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@contextmanager
def gate(url: URL) -> Iterator[Gate]:
    """A gate that is open at first."""
    made = Gate(url)
    made.open()
    try:
        yield made
    finally:
        made.thaw()
        made.shut()
