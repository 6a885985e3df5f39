"""Web sites that ship inside packages, in two versions, fetched by name and version.

The clients are those of the package indexes: pip, npm, apt-get. The packages of Debian need a
system whose sources list the releases that have these versions; a site that can't be fetched is
left out, and reported as such.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path
from typing import NamedTuple

__all__ = ["SITES", "Site", "fetch"]


class Site(NamedTuple):
    """A site in two versions.

    Attributes:
        name: in tables.
        client: pip, npm or apt-get.
        package: the name of the package.
        versions: of it, the older one first.
        folder: the last folder above the pages; what stands below it is the path of a page.
        content: an XPath to what a page is about: elements, or texts.
        script: what the text is written in.
    """

    name: str
    client: str
    package: str
    versions: tuple[str, str]
    folder: str
    content: str
    script: str = "Latin"


_DOCBOOK = "//body/div[not(starts-with(@class, 'nav')) and not(@id='banner')]"

SITES = (
    Site(
        "manual (Sphinx)", "pip", "SQLAlchemy", ("1.4.46", "1.4.54"), "doc", "//*[@id='docs-body']"
    ),
    Site(
        "manual (Markdown)", "npm", "npm", ("9.5.0", "10.8.2"), "docs/output", "//*[@id='content']"
    ),
    Site(
        "manual (AsciiDoc)",
        "apt-get",
        "git-doc",
        ("1:2.39.5-0+deb12u3", "1:2.47.3-0+deb13u1"),
        "usr/share/doc/git-doc",
        "//*[@id='content']",
    ),
    Site(
        "reference, short pages",
        "apt-get",
        "sqlite3-doc",
        ("3.40.1-2+deb12u2", "3.46.1-7+deb13u2"),
        "usr/share/doc/sqlite3/c3ref",
        "//body/node()[not(self::div[@class='nosearch']) and not(self::script)]",
    ),
    Site(
        "manual, made by hand",
        "apt-get",
        "sqlite3-doc",
        ("3.40.1-2+deb12u2", "3.46.1-7+deb13u2"),
        "usr/share/doc/sqlite3",
        "//body/node()[not(self::div[@class='nosearch']) and not(self::script)]",
    ),
    Site(
        "Javadoc, short pages",
        "apt-get",
        "libcommons-lang3-java-doc",
        ("3.11-1", "3.12.0-2+deb12u1"),
        "usr/share/doc/libcommons-lang3-java/api/org",
        "//main",
    ),
    Site(
        "handbook (DocBook)",
        "apt-get",
        "debian-handbook",
        ("10.20200619", "11.20220922"),
        "usr/share/doc/debian-handbook/html/zh-CN",
        _DOCBOOK,
        "Chinese",
    ),
    Site(
        "handbook (DocBook)",
        "apt-get",
        "debian-handbook",
        ("10.20200619", "11.20220922"),
        "usr/share/doc/debian-handbook/html/ru-RU",
        _DOCBOOK,
        "Cyrillic",
    ),
    Site(
        "guide (DocBook)",
        "apt-get",
        "installation-guide-amd64",
        ("20220129~deb11u1", "20230508+deb12u1"),
        "usr/share/doc/installation-guide-amd64/ja",
        _DOCBOOK,
        "Japanese",
    ),
)


def fetch(site: Site, version: str, folder: Path) -> Path:
    """Fetch and unpack a version of a site, unless that was done before.

    Returns:
        the folder of its pages.

    Raises:
        OSError: it can't be fetched, or has no such folder.
    """
    name = f"{site.package}-{version}".replace(":", "+")
    unpacked = folder / name
    if not unpacked.is_dir():
        incoming = folder / f"{name}.incoming"
        incoming.mkdir(parents=True, exist_ok=True)
        try:
            subprocess.run(_command(site, version), cwd=incoming, check=True, capture_output=True)
            _unpack(incoming)
        except (OSError, subprocess.SubprocessError, tarfile.TarError) as error:
            raise OSError(f"{site.package} {version} can't be fetched: {error}") from error
        incoming.rename(unpacked)
    found = [path for path in unpacked.rglob(site.folder.rpartition("/")[2]) if path.is_dir()]
    pages = [path for path in found if path.as_posix().endswith(f"/{site.folder}")]
    if not pages:
        raise OSError(f"{site.package} {version} has no folder {site.folder}")
    return min(pages, key=lambda path: len(path.parts))


def _command(site: Site, version: str) -> list[str]:
    if site.client == "pip":
        return [
            *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"),
            *("--no-binary", ":all:", f"{site.package}=={version}"),
        ]
    if site.client == "npm":
        return ["npm", "pack", "--silent", f"{site.package}@{version}"]
    return ["apt-get", "--quiet", "download", f"{site.package}={version}"]


def _unpack(folder: Path) -> None:
    for file in list(folder.iterdir()):
        if file.suffix == ".deb":
            subprocess.run(["dpkg-deb", "-x", file, folder], check=True, capture_output=True)
        else:
            with tarfile.open(file) as archive:
                archive.extractall(folder, filter="data")
        file.unlink()
