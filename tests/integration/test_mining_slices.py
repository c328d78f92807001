"""Mining and landing with the unmodified driver: rows of a slice, faults that stop it, identical results of a second run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from redolake.config import WindowLimits
from redolake.config.limits import Retry
from redolake.errors import MiningIncomplete, RedoLost, RedoNotUnderstood, SourceUnavailable
from redolake.land.landing import Landing
from redolake.mine.copies import mine_from_any_copy
from redolake.mine.mining import mine_slice
from redolake.source.connection import ConnectParams
from redolake.source.dictionary import read_tables
from redolake.source.facts import read_current_scn, read_redo_facts
from redolake.source.oracle import open_source
from redolake.values.landed_schema import LANDED_SCHEMA
from redolake.values.redo import Position
from redolake.values.scn import Scn
from redolake.values.table import TableId
from redolake.window import Sealed, plan_window
from standin.logminer import contents
from standin.serve import standin

PDB = "FREEPDB1"
ITEMS, NOTES = TableId("SHOP", "ITEMS"), TableId("SHOP", "NOTES")


class MiningSource:
    """A stand-in with two redo threads and two destinations, with the stages that mine and land its redo."""

    def __init__(self, oracle):
        self.oracle = oracle
        user = oracle.capture_user
        self.params = ConnectParams(user, oracle.passwords[user], oracle.root_dsn)
        self.known = {}

    def open(self):
        return open_source(
            self.params, call_timeout_seconds=60, retry=Retry(initial_seconds=0.01, max_seconds=0.01, attempts=1)
        )

    def run(self, *statements, user="SHOP", commit=True, **connect):
        with self.oracle.connect(user, **connect) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            connection.commit() if commit else connection.rollback()

    def scn(self):
        with self.open() as source:
            return read_current_scn(source)

    def seal(self):
        self.run("ALTER SYSTEM ARCHIVE LOG CURRENT", user="SYS")

    def window(self, start, slice_bytes=2**30):
        """Return the window from `start` to the newest archived log."""
        with self.open() as source:
            facts = read_redo_facts(source)
        current = next(i for i in facts.incarnations if i.status == "CURRENT")
        limits = WindowLimits(max_bytes=2**40, slice_bytes=slice_bytes)
        planned = plan_window(Position(facts.dbid, current.resetlogs_id, Scn(start)), facts, limits)
        assert isinstance(planned, Sealed), planned
        return planned.window

    def ids(self, *tables):
        if tables not in self.known:
            with self.open() as source:
                read = read_tables(source, tables or (ITEMS,), PDB)
            self.known[tables] = {found.object_id: table for table, found in read.items()}
        return self.known[tables]

    def mining(self, source, window, logs, tables=(ITEMS,), fetch_rows=7):
        ids = frozenset(self.ids(*tables))
        return mine_slice(source, logs, window, tables=tables, object_ids=ids, container=PDB, fetch_rows=fetch_rows)

    def mine(self, window, **how):
        """Return all rows of the window, slice by slice."""
        rows = []
        for logs in window.slices:
            with self.open() as source:
                rows += pa.Table.from_batches(list(self.mining(source, window, logs, **how)), LANDED_SCHEMA).to_pylist()
        return rows

    def land(self, landing, window, *, meddle=lambda source: None, **how):
        """Land the window as the steps do; `meddle` gets each attempt's source before it mines."""
        ids = self.ids()

        def attempt(log_set):
            with self.open() as source:
                meddle(source)
                work = self.mining(source, window, log_set, **how)
                record = landing.windows.write_slice(window, log_set.own.number, work, uuid4().hex, tables=ids, names=[ITEMS])
            return replace(record, circumstance={**record.circumstance, **work.facts.as_json()})

        records = [mine_from_any_copy(logs, attempt, self.archived) for logs in window.slices]
        return landing.windows.publish(window, [ITEMS], records, None)

    def archived(self):
        with self.open() as source:
            return read_redo_facts(source).archived


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    destinations = tuple(tmp_path_factory.mktemp(name) for name in ("one", "two"))
    with standin(threads=2, destinations=destinations) as oracle:
        made = MiningSource(oracle)
        made.run(
            "CREATE TABLE items (id NUMBER(10) PRIMARY KEY, name VARCHAR2(4000))",
            "CREATE TABLE other (id NUMBER(10) PRIMARY KEY)",
            "CREATE TABLE notes (id NUMBER(10) PRIMARY KEY, note CLOB)",
            "ALTER TABLE items ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
            "ALTER TABLE notes ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        )
        made.seal()
        yield made


@pytest.fixture
def start(shop):
    """Return the end of the archived redo; the table is empty."""
    shop.run("DELETE FROM items")
    shop.seal()
    with shop.open() as source:
        return max(log.next_scn for log in read_redo_facts(source).archived)


def changes(rows):
    return [(r["operation"], r["rollback"], r["sql_redo"]) for r in rows if r["table_name"] is not None]


def test_changes_keep_the_order_and_text_of_the_redo(shop, start):
    shop.run(
        "INSERT INTO items VALUES (1, 'it''s')",
        "INSERT INTO other VALUES (1)",
        "UPDATE items SET name = NULL WHERE id = 1",
        "DELETE FROM items WHERE id = 1",
    )
    shop.run("INSERT INTO items VALUES (2, 'undone')", commit=False)
    shop.run("DELETE FROM other")
    shop.seal()

    rows = shop.mine(shop.window(start))

    assert changes(rows)[:4] == [
        ("INSERT", False, """insert into "SHOP"."ITEMS"("ID","NAME") values ('1','it''s')"""),
        ("UPDATE", False, """update "SHOP"."ITEMS" set "NAME" = NULL where "ID" = '1' and "NAME" = 'it''s'"""),
        ("DELETE", False, """delete from "SHOP"."ITEMS" where "ID" = '1' and "NAME" IS NULL"""),
        ("INSERT", False, """insert into "SHOP"."ITEMS"("ID","NAME") values ('2','undone')"""),
    ]
    undone, undo = [r for r in rows if r["table_name"] is not None][3:]
    assert (undo["operation"], undo["rollback"], undo["row_id"]) == ("DELETE", True, undone["row_id"])
    ends = [r["operation"] for r in rows if r["operation"] in ("COMMIT", "ROLLBACK")]
    assert ends == ["COMMIT", "ROLLBACK", "COMMIT"]
    assert {r["con_name"] for r in rows} == {PDB}


def test_long_statements_are_complete_for_every_fetch_size(shop, start):
    text = "é''" * 1000
    shop.run(*(f"INSERT INTO items VALUES ({n}, '{text}')" for n in range(4)))
    shop.seal()
    window = shop.window(start)

    for fetch_rows in (1, 2, 100):
        found = [sql for _, _, sql in changes(shop.mine(window, fetch_rows=fetch_rows))]
        assert found == [f"""insert into "SHOP"."ITEMS"("ID","NAME") values ('{n}','{text}')""" for n in range(4)]


def test_the_landed_identity_does_not_depend_on_slices_and_fetch_size(shop, start, tmp_path):
    instances = [thread.instance for thread in shop.oracle.database.state.threads.values()]
    for n in range(2):
        for instance in instances:
            shop.run(*(f"INSERT INTO items VALUES ({i}, '{instance}')" for i in range(3)), instance_name=instance)
            shop.run("DELETE FROM items", instance_name=instance)
        if n < 1:
            shop.seal()
    shop.seal()

    identities = [
        shop.land(Landing(str(tmp_path), f"p{n}"), shop.window(start, slice_bytes), fetch_rows=fetch_rows).identity()
        for n, (slice_bytes, fetch_rows) in enumerate(((2**30, 1000), (1, 2)))
    ]

    assert identities[0] == identities[1]
    assert identities[0]["counts"]["SHOP.ITEMS insert"] == 12
    assert {log["thread"] for log in identities[0]["logs"]} == {1, 2}


def test_a_window_contains_only_rows_with_its_scns(shop, start):
    shop.run("INSERT INTO items VALUES (1, 'before')")
    middle = shop.scn() + 1
    shop.run("INSERT INTO items VALUES (2, 'after')")
    shop.seal()
    whole = shop.window(start)

    first = replace(whole, scns=replace(whole.scns, end=Scn(middle)))
    second = replace(whole, scns=replace(whole.scns, start=Scn(middle)))

    assert [sql[-9:] for _, _, sql in changes(shop.mine(first))] == ["'before')"]
    assert [sql[-8:] for _, _, sql in changes(shop.mine(second))] == ["'after')"]
    assert sorted(r["rs_id"] for r in shop.mine(first) + shop.mine(second)) == sorted(r["rs_id"] for r in shop.mine(whole))


def files_of(window):
    return [[Path(c.name) for c in log.copies] for logs in window.slices for log in logs.logs]


def test_a_removed_file_is_replaced_by_the_other_destinations_copy(shop, start):
    shop.run("INSERT INTO items VALUES (1, 'x')")
    shop.seal()
    window = shop.window(start)
    expected = shop.mine(window)
    for first, _ in files_of(window):
        first.unlink()

    with shop.open() as source:
        work = shop.mining(source, window, window.slices[0])
        list(work)

    assert set(work.facts.destinations.values()) == {2}
    assert shop.mine(window) == expected


def test_a_log_without_any_copy_is_lost_and_the_session_remains_usable(shop, start):
    shop.run("INSERT INTO items VALUES (1, 'x')")
    shop.seal()
    window = shop.window(start)
    gone = window.slices[0].logs[-1]
    kept = {copy.name: Path(copy.name).read_bytes() for copy in gone.copies}
    for name in kept:
        Path(name).unlink()

    with shop.open() as source:
        with pytest.raises(RedoLost, match=f"sequence {gone.sequence} is not available") as caught:
            list(shop.mining(source, window, window.slices[0]))
        assert all(name in str(caught.value.where["tried"]) for name in kept)

        for name, body in kept.items():
            Path(name).write_bytes(body)
        assert list(shop.mining(source, window, window.slices[0]))


def filled(shop, start, logs=1):
    """Return a window with rows in `logs` logs of thread 1, and the slice of that thread."""
    for n in range(logs):
        shop.run(*(f"INSERT INTO items VALUES ({n * 1000 + i}, '{'x' * 500}')" for i in range(20)))
        shop.seal()
    window = shop.window(start)
    return window, next(s for s in window.slices if s.thread == 1)


def nothing_landed(landing, tmp_path, window):
    return landing.windows.manifest(window.name) is None and list(tmp_path.rglob("*.parquet*")) == []


def other_log(shop, log):
    """Return the content of an older log of the same thread."""
    older = [g for g in shop.archived() if g.thread == log.thread and g.sequence < log.sequence]
    return Path(older[-1].copies[0].name).read_bytes()


DAMAGES = {
    "deleted": lambda file, other: file.unlink(),
    "cut short": lambda file, other: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2]),
    "cut in its header": lambda file, other: file.write_bytes(file.read_bytes()[:100]),
    "empty": lambda file, other: file.write_bytes(b""),
    "overwritten by another sequence": lambda file, other: file.write_bytes(other),
    "garbage": lambda file, other: file.write_bytes(b"\x00" * 4096),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_copy_damaged_before_mining_is_replaced_and_nothing_lands_without_another(shop, start, tmp_path, damage):
    window, slice_ = filled(shop, start)
    whole = shop.land(Landing(str(tmp_path / "whole"), "p"), window).identity()
    log = slice_.logs[-1]
    other = other_log(shop, log)
    first, second = (Path(copy.name) for copy in log.copies)

    damage(first, other)
    damaged = shop.land(Landing(str(tmp_path / "one"), "p"), window)

    assert damaged.identity() == whole
    damage(second, other)
    landing = Landing(str(tmp_path / "none"), "p")
    with pytest.raises(RedoLost, match=f"Redo Thread 1 is inconsistent; an archive log with sequence {log.sequence}") as caught:
        shop.land(landing, window)
    assert all(str(file) in caught.value.where["tried"] for file in (first, second))
    assert nothing_landed(landing, tmp_path / "none", window)


