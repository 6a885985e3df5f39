"""A distant server: a proxy in front of it that delays each answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from sqlalchemy.engine import URL


@contextmanager
def far_away(url: URL, seconds: float) -> Iterator[URL]:
    """A URL under which a server answers later; data sent together arrives together."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def serve() -> asyncio.Server:
        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            there, back = await asyncio.open_connection(url.host, url.port)
            # As long on the way there as back.
            ways = _carry(reader, back, seconds / 2), _carry(there, writer, seconds / 2)
            # Cancelled at the end of a test.
            with suppress(asyncio.CancelledError):
                await asyncio.gather(*ways)
            for end in (back, writer):
                end.close()
                with suppress(ConnectionError):
                    await end.wait_closed()

        return await asyncio.start_server(connected, "127.0.0.1", 0)

    server = asyncio.run_coroutine_threadsafe(serve(), loop).result()
    port = server.sockets[0].getsockname()[1]
    try:
        # PostgreSQL connections without TLS can be relayed.
        yield url.set(host="127.0.0.1", port=port)
    finally:
        asyncio.run_coroutine_threadsafe(_end(server), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _carry(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float
) -> None:
    """Relay data, each piece with the same delay."""
    loop = asyncio.get_running_loop()
    on_its_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def deliver() -> None:
        while True:
            due, piece = await on_its_way.get()
            await asyncio.sleep(due - loop.time())
            if not piece:
                writer.close()
                return
            writer.write(piece)

    async def collect() -> None:
        piece = b"-"
        while piece:
            try:
                piece = await reader.read(1 << 16)
            except ConnectionError:
                piece = b""
            on_its_way.put_nowait((loop.time() + seconds, piece))

    await asyncio.gather(collect(), deliver())


async def _end(server: asyncio.Server) -> None:
    server.close()
    mine = asyncio.current_task()
    others = [task for task in asyncio.all_tasks() if task is not mine]
    for task in others:
        task.cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.gather(*others, return_exceptions=True)
