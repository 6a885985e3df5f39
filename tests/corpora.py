"""Corpora of many kinds of items, and their sketches, for tests."""

from __future__ import annotations

import json
import random

from loopback import prose
from stored import changed

from scrapy_simhash.corpus.plan import Plan
from scrapy_simhash.corpus.sketches import Sketches, make_sketches
from scrapy_simhash.feed.documents import ItemReader


def items(count: int, seed: int):
    """Items of many kinds, in groups of all sizes.

    Copies with more or fewer changes, with other facts, on other sites; short texts; rows without
    a text; entries of a list; and pages of one template, whose bands become hot keys.
    """
    chance = random.Random(seed)
    texts = [prose(f"{seed} {number}", chance.choice([6, 12, 60, 120])) for number in range(40)]
    template = prose(f"{seed} template", 150)
    for number in range(count):
        site, kind = chance.choice("abcd"), chance.random()
        item = {"url": f"http://{site}.test/{chance.randrange(count)}"}
        if kind < 0.1:
            yield item | {"name": f"Ann {chance.randrange(20)}", "age": chance.randrange(3)}
            continue
        if kind < 0.2:
            item |= {"url": f"http://{site}.test/list", "link": f"/thing/{chance.randrange(200)}"}
            item["text"] = f"{template} {prose(number, 3)}"
        elif kind < 0.35:
            item["text"] = f"{template} {prose(number, 20)}"
        elif kind < 0.6:
            item["text"] = prose(f"{seed} alone {number}", 60)
        else:
            words = chance.choice(texts).split()
            for _ in range(chance.choice([0, 0, 1, 2, 4, 8])):
                words[chance.randrange(len(words))] = f"other{chance.randrange(50)}"
            item["text"] = " ".join(words)
        if chance.random() < 0.3:
            item["title"] = f"Title {chance.randrange(3)}"
        if chance.random() < 0.2:
            item["price"] = f"{chance.randrange(3)}.50 EUR"
        yield item


def documents_of(plan: Plan, given):
    reader = ItemReader(plan.scheme, plan.secret, 8, 10**6)
    return [reader.document(item, number) for number, item in enumerate(given)]


def sketches_of(documents, plan: Plan) -> Sketches:
    return make_sketches(documents, plan)


def feed_of(count: int):
    """Items, every third a near-duplicate of the one before it; and the places of the others."""
    items, kept = [], []
    for number in range(count):
        copies = number % 3 == 2
        text = changed(items[-1]["text"], 1) if copies else prose(number, 90)
        items.append({"url": f"http://a.test/{number}", "text": text, "n": number})
        if not copies:
            kept.append(number)
    return items, kept


def jsonl(items):
    return "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items).encode()


def archive(*pages: tuple[str, bytes], status: str = "200 OK", charset: str = "") -> bytes:
    """The records of a WARC file: a response for each URL and page."""
    return b"".join(
        record(
            "response", url, "application/http; msgtype=response", head_of(status, charset) + page
        )
        for url, page in pages
    )


def head_of(status: str, charset: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Type: text/html{charset}\r\n\r\n".encode()


def record(kind: str, url: str, type_: str, content: bytes) -> bytes:
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\n"
        f"WARC-Date: 2030-01-31T00:00:00Z\r\nWARC-Record-ID: <urn:x:{abs(hash((kind, url)))}>\r\n"
        f"Content-Type: {type_}\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content + b"\r\n\r\n"
