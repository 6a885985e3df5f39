"""Builds the compiled core, if that can be done, and describes the package for an index."""

from __future__ import annotations

import os
import re
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

CORE = Path("scrapy_simhash/native")
# Its functions are declared by Py_LIMITED_API in core.h.
STABLE_ABI = {"bdist_wheel": {"py_limited_api": "cp311"}}


# The repository of a release, from the environment of the workflow that publishes it.
REPOSITORY = "{GITHUB_SERVER_URL}/{GITHUB_REPOSITORY}"
PAGES = {
    "Documentation": "blob/HEAD/docs/index.md",
    "Source": "",
    "Issues": "issues",
    "Changelog": "blob/HEAD/CHANGELOG.md",
}


class BuildIfPossible(build_ext):
    """Builds a package without the core where there is no compiler, or no headers of lxml.

    Everything works without the core, more slowly.
    """

    def run(self) -> None:
        """Build it, or say in one line why not."""
        try:
            super().run()
        except Exception as error:  # noqa: BLE001 - everything works without it
            self.warn(f"built without the compiled core, everything works but more slowly: {error}")


def repository() -> str | None:
    """The address of the repository; None where a package is built that nobody publishes."""
    try:
        return REPOSITORY.format_map(os.environ)
    except KeyError:
        return None


def description(address: str | None) -> str:
    """The README as an index shows it, where nothing lies beside it that a link could lead to."""

    def lead(link: re.Match[str]) -> str:
        is_picture, name, path = link.groups()
        if address is None:
            return "" if is_picture else name
        ref = os.environ.get("GITHUB_REF_NAME", "HEAD")
        return f"{is_picture}[{name}]({address}/{'raw' if is_picture else 'blob'}/{ref}/{path})"

    text = Path("README.md").read_text("utf-8")
    return re.sub(r"(!?)\[([^]]+)\]\((?!https?:)([^)]+)\)", lead, text)


def headers() -> list[str]:
    """The folders of the headers that lxml ships, its own and libxml2's; none without lxml."""
    try:
        import lxml  # noqa: PLC0415
    except ModuleNotFoundError:
        return []
    return list(lxml.get_include())


core = Extension(
    "scrapy_simhash.native._core",
    sources=sorted(path.as_posix() for path in CORE.glob("*.c")),
    depends=[path.as_posix() for path in CORE.glob("*.h")],
    include_dirs=headers(),
    py_limited_api=True,
)
is_pure = os.environ.get("SIMHASH_NATIVE") == "0"
address = repository()
setup(
    long_description=description(address),
    long_description_content_type="text/markdown",
    project_urls={name: f"{address}/{path}".rstrip("/") for name, path in PAGES.items()}
    if address
    else {},
    ext_modules=[] if is_pure else [core],
    options={} if is_pure else STABLE_ABI,
    cmdclass={"build_ext": BuildIfPossible},
)
