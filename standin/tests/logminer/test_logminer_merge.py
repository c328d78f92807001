"""Records of several redo threads in one order."""

from hypothesis import given
from hypothesis import strategies as st

from standin.logminer.merge import merged
from standin.redo_file import Op, RedoRecord, to_batch

THREADS = st.lists(st.lists(st.lists(st.integers(0, 30), max_size=5), max_size=4), min_size=1, max_size=3)


@given(THREADS)
def test_merging_keeps_all_records_and_each_threads_order(threads):
    streams = [
        iter([to_batch([RedoRecord(scn, Op.COMMIT, (0, 0, 0), thread=number) for scn in batch]) for batch in batches])
        for number, batches in enumerate(threads)
    ]

    rows = [
        row for batch in merged(streams) for row in zip(*(batch.column(n).to_pylist() for n in ("thread", "scn")), strict=True)
    ]

    for number, batches in enumerate(threads):
        assert [scn for thread, scn in rows if thread == number] == [scn for batch in batches for scn in batch]


@given(st.lists(st.lists(st.integers(0, 30)).map(sorted), min_size=2, max_size=3))
def test_ordered_threads_merge_to_one_ordered_stream(threads):
    streams = [iter([to_batch([RedoRecord(scn, Op.COMMIT, (0, 0, 0)) for scn in scns])]) for scns in threads]

    scns = [scn for batch in merged(streams) for scn in batch.column("scn").to_pylist()]

    assert scns == sorted(scn for thread in threads for scn in thread)
