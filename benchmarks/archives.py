"""HTML files of a folder or of a tar archive."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path


def read_html(source: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of each file, in the order of the names."""
    if source.is_dir():
        for path in sorted(source.rglob("*.htm*")):
            yield path.relative_to(source).as_posix(), path.read_bytes()
        return
    with tarfile.open(source) as archive:
        for member in sorted(archive, key=lambda member: member.name):
            file = archive.extractfile(member) if ".htm" in member.name else None
            if file is not None:
                yield member.name, file.read()
