"""Windows land once, in a chain, and the same redo always lands as the same window."""

from __future__ import annotations

import errno
import os
import resource
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from redolake.errors import FormatTooNew, InvariantBroken, LandingConflict, LandingUnwritable
from redolake.land import layout
from redolake.land.chain_rules import capture_starts
from redolake.land.files import Files
from redolake.land.landing import Landing
from redolake.records.codec import decode, encode, from_body, to_body
from redolake.records.single_quotes import DoubtfulWindows
from redolake.records.snapshots import RedoNeededFrom
from redolake.records.windows import SliceRecord, WindowManifest, doubtful_quote_rows, single_quote_rows
from redolake.values.scn import ChainPosition
from redolake.values.table import TableId
from tests.unit.land.redo_rows import FIRST, ONE, ORDERS, SECOND, TABLES, THREE, TWO, batch, frame, row, window, write


@pytest.fixture(params=["local", "memory", "s3"])
def url(request, tmp_path):
    if request.param == "s3":
        return f"s3://{request.getfixturevalue('bucket')}/landing"
    return str(tmp_path / "landing") if request.param == "local" else f"memory://{tmp_path.name}"


@pytest.fixture
def landing(url):
    return Landing(url, "shop")


def land(landing, of, previous_end=None, **how):
    return landing.windows.publish(of, [ORDERS], write(landing, of, **how), previous_end)


def test_a_manifest_contains_the_logs_counts_and_files(landing):
    manifest = land(landing, window())

    assert manifest.counts == {
        "* commit": 1, "* rollback": 1, "* start": 1, "SHOP.ORDERS delete": 1, "SHOP.ORDERS insert": 2, "SHOP.ORDERS update": 1,
    }  # fmt: skip
    assert [(g.thread, g.sequence) for g in manifest.logs] == [(1, 1), (1, 2), (2, 7)]
    assert manifest.files == ("redo-t1-00000.parquet", "redo-t1-00001.parquet")
    assert landing.windows.after() == [manifest]


@pytest.mark.parametrize("name", [TableId("SHOP", "Orders"), TableId("My Shop", "ORDERS"), TableId("SHOP", "A.B")], ids=str)
def test_ddl_is_recorded_under_its_tables_name_in_any_spelling(landing, name):
    """The object id is not known yet."""
    ddl = row(120, 5, owner=name.owner, table=name.name, object_id=9, sql_redo="drop table ...")

    manifest = landing.windows.publish(window(), [name], write(landing, window(), rows=([ddl], []), tables={4711: name}), None)

    assert [(d.owner, d.table, d.object_id) for d in manifest.ddl] == [(name.owner, name.name, 9)]
    assert manifest.counts == {f"{name} ddl": 1}


def test_rows_whose_quotes_are_single_are_counted(landing, caplog):
    texts = ("values ('it''s')", "values ('it's')", "values ('5 o'clock and it's')", "set \"A\" = 'x'", "values ('l'été')")
    rows = [row(120 + n, 3, sql_redo=text) for n, text in enumerate(texts)]

    manifest = landing.windows.publish(window(), [ORDERS], write(landing, window(), rows=(rows, [])), None)

    assert single_quote_rows(manifest) == 3
    assert "LogMiner left quotes inside values single in 3 row(s)" in caplog.text


def test_a_text_that_has_a_meaning_with_doubled_quotes_is_no_evidence(landing):
    texts = (
        "set \"O'BRIEN\" = 'x'",
        "values ('a\"b''c', 'd\"')",
        "values (N'x')",
        "values ('''5''''')",
        "set \"A\" = '5\" ''o''clock'",
    )
    rows = [row(120 + n, 3, sql_redo=text) for n, text in enumerate(texts)]

    manifest = landing.windows.publish(window(), [ORDERS], write(landing, window(), rows=(rows, [])), None)

    assert single_quote_rows(manifest) == 0
    assert doubtful_quote_rows(manifest) == {"SHOP.ORDERS": 3}
    assert landing.quotes.evidence() is None


@pytest.mark.parametrize("text", ["values ('it's')", "values ('5'')", "values ('5\" disk','it's 6\" disk')"])
def test_the_first_evidence_of_single_quotes_names_the_older_windows_with_two_readings(landing, text):
    doubtful = row(120, 3, sql_redo="values ('x''y')")
    first = landing.windows.publish(window(), [ORDERS], write(landing, window(), rows=([doubtful], [])), None)
    later = window(300, 400, [(THREE,)])
    second = landing.windows.publish(
        later, [ORDERS], write(landing, later, rows=([row(360, 3, thread=2, sequence=7, sql_redo=text)],)), 300
    )

    evidence = landing.quotes.evidence()

    assert evidence.window == second.name
    assert evidence.doubtful == {"SHOP.ORDERS": DoubtfulWindows(first.name, first.name, 1)}
    landing.files.remove(layout.SINGLE_QUOTES)
    assert landing.quotes.evidence() == evidence, "every later window knows it too"


