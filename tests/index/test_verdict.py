"""What is asked of an index."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

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
