"""What `dedupe` writes: files that grow by whole parts, and are never written over."""

from __future__ import annotations

import gzip
import os
from hashlib import blake2b
from typing import TYPE_CHECKING

from scrapy_simhash.durable import open_new, open_own, sync_folder
from scrapy_simhash.feed.files import FeedError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

__all__ = ["Output"]

_BLOCK = 1 << 20


class Output:
    """A file that grows by whole parts, and is cut back to what is known of it.

    A call that was interrupted may have written some of the next part before that was noted. What
    follows the noted bytes is cut off if it is the beginning of what is written now, and of nobody
    else.

    Args:
        path: of the file.
        noted_in: where the progress is noted.
        length: how many bytes of it are noted; 0 for a file that is to be made.
        digest: of these, as `digest` returns it.
        header: what is written first.

    Raises:
        FeedError: the file is not there any more, or does not begin with what is noted.
    """

    def __init__(
        self, path: Path, noted_in: Path, length: int = 0, digest: str = "", header: bytes = b""
    ) -> None:
        self._path = path
        self._noted_in = noted_in
        self._compressed = path.suffix.lower() == ".gz"
        self._header = header
        self._length = length
        self._digest = blake2b(digest_size=16)
        self._stream: BinaryIO | None = None
        if length:
            self._check(digest)

    @property
    def digest(self) -> str:
        """Of all that was written, by this call and the earlier ones."""
        return self._digest.hexdigest()

    def write(self, lines: bytes) -> None:
        """Append whole lines.

        Raises:
            FeedError: something else follows what was noted.
        """
        if self._stream is None:
            lead = b"" if self._length else self._packed(self._header)
            packed = lead + self._packed(lines)
            self._stream = self._open(packed)
        else:
            packed = self._packed(lines)
        self._stream.write(packed)
        self._digest.update(packed)

    def sync(self) -> int:
        """Wait until it is stored; its length."""
        assert self._stream is not None  # noqa: S101 - something was written
        self._stream.flush()
        os.fsync(self._stream.fileno())
        return self._stream.tell()

    def close(self) -> None:
        """Close the file."""
        if self._stream is not None:
            self._stream.close()

    def _packed(self, lines: bytes) -> bytes:
        # Members of gzip that follow each other are one file: it can be cut between any two. The
        # same lines have to be the same bytes again, so there is no time in it.
        return gzip.compress(lines, 6, mtime=0) if self._compressed and lines else lines

    def _check(self, digest: str) -> None:
        """Read what is noted, as far as it is there."""
        try:
            stream = open_own(self._path)
        except FileNotFoundError as error:
            raise FeedError(f"{self._path} is gone: {self._remedy()}") from error
        with stream:
            left = self._length
            while left and (block := stream.read(min(left, _BLOCK))):
                self._digest.update(block)
                left -= len(block)
        if left:
            raise FeedError(
                f"{self._path} has become shorter, {self._length - left:,} bytes: {self._remedy()}"
            )
        if self.digest != digest:
            raise FeedError(f"{self._path} was changed: {self._remedy()}")

    def _remedy(self) -> str:
        return (
            f"an earlier call that was interrupted has written {self._length:,} bytes to it. Put "
            f"it back as it was, or remove it and {self._noted_in} to begin anew"
        )

    def _open(self, coming: bytes) -> BinaryIO:
        """The file, cut to what is noted of it, now that it is known what comes next."""
        try:
            stream = open_own(self._path)
        except FileNotFoundError:
            made = open_new(self._path)
            sync_folder(self._path.parent)
            return made
        stream.seek(self._length)
        tail = stream.read(len(coming) + 1)
        # After a loss of power a file may be as long as it was, with nothing in its last bytes.
        if not coming.startswith((tail, tail.rstrip(b"\0"))):
            stream.close()
            raise FeedError(
                f"{self._path} has more than the {self._length:,} bytes that an earlier call has "
                "noted, and not what comes next: somebody else has written to it. Cut it to that "
                f"length, or move it away and remove {self._noted_in} to begin anew"
            )
        stream.seek(self._length)
        stream.truncate()
        return stream
