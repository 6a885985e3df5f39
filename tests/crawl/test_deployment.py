"""The examples of the page on deployment, run: the command of cron, scrapy-redis."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import socket
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest
from loopback import in_batch
from scrapy.settings import Settings as ScrapySettings

from scrapy_simhash.crawl.settings import Settings

PAGE = (Path(__file__).parents[2] / "docs" / "deployment.md").read_text("utf-8")
GROUPS, COPIES = 8, 3
PATHS = in_batch(GROUPS, COPIES)
REDIS = ("127.0.0.1", 6379)

SPIDER = """
import scrapy

class Pages(scrapy.Spider):
    name = "pages"
    start_urls = {urls!r}

    def parse(self, response):
        yield {{"url": response.url}}
"""
SETTINGS = """
ADDONS = {"scrapy_simhash.Addon": 500}
SPIDER_MODULES = ["news.spiders"]
TELNETCONSOLE_ENABLED = False
SIMHASH_TIMEOUT = 60
"""


def blocks(language):
    found = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found
    return found


@pytest.fixture
def project(urls):
    """The files of a project."""
    return {
        "news/__init__.py": "",
        "news/settings.py": SETTINGS,
        "news/spiders.py": SPIDER.format(urls=urls),
    }


@pytest.fixture
def environment(monkeypatch):
    for name in ("SCRAPY_SETTINGS_MODULE", "SCRAPY_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def write(folder, files):
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def groups_of(feed):
    """How often each text was kept."""
    return Counter(json.loads(line)["url"].split("/")[3] for line in feed)


def once_each():
    return Counter({str(group): 1 for group in range(GROUPS)})


# The page


@pytest.mark.parametrize("block", blocks("python"), ids=lambda block: block.split(maxsplit=1)[0])
def test_settings_on_the_page_are_accepted(block, monkeypatch):
    monkeypatch.setenv("SIMHASH_DATABASE_URL", "sqlite://")
    shown = {}
    exec(block, shown)
    given = {name: value for name, value in shown.items() if name.isupper()}
    read = Settings.read(ScrapySettings(given))
    names = [name for name in given if name.startswith("SIMHASH_")]
    assert all(getattr(read, name.removeprefix("SIMHASH_").lower()) for name in names)


# cron


def test_the_line_for_cron_crawls_unless_the_crawl_before_is_still_running(
    project, environment, tmp_path
):
    write(tmp_path, {**project, "scrapy.cfg": "[settings]\ndefault = news.settings\n"})
    (line,) = blocks("sh")
    command = line.split(maxsplit=5)[5]
    for shown, used in (
        ("/srv/news", shlex.quote(str(tmp_path))),
        ("/tmp/news.lock", shlex.quote(str(tmp_path / "lock"))),
        ("scrapy crawl news", f"{shlex.quote(sys.executable)} -m scrapy crawl pages"),
    ):
        assert shown in command
        command = command.replace(shown, used)

    def run():
        shell = ["/bin/sh", "-c", command]
        return subprocess.run(shell, env=environment, capture_output=True, check=False, timeout=120)

    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert run().returncode == 1
    assert not (tmp_path / "news.jl").exists()
    done = run()
    assert (done.returncode, done.stderr) == (0, b""), "cron has nothing to mail"
    assert groups_of((tmp_path / "news.jl").read_text().splitlines()) == once_each()
    assert (tmp_path / ".scrapy" / "simhash" / "index.db").exists()


# scrapy-redis


def redis_answers():
    try:
        with socket.create_connection(REDIS, timeout=2):
            return True
    except OSError:
        return False


WORKER = """
from scrapy_redis.spiders import RedisSpider

class Pages(RedisSpider):
    name = "pages"
    redis_key = "{prefix}:start"
    custom_settings = {settings!r}

    def parse(self, response):
        yield {{"url": response.url}}
"""


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("scrapy_redis"), reason="scrapy-redis is not installed")
@pytest.mark.skipif(not redis_answers(), reason="no Redis answers on 127.0.0.1:6379")
def test_workers_that_share_a_queue_and_an_index_keep_each_text_once(urls, environment, tmp_path):
    from redis import Redis

    shown = next(block for block in blocks("python") if "scrapy_redis" in block)
    settings = {}
    exec(shown, settings)
    settings = {name: value for name, value in settings.items() if name.isupper()}
    prefix = f"simhash-test-{os.getpid()}"
    settings |= {
        "SIMHASH_DATABASE_URL": f"sqlite:///{tmp_path / 'index.db'}",
        "SIMHASH_TIMEOUT": 60,
        "MAX_IDLE_TIME_BEFORE_CLOSE": 3,
        "SCHEDULER_QUEUE_KEY": f"{prefix}:requests",
        "SCHEDULER_DUPEFILTER_KEY": f"{prefix}:seen",
        "REDIS_ITEMS_KEY": f"{prefix}:items",
        "REDIS_URL": "redis://{}:{}".format(*REDIS),
        # Neither is done before the other has begun.
        "CONCURRENT_REQUESTS": 1,
        "DOWNLOAD_DELAY": 0.1,
        "TELNETCONSOLE_ENABLED": False,
    }
    write(tmp_path, {"worker.py": WORKER.format(prefix=prefix, settings=settings)})
    redis = Redis(*REDIS)
    try:
        redis.lpush(f"{prefix}:start", *(json.dumps({"url": url}) for url in urls))
        workers = [
            subprocess.Popen(
                [sys.executable, "-m", "scrapy", "runspider", "worker.py"],
                cwd=tmp_path,
                env=environment,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(2)
        ]
        logs = [worker.communicate(timeout=180)[1] for worker in workers]
        items = redis.lrange(f"{prefix}:items", 0, -1)
    finally:
        redis.delete(*(f"{prefix}:{name}" for name in ("start", "requests", "seen", "items")))
        redis.close()
    assert groups_of(items) == once_each(), logs
    assert [worker.returncode for worker in workers] == [0, 0]
    last = [re.search(r"(\d+) items: (\d+) stored", log) for log in logs]
    assert sum(int(line[1]) for line in last) == GROUPS * COPIES
    assert sum(int(line[2]) for line in last) == GROUPS
