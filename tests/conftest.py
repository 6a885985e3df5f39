"""What tests of several folders use."""

from __future__ import annotations

import pytest
from scrapy.cmdline import execute
from scrapy.settings import Settings


@pytest.fixture
def call(capsys):
    """Call the command; gives its exit code, standard output and standard error."""

    def call(*arguments, **given):
        with pytest.raises(SystemExit) as ended:
            execute(["scrapy", "simhash", *map(str, arguments)], Settings(given))
        out, err = capsys.readouterr()
        return ended.value.code, out, err

    return call
