"""Known pages of a manual that nginx or Apache serves, compressed or not."""

from __future__ import annotations

import os
import shutil

import pytest
from loopback import crawl, prose
from scrapy import Spider
from scrapy.utils.defer import deferred_f_from_coro_f

from benchmarks.recrawl import served

APACHE = """
ServerName localhost
ServerRoot {folder}
DefaultRuntimeDir {folder}
Listen 127.0.0.1:{port}
PidFile {folder}/apache.pid
ErrorLog {folder}/error.log
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule mime_module /usr/lib/apache2/modules/mod_mime.so
LoadModule deflate_module /usr/lib/apache2/modules/mod_deflate.so
LoadModule filter_module /usr/lib/apache2/modules/mod_filter.so
TypesConfig /etc/mime.types
DocumentRoot {site}
AddOutputFilterByType DEFLATE text/html
"""
SERVERS = {
    "nginx": {},
    "apache2": {"command": ("apache2", "-D", "FOREGROUND", "-f"), "configuration": APACHE},
}
PAGES = 20


class Manual(Spider):
    name = "manual"

    def __init__(self, url: str):
        super().__init__()
        self.start_urls = [f"{url}index.html"]

    def parse(self, response):
        yield {"url": response.url, "title": response.css("title::text").get()}
        yield from response.follow_all(css="li a")


def write(path, text, links=()):
    listed = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    body = f"<ul>{listed}</ul><article><p>{text}</p></article>"
    path.write_text(f"<!DOCTYPE html><title>{path.stem}</title>{body}")
    # Some time ago: within one second a page may have two versions.
    os.utime(path, (1_790_000_000, 1_790_000_000))


@pytest.mark.parametrize("name", SERVERS)
@deferred_f_from_coro_f
async def test_one_page_of_a_manual_has_changed(name, settings, tmp_path):
    if not shutil.which(name):
        pytest.skip(f"{name} is not installed")
    site = tmp_path / "site"
    site.mkdir()
    links = [f"page{number}.html" for number in range(PAGES)]
    write(site / "index.html", "Contents of this manual.", links)
    for link in links:
        write(site / link, prose(link))
    given = {**settings, "SIMHASH_KNOWN": "drop", "SIMHASH_REVISIT": "conditional"}
    # The process that reads the files is the server's.
    os.chmod(tmp_path, 0o755)  # noqa: PTH101
    with served(site, **SERVERS[name]) as url:
        first = await crawl(Manual, given, url=url)
        assert len(first.items) == PAGES + 1
        changed = site / "page7.html"
        write(changed, prose("another text"))
        os.utime(changed, (1_790_000_100, 1_790_000_100))
        second = await crawl(Manual, given, url=url)
    assert second.urls == ["/page7.html"]
    assert second.stats["revisit/not_modified"] == PAGES
    assert second.stats["revisit/known"] == PAGES + 1