@pytest.mark.parametrize("damage", ["deleted", "cut short", "overwritten by another sequence"])
@pytest.mark.parametrize("moment", ["add_logfile", "start_logmnr"])
def test_a_copy_damaged_during_the_session_is_detected_and_replaced(shop, start, tmp_path, damage, moment):
    window, slice_ = filled(shop, start, logs=2)
    whole = shop.land(Landing(str(tmp_path / "whole"), "p"), window).identity()
    log = slice_.logs[0]
    other, left = other_log(shop, log), [Path(log.copies[0].name)]

    def meddle(source):
        call = source.call

        def damaging(name, **binds):
            call(name, **binds)
            if name == moment and left:
                DAMAGES[damage](left.pop(), other)

        source.call = damaging

    landed = shop.land(Landing(str(tmp_path / "p"), "p"), window, meddle=meddle)

    assert landed.identity() == whole
    assert left == []


def test_a_gap_in_the_list_of_logs_is_an_error(shop, start):
    window, slice_ = filled(shop, start, logs=3)
    holed = replace(slice_, logs=(slice_.logs[0], slice_.logs[-1]))

    with shop.open() as source, pytest.raises(MiningIncomplete) as caught:
        list(shop.mining(source, window, holed))
    assert f"sequence number(s) {slice_.logs[1].sequence}" in caught.value.where["missing"]


