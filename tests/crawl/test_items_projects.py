"""Projects of people who know nothing of duplicates: nothing is lost, and copies are found."""

from __future__ import annotations

import pytest
from hosts import serve_hosts
from loopback import crawl
from projects.forum import forum
from projects.manual import manual
from projects.shop import shop
from scrapy.utils.defer import deferred_f_from_coro_f
from visits import claims_in, on_both_engines

PROJECTS = {"shop": shop, "forum": forum, "manual": manual}


@pytest.fixture(params=PROJECTS)
def project(request):
    return PROJECTS[request.param]()


@deferred_f_from_coro_f
async def test_without_a_verdict_each_item_of_the_truth_is_delivered(settings, project):
    settings = settings | {"SIMHASH_ENABLED": False}
    with serve_hosts(project.hosts) as through:
        done = await crawl(project.spider, settings | through)
    assert project.score(done.items).kept == project.things
    assert done.errors == 0


@on_both_engines
@deferred_f_from_coro_f
async def test_each_visit_keeps_every_thing_and_no_copy(settings, project):
    with serve_hosts(project.hosts) as through:
        first = await crawl(project.spider, settings | through)
        score = project.score(first.items)
        assert score[:3] == ([], [], [])
        claims = claims_in(settings)
        again = await crawl(project.spider, settings | through)
    assert project.score(again.items) == score
    assert claims_in(settings) == claims
    assert (first.errors, again.errors) == (0, 0)


@pytest.mark.parametrize("project", ["shop", "forum"], indirect=True)
@deferred_f_from_coro_f
async def test_many_requests_at_a_time_lose_nothing_either(settings, project):
    """Not where a mirror could come first: what it has is a copy of either version."""
    settings = settings | {"CONCURRENT_REQUESTS": 16}
    with serve_hosts(project.hosts) as through:
        for _ in range(2):
            done = await crawl(project.spider, settings | through)
            assert project.score(done.items)[:3] == ([], [], [])
