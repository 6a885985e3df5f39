"""What the README shows does what it says."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def test_python_block_runs_and_prints_what_its_comments_say(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    exec(compile(block, str(README), "exec"), {})
    _, kind, again = capsys.readouterr().out.splitlines()
    assert kind == "unique"
    assert again == "duplicate https://example.com/story"


def test_linked_files_exist():
    text = README.read_text("utf-8")
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert links
    missing = [
        link
        for link in links
        if not link.startswith("https:") and not (README.parent / link).exists()
    ]
    assert missing == []


def test_settings_page_has_every_setting_with_its_default():
    from scrapy_simhash.crawl.settings import DEFAULTS

    page = (README.parent / "docs" / "settings.md").read_text("utf-8")
    described = set(re.findall(r"SIMHASH_[A-Z_]+", page))
    assert set(DEFAULTS) <= described
    assert described <= set(DEFAULTS)