def cutting(monkeypatch, sequence):
    """Let LogMiner complete the rows of a log only with the next log."""
    whole = contents.read_contents

    def read(mined, *rest):
        complete = sequence + 1 in {log.header.sequence for log in mined.logs}
        for batch in whole(mined, *rest):
            if not complete and "STATUS" in batch.schema.names:
                cut = pc.and_(pc.equal(batch["RBASQN"], sequence), pc.equal(batch["OPERATION_CODE"], 1))
                at = batch.schema.get_field_index("STATUS")
                batch = batch.set_column(at, "STATUS", pc.if_else(cut, pa.scalar(5, pa.int64()), batch["STATUS"]))
            yield batch

    monkeypatch.setattr(contents, "read_contents", read)


def test_a_row_cut_at_the_edge_of_a_slice_is_landed_complete_with_its_slice(shop, start, tmp_path, monkeypatch):
    filled(shop, start, logs=3)
    window = shop.window(start, slice_bytes=1)
    whole = shop.land(Landing(str(tmp_path / "whole"), "p"), window, fetch_rows=5).identity()
    edge = next(s for s in window.slices if s.thread == 1 and s.logs[0].first_scn >= start).logs[-1]

    cutting(monkeypatch, edge.sequence)
    landed = shop.land(Landing(str(tmp_path / "cut"), "p"), window, fetch_rows=5)

    assert landed.identity() == whole


