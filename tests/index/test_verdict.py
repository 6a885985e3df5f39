"""What is asked of an index."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from scrapy_simhash.index.batch import packed_text
from scrapy_simhash.index.verdict import Document
from scrapy_simhash.simhash.shingles import Shingles
from scrapy_simhash.text.packed import unpack_text

FORKED = """
import os
from scrapy_simhash.index.verdict import random_number

there, here = os.pipe()
random_number()
child = os.fork()
if not child:
    os.write(here, str(random_number()).encode())
    os._exit(0)
os.waitpid(child, 0)
print(random_number() == int(os.read(there, 99)))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_forked_process_draws_other_numbers():
    done = subprocess.run(
        [sys.executable, "-c", FORKED], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "False\n"


def test_a_text_is_kept_as_it_was_packed_before():
    text = "a text of some words " * 9
    documents = [
        Document(Shingles().sketch(text), f"key {number}", text=text, packed=packed)
        for number, packed in enumerate([None, b"packed before"])
    ]
    kept, packed = map(packed_text, documents)
    assert unpack_text(kept)[0] == text
    assert packed == b"packed before"
