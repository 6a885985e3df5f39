"""The examples of the page on deployment, run: cron's command, Scrapyd, scrapy-redis."""

from __future__ import annotations

import fcntl
import io
import json
import os
import re
import shlex
import socket
import subprocess
import sys
import time
import zipfile
from collections import Counter
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import Request, urlopen

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


# Scrapyd


def egg(files):
    """A project as scrapyd-deploy packs it."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
        archive.writestr("EGG-INFO/PKG-INFO", "Metadata-Version: 1.0\nName: project\nVersion: 1\n")
        archive.writestr("EGG-INFO/entry_points.txt", "[scrapy]\nsettings = news.settings\n")
    return packed.getvalue()


class Scrapyd:
    """Asks a Scrapyd."""

    def __init__(self, port):
        self._address = f"http://127.0.0.1:{port}"

    def ask(self, path, body=None, headers=None):
        request = Request(f"{self._address}/{path}", body, headers or {})
        with urlopen(request, timeout=120) as answer:
            reply = json.load(answer)
        assert reply["status"] == "ok", reply
        return reply

    def deploy(self, project, packed):
        fields = {"project": project.encode(), "version": b"1", "egg": packed}
        parts = [
            b'--part\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n'
            % (name.encode(), b'; filename="project.egg"' * (name == "egg"), value)
            for name, value in fields.items()
        ]
        kind = {"Content-Type": "multipart/form-data; boundary=part"}
        return self.ask("addversion.json", b"".join(parts) + b"--part--\r\n", kind)

    def run(self, project, job, **settings):
        asked = [("project", project), ("spider", "pages"), ("jobid", job)]
        asked += [("setting", f"{name}={value}") for name, value in settings.items()]
        self.ask("schedule.json", urlencode(asked).encode())

    def wait(self, project):
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            jobs = self.ask(f"listjobs.json?project={project}")
            if not jobs["pending"] and not jobs["running"]:
                return
            time.sleep(0.2)


@contextmanager
def scrapyd(folder, environment):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    write(
        folder,
        {
            "scrapyd.conf": f"[scrapyd]\nbind_address = 127.0.0.1\nhttp_port = {port}\n"
            "poll_interval = 0.2\nitems_dir = items\nmax_proc = 4\n"
        },
    )
    with (folder / "scrapyd.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "scrapyd"], cwd=folder, env=environment, stdout=log, stderr=log
        )
    try:
        asked = Scrapyd(port)
        for _ in range(300):
            try:
                asked.ask("daemonstatus.json")
            except OSError:
                assert process.poll() is None, (folder / "scrapyd.log").read_text()
                time.sleep(0.1)
            else:
                break
        yield asked
    finally:
        process.terminate()
        process.wait(timeout=60)


@pytest.mark.slow
@pytest.mark.skipif(
    not (find_spec("scrapyd") and find_spec("pkg_resources")),
    reason="scrapyd, and the setuptools that it needs, are not installed",
)
def test_on_scrapyd_a_project_has_an_index_that_the_next_job_and_the_command_find(
    project, environment, tmp_path, monkeypatch, call
):
    with scrapyd(tmp_path, environment) as daemon:
        assert daemon.deploy("news", egg(project))["spiders"] == 1
        daemon.run("news", "first")
        daemon.wait("news")
        daemon.run("news", "second", SIMHASH_KNOWN="drop")
        daemon.run("news", "wrong", SIMHASH_SIMILARITY=2)
        daemon.wait("news")
    place = tmp_path / ".scrapy" / "simhash" / "index-news.db"
    logs = tmp_path / "logs" / "news" / "pages"
    first, second, wrong = (
        (logs / f"{job}.log").read_text() for job in ("first", "second", "wrong")
    )
    assert f"Index {place}, namespace 'pages' with 0 stored items" in first
    with (tmp_path / "items" / "news" / "pages" / "first.jl").open() as feed:
        assert groups_of(feed) == once_each()
    assert f"Index {place}, namespace 'pages' with {GROUPS} stored items" in second
    assert f"{GROUPS * COPIES} items: 0 stored, " in second
    assert wrong.count("The crawl is not started: SIMHASH_SIMILARITY") == 1
    assert "Traceback" not in wrong
    assert "Process died: exitstatus=1" in (tmp_path / "scrapyd.log").read_text()
    # The command on the page, in the folder of Scrapyd.
    (line,) = (block for block in blocks("console") if block.endswith("simhash stats\n"))
    variable, *command = line.removeprefix("$ ").split()
    assert command == ["scrapy", "simhash", "stats"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(*variable.split("="))
    code, out, _ = call("stats", "--json")
    assert code == 0
    assert json.loads(out)["namespaces"][0]["size"] == GROUPS


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
