"""A cluster of three nodes, each of which takes writes. Starting it takes half a minute."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest
from gate import Gate
from servers import Galera, database_on, galera
from sqlalchemy.engine import URL

from scrapy_simhash.index.index import Index

pytestmark = pytest.mark.galera


@pytest.fixture(scope="module")
def cluster() -> Galera:
    return galera()


class Balancer(Gate):
    """Relays connections to the first node that answers."""

    def __init__(self, url: URL, nodes: list[URL]) -> None:
        super().__init__(url)
        self._nodes = nodes

    def _connect(self) -> socket.socket:
        for node in self._nodes:
            with suppress(OSError):
                return socket.create_connection((node.host, node.port))
        raise ConnectionRefusedError


@pytest.fixture
def urls(cluster: Galera) -> Iterator[list[URL]]:
    """An empty database, through a balancer for each node that fails over to the other nodes."""
    with database_on(cluster.urls[0]) as url, ExitStack() as stack:
        balancers = [
            Balancer(url, cluster.urls[first:] + cluster.urls[:first]) for first in range(3)
        ]
        for balancer in balancers:
            balancer.open()
            stack.callback(balancer.shut)
        yield [balancer.url for balancer in balancers]


def text(group: int) -> str:
    return " ".join(f"g{group}w{n}" for n in range(60))


def race(urls: list[URL], groups: int, during: list[threading.Thread]) -> list[list[str]]:
    """The kinds of the verdicts of each group, of writers on every node that claim all of them."""
    kinds: list[dict[int, str]] = [{} for _ in urls]
    failed: list[BaseException] = []

    def write(member: int) -> None:
        try:
            with Index(urls[member], timeout=60) as index:
                for group in range(groups):
                    verdict = index.claim(text(group), key=f"{group} {member}")
                    index.confirm(verdict)
                    kinds[member][group] = verdict.kind
        except BaseException as error:  # noqa: BLE001 - reported by the test
            failed.append(error)

    writers = [threading.Thread(target=write, args=(member,)) for member in range(len(urls))]
    for thread in writers + during:
        thread.start()
    for thread in writers + during:
        thread.join()
    assert not failed
    return [sorted(of_member[group] for of_member in kinds) for group in range(groups)]


def test_writers_on_every_node_never_both_claim(urls: list[URL]) -> None:
    """Row locks are local to a node: the commit of one of the two fails, and is tried again."""
    assert race(urls, 60, []) == [["duplicate", "duplicate", "unique"]] * 60


def test_nothing_is_claimed_twice_or_lost_when_a_node_is_killed(
    cluster: Galera, urls: list[URL]
) -> None:
    def kill() -> None:
        time.sleep(1)
        cluster.kill(1)

    try:
        kinds = race(urls, 150, [threading.Thread(target=kill)])
    finally:
        cluster.revive(1)
    assert kinds == [["duplicate", "duplicate", "unique"]] * 150
    for url in urls:
        with Index(url) as index:
            assert len(index) == 150
