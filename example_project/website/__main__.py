"""`python -m website [port]` serves the sites until Ctrl-C, for a look or a crawl by hand."""

from __future__ import annotations

import sys
from threading import Event

from website.server import serve

with serve(int(sys.argv[1]) if len(sys.argv) > 1 else 8000) as (port, pages):
    print(f"{len(pages)} pages behind the proxy http://127.0.0.1:{port} (Ctrl-C stops)")
    try:
        Event().wait()
    except KeyboardInterrupt:
        print()