def test_a_row_cut_at_the_end_of_the_archived_redo_lands_only_with_the_next_log(shop, start, tmp_path, monkeypatch):
    window, slice_ = filled(shop, start)
    cutting(monkeypatch, slice_.logs[-1].sequence)
    landing = Landing(str(tmp_path), "p")

    with pytest.raises(MiningIncomplete, match="assembly") as caught:
        shop.land(landing, window)
    assert caught.value.where["sequence"] == slice_.logs[-1].sequence
    assert nothing_landed(landing, tmp_path, window)

    shop.seal()
    assert shop.land(landing, window).counts["SHOP.ITEMS insert"] == 20


def test_an_unsupported_row_is_landed_as_unsupported(shop, start):
    shop.run("INSERT INTO notes (id) VALUES (1)")
    shop.seal()
    note = shop.oracle.database.state.tables[3, "SHOP", "NOTES"].columns[1]
    note.type = replace(note.type, name="JSON")  # one of the types that make whole rows unsupported

    rows = [r for r in shop.mine(shop.window(start), tables=(NOTES,)) if r["table_name"] == "NOTES"]

    # Oracle inserts the NULL object as empty and sets it to NULL by an UPDATE.
    assert [(r["operation_code"], r["operation"], r["status"]) for r in rows] == [(255, "UNSUPPORTED", 2)] * 2


def test_rows_of_a_dropped_table_are_landed_without_their_name(shop, start):
    shop.run("CREATE TABLE brief (id NUMBER(10) PRIMARY KEY)", "INSERT INTO brief VALUES (1)")
    brief = next(iter(shop.ids(TableId("SHOP", "BRIEF"))))
    shop.run("DROP TABLE brief PURGE")
    shop.seal()

    rows = [r for r in shop.mine(shop.window(start)) if r["object_id"] == brief and r["operation"] == "INSERT"]

    assert [(r["seg_owner"], r["table_name"], r["status"]) for r in rows] == [("UNKNOWN", f"OBJ# {brief}", 2)]


def test_redo_of_a_closed_pdb_is_unavailable_until_it_opens(shop, start):
    shop.run("INSERT INTO items VALUES (1, 'a')")
    shop.seal()
    window = shop.window(start)
    shop.ids(ITEMS)
    shop.oracle.faults.close_pdb()
    try:
        with pytest.raises(SourceUnavailable) as caught:
            shop.mine(window)
    finally:
        shop.oracle.faults.open_pdb()

    assert (caught.value.ora_code, PDB in caught.value.what) == (16331, True)
    assert [row for row in shop.mine(window) if row["operation"] == "INSERT"]


