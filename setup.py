"""Builds the compiled core, if that can be done: all works without it, only slower."""

from __future__ import annotations

import os
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

CORE = Path("scrapy_simhash/native")
# Its functions are declared by Py_LIMITED_API in core.h.
STABLE_ABI = {"bdist_wheel": {"py_limited_api": "cp311"}}


class BuildIfPossible(build_ext):
    """Goes on without the core where there is no compiler, or one that does not work."""

    def run(self) -> None:
        """Build it; say so in one line if it can't be done."""
        try:
            super().run()
        except Exception as error:  # noqa: BLE001 - whatever it is, all works without
            self.warn(f"no compiled core, the pure path is used instead: {error}")


core = Extension(
    "scrapy_simhash.native._core",
    sources=sorted(path.as_posix() for path in CORE.glob("*.c")),
    depends=[path.as_posix() for path in CORE.glob("*.h")],
    py_limited_api=True,
)
is_pure = os.environ.get("SIMHASH_NATIVE") == "0"
setup(
    ext_modules=[] if is_pure else [core],
    options={} if is_pure else STABLE_ABI,
    cmdclass={"build_ext": BuildIfPossible},
)