def test_a_window_after_the_evidence_brings_it_back(landing):
    with_evidence = write(landing, window(), rows=([row(120, 3, sql_redo="values ('it's')")], []))
    landing.windows.publish(window(), [ORDERS], with_evidence, None)
    evidence = landing.quotes.evidence()
    later = window(300, 400, [(THREE,)])
    landing.windows.publish(later, [ORDERS], write(landing, later, rows=([row(360, 3, thread=2, sequence=7)],)), 300)
    landing.files.remove(layout.SINGLE_QUOTES)

    assert landing.quotes.evidence() == evidence


def test_rows_come_back_as_they_were_landed(tmp_path):
    landing = Landing(str(tmp_path), "shop")
    manifest = land(landing, window())

    found = pq.read_table(landing.windows.files_of(manifest)[0])

    assert found.to_pylist() == pa.Table.from_batches([batch(*FIRST)]).to_pylist()


def test_a_window_without_manifest_does_not_exist(landing):
    write(landing, window())

    assert landing.windows.after() == []
    assert landing.windows.manifest(window().name) is None


def test_a_second_run_over_the_same_redo_returns_the_manifest_of_the_first(landing, url):
    first = land(landing, window())

    second = land(Landing(url, "shop"), window(), token="t2")

    assert second == first


def test_a_second_run_that_found_other_rows_is_a_conflict(landing, url):
    land(landing, window())

    with pytest.raises(LandingConflict, match="row_hash"):
        land(Landing(url, "shop"), window(), rows=(FIRST[:-1], SECOND), token="t2")


def test_windows_land_only_where_the_chain_ends(landing):
    land(landing, window())

    with pytest.raises(LandingConflict, match="would leave a hole"):
        land(landing, window(350, 400, [(THREE,)]), 300, rows=((),))
    with pytest.raises(LandingConflict, match="planned when the chain ended at SCN 250"):
        land(landing, window(250, 400, [(THREE,)]), 250, rows=((),))
    with pytest.raises(LandingConflict, match="another window has its position"):
        land(landing, window(200, 300, [(TWO,)]), None, rows=((),))
    assert land(landing, window(300, 400, [(THREE,)]), 300, rows=((),)).start == 300
    assert [w.start for w in landing.windows.after()] == [100, 300]


def test_of_two_windows_with_different_ends_one_is_published(landing, url):
    other = Landing(url, "shop")
    longer = window(100, 400, [(ONE, TWO), (THREE,)])
    records = write(other, longer)
    land(landing, window())

    with pytest.raises(LandingConflict, match="another window has its position"):
        other.windows.publish(longer, [ORDERS], records, None)
    assert [w.end for w in other.windows.after()] == [300]


def test_the_window_of_a_writer_that_died_before_its_manifest_is_finished_by_the_next(tmp_path):
    landing = Landing(str(tmp_path), "shop")
    manifest = land(landing, window())
    Path(landing.files.location(f"windows/{manifest.name}/manifest.json")).unlink()

    assert Landing(str(tmp_path), "shop").windows.after() == [manifest]
    Path(landing.files.location(f"windows/{manifest.name}/manifest.json")).unlink()
    again = Landing(str(tmp_path), "shop")
    assert again.windows.publish(window(), [ORDERS], write(again, window(), token="t2"), None) == manifest


def test_the_hash_depends_neither_on_batches_nor_on_slices(tmp_path):
    def hash_of(name, slices, parts):
        landing, of = Landing(str(tmp_path), name), window(slices=slices)
        records = [
            landing.windows.write_slice(of, n, [batch(*rows) for rows in part], "t", tables=TABLES)
            for n, part in enumerate(parts)
        ]
        return landing.windows.publish(of, [ORDERS], records, None).identity()

    whole = hash_of("a", [(ONE, TWO), (THREE,)], [[FIRST], [SECOND]])
    one_row_each = hash_of("b", [(ONE, TWO), (THREE,)], [[[r] for r in FIRST], [[r] for r in SECOND]])
    a_log_each = hash_of("c", [(ONE,), (TWO,), (THREE,)], [[FIRST[:4]], [FIRST[4:]], [SECOND]])

    assert whole == one_row_each == a_log_each


