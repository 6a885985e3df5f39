"""A relay in front of a server that can be shut or frozen, as if the server were."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from servers import free_ports
from sqlalchemy.engine import URL


class Gate:
    """Relays connections from a port to a server.

    Attributes:
        url: of the server through this relay.
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
        """Accept connections."""
        self._listener = socket.create_server(("127.0.0.1", self._port))
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def shut(self) -> None:
        """Cut all connections; refuse new ones."""
        ends, self._ends = self._ends, []
        for end in (self._listener, *ends):
            if end is not None:
                # Wakes threads that wait for data.
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()
        self._listener = None

    def freeze(self) -> None:
        """Accept connections and relay nothing, as a stopped process does."""
        self._passes.clear()

    def thaw(self) -> None:
        """Relay again, first what arrived meanwhile."""
        self._passes.set()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = self._connect()
                self._ends += [client, server]
                for ends in ((client, server), (server, client)):
                    threading.Thread(target=self._pass_on, args=ends, daemon=True).start()

    def _connect(self) -> socket.socket:
        return socket.create_connection(self._server)

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
    """An open gate."""
    made = Gate(url)
    made.open()
    try:
        yield made
    finally:
        made.thaw()
        made.shut()
