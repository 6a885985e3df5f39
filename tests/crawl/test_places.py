"""Where the index is by default: in a project, in a script's folder, on Scrapyd."""

from __future__ import annotations

import pytest
from scrapy.settings import Settings as ScrapySettings

from scrapy_simhash import Index
from scrapy_simhash.crawl.settings import Settings
from scrapy_simhash.exceptions import IndexUnusable


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder without a scrapy.cfg, in which the process runs."""
    monkeypatch.delenv("SCRAPY_SETTINGS_MODULE", raising=False)
    monkeypatch.delenv("SCRAPY_PROJECT", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def place(**given):
    return Settings.read(ScrapySettings(given)).locate_database(make_folder=True).database


def deploy(monkeypatch, project):
    """As Scrapyd runs it: the settings can be imported, and there is no scrapy.cfg."""
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "scrapy.settings.default_settings")
    monkeypatch.setenv("SCRAPY_PROJECT", project)


def test_in_a_project_it_is_in_the_folder_of_its_data_wherever_the_crawl_is_started(
    folder, monkeypatch
):
    (folder / "scrapy.cfg").write_text("[settings]\n")
    (folder / "news" / "spiders").mkdir(parents=True)
    monkeypatch.chdir(folder / "news" / "spiders")
    # Chooses among the settings of the scrapy.cfg: one project, one index.
    monkeypatch.setenv("SCRAPY_PROJECT", "other")
    assert place() == str(folder / ".scrapy" / "simhash" / "index.db")
    assert not (folder / "news" / "spiders" / ".scrapy").exists()


@pytest.mark.parametrize("module", ["", "scrapy.settings.default_settings"])
def test_without_a_scrapy_cfg_it_is_in_the_folder_where_a_script_runs(folder, monkeypatch, module):
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", module)
    assert place() == str(folder / ".scrapy" / "simhash" / "index.db")


def test_the_projects_of_a_scrapyd_do_not_share_one(folder, monkeypatch):
    places = []
    for project in ("news", "shop", "../news"):
        deploy(monkeypatch, project)
        places.append(place())
    own = folder / ".scrapy" / "simhash"
    assert places == [str(own / f"index-{name}.db") for name in ("news", "shop", "..%2Fnews")]


@pytest.mark.parametrize("project", [None, "news"])
def test_commands_find_what_a_crawl_has_made_in_the_same_folder(folder, monkeypatch, call, project):
    if project:
        deploy(monkeypatch, project)
    code, _, err = call("stats")
    assert code == 2
    assert f"there is no database {place()}; crawl first" in err
    with Index(f"sqlite:///{place()}", namespace="news"):
        pass
    code, out, err = call("stats", "--json")
    assert (code, err) == (0, "")
    assert '"name": "news"' in out


def test_a_folder_that_can_not_be_made_is_named_with_the_setting(folder):
    (folder / ".scrapy").write_text("no folder")
    with pytest.raises(IndexUnusable, match=rf"{folder}/.scrapy/simhash.*SIMHASH_DATABASE_URL"):
        place()
    # Who names a database needs no folder.
    assert place(SIMHASH_DATABASE_URL="sqlite:///elsewhere.db") == "elsewhere.db"
