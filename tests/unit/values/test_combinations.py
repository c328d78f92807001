from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redolake.values import combinations as module
from redolake.values.combinations import combinations

rows = st.lists(st.tuples(st.sampled_from([None, "a", "b", "é"]), st.sampled_from([None, 1, 2, 2**62]), st.booleans()))


@pytest.mark.parametrize("largest", [2**31, 3])
@given(rows)
def test_rows_have_one_number_if_and_only_if_their_values_are_equal(largest, rows):
    columns = [pa.array([row[n] for row in rows], kind) for n, kind in enumerate([pa.large_string(), pa.int64(), pa.bool_()])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LARGEST", largest)
        numbers, first = combinations(columns)

    assert [rows[first[number]] for number in numbers] == rows
    assert len(first) == len(set(rows))
    assert first.tolist() == sorted(rows.index(row) for row in set(rows))