@pytest.mark.parametrize(
    "change", [{"scn": 121}, {"rs_id": "0x9"}, {"ssn": 1}, {"xid": "1.2.4"}, {"operation_code": 3}, {"rollback": True}], ids=str
)
def test_the_hash_covers_every_part_of_a_rows_identity(tmp_path, change):
    hashes = set()
    for n, changed in enumerate(({}, change)):
        rows = ((FIRST[0], FIRST[1] | changed, *FIRST[2:]), SECOND)
        hashes.add(land(Landing(str(tmp_path), f"p{n}"), window(), rows=rows).row_hash)

    assert len(hashes) == 2


def test_a_table_renamed_or_dropped_between_two_runs_does_not_change_the_identity(tmp_path):
    renamed = ((FIRST[0], row(120, owner="UNKNOWN", table="OBJ# 4711"), row(130, 3, table="ORDERS_OLD"), *FIRST[3:]), SECOND)
    others = ((*FIRST, row(220, sequence=2, owner="UNKNOWN", table="OBJ# 99", object_id=99)), SECOND)
    identities = [land(Landing(str(tmp_path), f"p{n}"), window(), rows=r).identity() for n, r in enumerate((renamed, others))]

    assert identities[0] == identities[1]


def test_ddl_of_captured_tables_is_named_in_the_manifest(landing):
    ddl = row(220, 5, sequence=2, sql_redo="alter table orders add x number", info="USER DDL")
    other = row(221, 5, sequence=2, table="OTHER", object_id=3)

    manifest = land(landing, window(), rows=((*FIRST, ddl, other), SECOND))

    assert [(d.scn, d.owner, d.table, d.sql) for d in manifest.ddl] == [
        (220, "SHOP", "ORDERS", "alter table orders add x number")
    ]


def test_a_slice_record_is_read_as_it_was_written(landing):
    record = write(landing, window())[0]

    assert decode(SliceRecord, encode(record), "x") == record


def test_a_slice_record_of_a_newer_format_is_refused(landing):
    body = to_body(write(landing, window())[0]) | {"format": 99}

    with pytest.raises(FormatTooNew):
        from_body(SliceRecord, body, "x")


def test_a_window_is_not_published_without_all_its_slices(landing):
    records = write(landing, window())

    for wrong in (records[:1], [records[0], records[0]], [*records, records[1]]):
        with pytest.raises(InvariantBroken):
            landing.windows.publish(window(), [ORDERS], wrong, None)
    assert landing.windows.after() == []


def test_slices_mined_for_other_tables_are_not_published(landing):
    records = write(landing, window())

    with pytest.raises(LandingConflict, match=r"mined for SHOP\.ORDERS; the plan says SHOP\.ITEMS, SHOP\.ORDERS"):
        landing.windows.publish(window(), [ORDERS, TableId("SHOP", "ITEMS")], records, None)
    assert landing.windows.after() == []


def test_windows_with_the_same_tables_share_one_list_in_memory(landing, url):
    land(landing, window())
    land(landing, window(300, 400, [(THREE,)]), 300, rows=((),))

    first, second = Landing(url, "shop").windows.after()

    assert first.tables is second.tables


def test_windows_after_a_position_are_those_that_end_after_it(landing):
    first = land(landing, window())
    second = land(landing, window(300, 400, [(THREE,)]), 300, rows=((),))

    assert landing.windows.after(ChainPosition(11, 299)) == [first, second]
    assert landing.windows.after(ChainPosition(11, 300)) == [second]
    assert landing.windows.after(ChainPosition(12, 0)) == []
    assert landing.windows.names_after(ChainPosition(11, 300)) == [second.name]


@pytest.mark.parametrize(
    ("windows", "since"),
    [
        pytest.param([(1, 5, "AB"), (5, 9, "AB")], 1, id="named by all"),
        pytest.param([(1, 5, "AB"), (5, 9, "B"), (9, 12, "AB"), (12, 15, "AB")], 9, id="left out for one window"),
        pytest.param([(1, 5, "AB"), (5, 9, "B")], None, id="left out of the newest"),
        pytest.param([(1, 5, "AB"), (7, 9, "AB")], 7, id="windows that do not adjoin"),
        pytest.param([], None, id="nothing landed"),
    ],
)  # fmt: skip
def test_a_table_is_capture_start_the_last_adjoining_windows_that_name_it(windows, since):
    landed = [
        WindowManifest(7, 11, start, end, (), tuple(f"S.{t}" for t in tables), {}, "", (), ()) for start, end, tables in windows
    ]

    assert capture_starts(reversed(landed), [TableId("S", "A")]).get(TableId("S", "A")) == since


def test_no_window_is_read_beyond_the_position_that_is_asked_for():
    def newest_first():
        yield from (WindowManifest(7, 11, n, n + 5, (), ("S.A",), {}, "", (), ()) for n in (20, 15, 10))
        raise AssertionError("an older window was read")

    assert capture_starts(newest_first(), [TableId("S", "A")], ChainPosition(11, 12)).get(TableId("S", "A")) == 10


