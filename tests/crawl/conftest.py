"""The settings that the crawls of this folder start from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from servers import cleared_database
from visits import IN_ORDER

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def engine() -> str:
    """Tests that are parametrised over `engine` run on others too."""
    return "sqlite"


@pytest.fixture
def settings(engine: str, tmp_path: Path) -> dict[str, object]:
    url = cleared_database(engine, tmp_path).render_as_string(hide_password=False)
    return {"SIMHASH_DATABASE_URL": url, **IN_ORDER}
