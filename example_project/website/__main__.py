"""`python -m website [port]` serves the site until Ctrl-C, for a look at it or a crawl by hand."""

from __future__ import annotations

import sys
from threading import Event

from website.server import serve

with serve(int(sys.argv[1]) if len(sys.argv) > 1 else 8000) as (port, pages):
    print(f"{len(pages)} pages at http://127.0.0.1:{port}/ (Ctrl-C stops)")
    try:
        Event().wait()
    except KeyboardInterrupt:
        print()
