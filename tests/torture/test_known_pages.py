"""Crawls that ask for known pages, killed at random moments; then one that is left to end.

The model walks through the links of each site: what it finds must have been stored by crawls whose
feeds count.
"""

from __future__ import annotations

import json
import random
import shutil
import time
from pathlib import Path

import pytest
from random_site import Follows, RandomSite
from scrapy.crawler import CrawlerProcess
from torture.processes import HARD_KILL, kill, start
from validated_site import ValidatedSite, serve_validated

SITES = 10
ROUNDS = 4


def crawl(url: str, settings: dict[str, object]) -> None:
    process = CrawlerProcess(
        {
            "ADDONS": {"scrapy_simhash.Addon": 500},
            "SIMHASH_KNOWN": "drop",
            "SIMHASH_REVISIT": "conditional",
            "SIMHASH_TIMEOUT": 60,
            "TELNETCONSOLE_ENABLED": False,
            "RETRY_ENABLED": False,
            **settings,
        }
    )
    process.crawl(Follows, url=url, sites=SITES)
    process.start()


class Crawls:
    """The crawls of some sites, and what those that were not killed have stored."""

    def __init__(self, folder: Path, seed: str) -> None:
        self.draw, self.folder = random.Random(seed), folder
        self.all = ValidatedSite()
        self.sites = [RandomSite(number, f"{seed} {number}", self.all) for number in range(SITES)]
        self.stored: set[str] = set()
        self.count = self.saved = 0

    def run(self, *, killed: bool, job: Path | None = None) -> None:
        self.count += 1
        self.all.forget()
        feed = self.folder / f"{self.count}.jl"
        settings: dict[str, object] = {
            "SIMHASH_DATABASE_URL": f"sqlite:///{self.folder}/seen.db",
            "FEEDS": {str(feed): {"format": "jsonlines"}},
        }
        if job is not None:
            settings["JOBDIR"] = str(job)
        process = start(crawl, self.all.url, settings, log=feed.with_suffix(".log"))
        moment = self.draw.randint(1, len(self.all.pages))
        while killed and process.is_alive() and len(self.all.answers) < moment:
            time.sleep(0.01)
        if killed:
            time.sleep(self.draw.random() * 0.3)
        process.join(0 if killed else HARD_KILL)
        was_alive = process.is_alive()
        kill(process)
        assert killed or not was_alive, feed.with_suffix(".log").read_text()[-3000:]
        if was_alive and job is not None:
            # Scrapy may have left a part of it, for which it would wait.
            shutil.rmtree(job / "requests.queue", ignore_errors=True)
        if not was_alive:
            self.stored |= {json.loads(line)["title"] for line in feed.read_text().splitlines()}
        self.saved += len(self.all.asked(304))

    def missed(self) -> set[str]:
        return {text for site in self.sites for text in site.texts()} - self.stored

    def go_on(self) -> None:
        for site in self.sites:
            site.go_on()


@pytest.mark.parametrize("has_job", [False, True])
def test_nothing_is_missed(tmp_path, seeds, has_job):
    for seed in seeds():
        folder = tmp_path / str(seed)
        folder.mkdir()
        crawls = Crawls(folder, f"{seed} {has_job}")
        with serve_validated(crawls.all):
            if seed % 2:
                crawls.run(killed=False)
            for number in range(ROUNDS):
                job = folder / f"job{number}" if has_job else None
                for _ in range(crawls.draw.randint(1, 2)):
                    crawls.run(killed=True, job=job)
                    if crawls.draw.random() < 0.5:
                        crawls.go_on()
                if has_job:
                    crawls.run(killed=False, job=job)
                crawls.run(killed=False)
                assert not crawls.missed(), (seed, number)
                crawls.go_on()
            crawls.run(killed=False)
        assert not crawls.missed()
        assert crawls.saved > SITES