def test_a_session_killed_while_it_mines_lands_nothing(shop, start, tmp_path):
    shop.run(*(f"INSERT INTO items VALUES ({n}, '{'x' * 2000}')" for n in range(200)))
    shop.seal()
    window, landing = shop.window(start), Landing(str(tmp_path), "p")
    logs = next(s for s in window.slices if s.thread == 1)

    def killed(batches):
        for number, rows in enumerate(batches):
            if number == 2:
                shop.oracle.listener.close()
            yield rows

    with shop.open() as source:
        work = shop.mining(source, window, logs)
        with pytest.raises(SourceUnavailable):
            landing.windows.write_slice(window, logs.number, killed(work), "t", tables={})
    assert not work.facts.complete
    assert list(tmp_path.rglob("*.parquet*")) == []


def test_redo_below_the_start_of_the_first_log_stops_mining():
    """An earlier window may have ended at that SCN, so the change would be in no window."""
    with standin(private_strands=True, strands_cross_switches=True) as oracle:
        late = MiningSource(oracle)
        late.run("CREATE TABLE items (id NUMBER(10) PRIMARY KEY)")
        with oracle.connect("SHOP") as connection, connection.cursor() as cursor:
            cursor.execute("INSERT INTO items VALUES (1)")
            late.seal()
            with late.open() as source:
                start = max(log.next_scn for log in read_redo_facts(source).archived)
            connection.commit()
        late.seal()

        with pytest.raises(RedoNotUnderstood, match="FIRST_CHANGE#"):
            late.mine(late.window(start))


def test_a_start_scn_that_oracle_shows_as_its_largest_number_is_missing():
    with standin(max_start_scns=True) as oracle:
        source = MiningSource(oracle)
        source.run("CREATE TABLE items (id NUMBER(10) PRIMARY KEY)")
        with oracle.connect("SHOP") as connection, connection.cursor() as cursor:
            cursor.execute("INSERT INTO items VALUES (1)")
            source.seal()
            with source.open() as session:
                start = max(log.next_scn for log in read_redo_facts(session).archived)
            connection.commit()
        source.run("INSERT INTO items VALUES (2)")
        source.seal()

        rows = source.mine(source.window(start))

    assert [(r["operation"], r["start_scn"] is None) for r in rows if r["operation"] in ("START", "COMMIT")] == [
        ("COMMIT", True), ("START", False), ("COMMIT", False)
    ]  # fmt: skip


@pytest.mark.parametrize("local_undo", [True, False])
def test_a_transaction_has_its_end_whether_undo_is_local_or_the_roots(local_undo):
    """With local undo, a transaction of the root has the xid of one in the PDB, and must not end it."""
    with standin(local_undo=local_undo) as oracle:
        source = MiningSource(oracle)
        source.run("CREATE TABLE items (id NUMBER(10) PRIMARY KEY)")
        source.run("CREATE TABLE roots (id NUMBER(10) PRIMARY KEY)", user="SYS")
        source.seal()
        with source.open() as session:
            start = max(log.next_scn for log in read_redo_facts(session).archived)
        with oracle.connect("SHOP") as connection, connection.cursor() as cursor:
            cursor.execute("INSERT INTO items VALUES (1)")
            for n in range(20):
                source.run(f"INSERT INTO roots VALUES ({n})", user="SYS")
            source.seal()
            rows = source.mine(source.window(start))
            (change,) = [r for r in rows if r["operation"] == "INSERT"]
            of_change = [r for r in rows if (r["con_id"], r["xid"]) == (change["con_id"], change["xid"])]
            assert [r["operation"] for r in of_change] == ["START", "INSERT"]
            connection.commit()
        source.seal()
        rows = source.mine(source.window(start))

    of_change = [r for r in rows if (r["con_id"], r["con_name"], r["xid"]) == (3, PDB, change["xid"])]
    assert [r["operation"] for r in of_change] == ["START", "INSERT", "COMMIT"]


def test_a_database_without_containers_is_mined():
    with standin(is_cdb=False) as oracle:
        plain = MiningSource(oracle)
        plain.run("CREATE TABLE items (id NUMBER(10) PRIMARY KEY)", "INSERT INTO items VALUES (1)")
        plain.seal()
        window = plain.window(oracle.database.state.incarnation.resetlogs_scn)
        with plain.open() as source:
            ids = frozenset(table.object_id for table in read_tables(source, [ITEMS]).values())
            work = mine_slice(source, window.slices[0], window, tables=(ITEMS,), object_ids=ids, container=None, fetch_rows=100)
            rows = pa.Table.from_batches(list(work), LANDED_SCHEMA).to_pylist()

    assert [sql for operation, _, sql in changes(rows) if operation == "INSERT"] == [
        """insert into "SHOP"."ITEMS"("ID") values ('1')"""
    ]
