from __future__ import annotations

import numpy as np
import pytest

from scrapy_simhash.features.distinct import among, distinct

SETS = [[], [3], [3, 3], [2, 1, 2, -5, 1 << 40, 1], list(range(50)) * 2]


@pytest.mark.parametrize("numbers", SETS)
def test_each_once_as_numpy_has_them(numbers):
    given = np.array(numbers, np.int64)
    found = distinct(np.sort(given))
    assert found.dtype == given.dtype
    assert found.tolist() == np.unique(given).tolist()


@pytest.mark.parametrize("others", SETS)
@pytest.mark.parametrize("numbers", SETS)
def test_which_are_among_others_as_numpy_has_it(numbers, others):
    given = np.array(numbers, np.int64)
    assert among(given, others).tolist() == np.isin(given, others).tolist()
