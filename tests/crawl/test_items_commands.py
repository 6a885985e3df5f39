"""Scrapy's commands for looking at pages leave no trace."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hosts import proxied, serve_hosts
from site_pages import layout, paragraphs, story
from visits import claims_in

SPIDER = """
import scrapy

class Stories(scrapy.Spider):
    name = "stories"
    start_urls = ["http://news.example/1", "http://news.example/2"]

    def parse(self, response):
        '''@url http://news.example/1
        @returns items 1
        '''
        yield {"url": response.url, "title": response.css("h1::text").get()}
"""
URL = "http://news.example/1"
LOOKS = {
    "parse": ["parse", "--spider=stories", "--pipelines", "--noitems", URL],
    "fetch": ["fetch", URL],
    "check": ["check"],
    "list": ["list"],
    "shell": ["shell", URL, "-c", "response.css('h1::text').get()"],
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = newsroom.settings\n")
    (tmp_path / "newsroom").mkdir()
    (tmp_path / "newsroom/__init__.py").touch()
    (tmp_path / "newsroom/spiders.py").write_text(SPIDER)
    (tmp_path / "newsroom/settings.py").write_text(
        'BOT_NAME = "newsroom"\n'
        'SPIDER_MODULES = ["newsroom.spiders"]\n'
        'ADDONS = {"scrapy_simhash.Addon": 500}\n'
        f'SIMHASH_DATABASE_URL = "sqlite:///{tmp_path / "index.db"}"\n'
        "TELNETCONSOLE_ENABLED = False\n"
        'SHELL = "python"\n'
        'LOG_LEVEL = "INFO"\n'
    )
    return tmp_path


def test_looking_at_a_page_claims_nothing(project: Path) -> None:
    def run(*commands: list[str]) -> None:
        processes = [
            subprocess.Popen(
                [sys.executable, "-m", "scrapy", *command],
                cwd=project,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for command in commands
        ]
        outputs = [process.communicate(timeout=120)[0] for process in processes]
        for process, output in zip(processes, outputs, strict=True):
            assert process.returncode == 0, output
            assert not any(word in output for word in ("Traceback", "differs from what"))

    page = layout("news", "A heading of its own", paragraphs(*story("news", 240)))
    feed = project / "feed.jsonl"
    settings = {"SIMHASH_DATABASE_URL": f"sqlite:///{project / 'index.db'}"}
    with serve_hosts({"news.example": {"/1": page, "/2": page}}) as through:
        environment = proxied(through)
        run(*LOOKS.values())
        assert not (project / "index.db").exists()
        run(["crawl", "stories", "-o", str(feed)])
        (stored,) = map(json.loads, feed.read_text("utf-8").splitlines())
    assert stored["url"].startswith("http://news.example/")
    assert claims_in(settings) == 1