def test_a_window_of_an_older_incarnation_may_begin_after_the_scn_that_is_asked_for():
    """A prepared transaction may have begun before a RESETLOGS."""
    landed = [WindowManifest(7, n, start, end, (), ("S.A",), {}, "", (), ()) for n, start, end in ((2, 20, 23), (1, 15, 20))]

    assert capture_starts(landed, [TableId("S", "A")], ChainPosition(3, 17)).get(TableId("S", "A")) == 15


def test_a_failing_stream_leaves_no_file_under_its_name(tmp_path):
    def failing():
        yield batch(frame(110, 6))
        raise RuntimeError("fetch broke")

    landing = Landing(str(tmp_path), "shop")
    with pytest.raises(RuntimeError, match="fetch broke"):
        landing.windows.write_slice(window(), 0, failing(), "t", tables=TABLES)

    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


def test_a_record_is_written_once(landing):
    assert landing.files.write_record_once("batches/1.json", RedoNeededFrom(1)) is True
    assert landing.files.write_record_once("batches/1.json", RedoNeededFrom(1)) is False
    with pytest.raises(LandingConflict, match="with other content"):
        landing.files.write_record_once("batches/1.json", RedoNeededFrom(2))
    assert landing.files.read_record(RedoNeededFrom, "batches/1.json") == RedoNeededFrom(1)
    assert landing.files.read_record(RedoNeededFrom, "batches/2.json") is None
    assert landing.files.names("batches") == ["1.json"]


@pytest.mark.parametrize("in_the_way", ["shop", "shop/windows", "shop/chain"])
def test_an_unwritable_landing_is_an_error_with_path_and_cure(tmp_path, in_the_way):
    blocked = tmp_path / in_the_way
    blocked.parent.mkdir(exist_ok=True)
    blocked.write_text("in the way")

    with pytest.raises(LandingUnwritable) as caught:
        land(Landing(str(tmp_path), "shop"), window())
    assert in_the_way in str(caught.value.where["path"])
    assert "there is a file where a folder is needed" in caught.value.cure


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EXDEV, errno.EMLINK])
def test_a_file_system_without_hard_links_is_said(tmp_path, monkeypatch, number):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(LandingUnwritable) as caught:
        land(Landing(str(tmp_path), "shop"), window())

    assert "no hard links" in caught.value.cure


@contextmanager
def full_for_files_over(size):
    """Make the kernel refuse in the middle of a file (EFBIG), as it would for a full disk (ENOSPC)."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_an_error_and_leaves_no_file(tmp_path):
    landing = Landing(str(tmp_path), "shop")
    with full_for_files_over(1000), pytest.raises(LandingUnwritable, match="File too large") as caught:
        write(landing, window())
    assert "nothing was published" in caught.value.cure
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []

    records = write(landing, window())
    with full_for_files_over(100), pytest.raises(LandingUnwritable, match="File too large"):
        landing.windows.publish(window(), [ORDERS], records, None)
    assert landing.windows.after() == []
    assert {p.suffix for p in tmp_path.rglob("*") if p.is_file()} == {".parquet"}

    assert landing.windows.publish(window(), [ORDERS], records, None).files == (
        "redo-t1-00000.parquet",
        "redo-t1-00001.parquet",
    )


def test_a_file_that_is_not_json_is_a_conflict_that_names_it(tmp_path):
    files = Files(str(tmp_path))
    (tmp_path / "x.json").write_text("{")

    with pytest.raises(LandingConflict, match="is not JSON"):
        files.read_record(RedoNeededFrom, "x.json")


def test_windows_of_another_process_are_seen_without_another_listing(landing, url, monkeypatch):
    """Listings grow with the years, so a step lists the windows once."""

    def publish(where, start, previous_end):
        of = window(start, start + 100, slices=())
        return where.windows.publish(of, [ORDERS], [], previous_end)

    first, other = publish(landing, 100, None), Landing(url, "shop")
    assert landing.windows.after() == [first]
    more = [publish(other, 200, 200), publish(other, 300, 300)]
    listed, names = [], Files.names
    monkeypatch.setattr(Files, "names", lambda files, folder: listed.append(folder) or names(files, folder))

    assert landing.windows.after() == [first, *more]
    assert landing.chain_end().scn == 400
    assert listed == ["gaps"]


def test_a_landing_that_was_empty_sees_all_windows_that_others_land(landing, url):
    assert landing.windows.after() == []
    other = Landing(url, "shop")

    found = [other.windows.publish(window(at, at + 100, slices=()), [ORDERS], [], None) for at in (100, 200)]

    assert landing.windows.after() == found
