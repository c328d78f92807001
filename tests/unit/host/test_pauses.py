"""Pauses between checks grow from a short one to the longest."""

from itertools import islice

import pytest

from redolake.host.pauses import growing_pauses


@pytest.mark.parametrize(
    ("most", "first", "pauses"),
    [(30, 1, [1, 2, 4, 8, 16, 30, 30]), (0.05, 1, [0.05, 0.05]), (2, 2, [2, 2]), (60, 0.5, [0.5, 1, 2])],
)
def test_pauses_double_up_to_the_longest(most, first, pauses):
    assert list(islice(growing_pauses(most, first), len(pauses))) == pauses
