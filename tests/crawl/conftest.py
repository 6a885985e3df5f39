"""The settings that the crawls of this folder start from, and what they find."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from loopback import article, serve
from servers import cleared_database
from visits import IN_ORDER


@pytest.fixture
def engine() -> str:
    """Tests that are parametrised over `engine` run on others too."""
    return "sqlite"


@pytest.fixture
def settings(engine: str, tmp_path: Path) -> dict[str, object]:
    url = cleared_database(engine, tmp_path).render_as_string(hide_password=False)
    return {"SIMHASH_DATABASE_URL": url, **IN_ORDER}


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """For tests that look into the file themselves."""
    return tmp_path / "index.db"


@pytest.fixture(scope="module")
def site(request: pytest.FixtureRequest) -> Iterator[str]:
    """Articles at the PATHS of a module, from `loopback.in_batch`."""
    with serve({path: article(path.split("/")[1]) for path in request.module.PATHS}) as address:
        yield address


@pytest.fixture(scope="module")
def urls(request: pytest.FixtureRequest, site: str) -> list[str]:
    return [site + path for path in request.module.PATHS]
