"""Mining and landing over the unmodified driver: what a slice holds, what stops it, and that it comes out the same again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pytest

from pipelines.config import WindowLimits
from pipelines.errors import RedoLost, RedoNotUnderstood, SourceUnavailable
from pipelines.land.landing import Landing
from pipelines.mine.mining import mine_slice
from pipelines.mine.rows import REDO_SCHEMA
from pipelines.redo import Position
from pipelines.scn import Scn
from pipelines.source.connection import ConnectParams
from pipelines.source.dictionary import read_tables
from pipelines.source.facts import read_current_scn, read_redo_facts
from pipelines.source.oracle import RetryRule, open_source
from pipelines.standin.serve import standin
from pipelines.table import TableId
from pipelines.window.plan import Sealed, plan_window

PDB = "FREEPDB1"
ITEMS, NOTES = TableId("SHOP", "ITEMS"), TableId("SHOP", "NOTES")


class World:
    """A stand-in with two redo threads and two destinations, and the stages that read it."""

    def __init__(self, oracle):
        self.oracle = oracle
        user = oracle.capture_user
        self.params = ConnectParams(user, oracle.passwords[user], oracle.root_dsn)
        self.known = {}

    def open(self):
        return open_source(self.params, call_timeout_seconds=60, retry=RetryRule(0.01, 0.01, 1))

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
        """The window from `start` to the newest archived log."""
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
        """All rows of the window, slice by slice."""
        rows = []
        for logs in window.slices:
            with self.open() as source:
                rows += pa.Table.from_batches(list(self.mining(source, window, logs, **how)), REDO_SCHEMA).to_pylist()
        return rows

    def land(self, landing, window, **how):
        ids, records = self.ids(), []
        landing.begin(window)
        for logs in window.slices:
            with self.open() as source:
                work = self.mining(source, window, logs, **how)
                token = uuid4().hex
                records.append(landing.write_slice(window, logs.number, work, token, schema=REDO_SCHEMA, tables=ids))
        return landing.publish(window, [ITEMS], records, None)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    destinations = tuple(tmp_path_factory.mktemp(name) for name in ("one", "two"))
    with standin(threads=2, destinations=destinations) as oracle:
        made = World(oracle)
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
def start(world):
    """The end of what is archived; the table is empty."""
    world.run("DELETE FROM items")
    world.seal()
    with world.open() as source:
        return max(log.next_scn for log in read_redo_facts(source).archived)


def changes(rows):
    return [(r["operation"], r["rollback"], r["sql_redo"]) for r in rows if r["table_name"] is not None]


def test_changes_come_in_the_order_and_words_of_the_redo(world, start):
    world.run(
        "INSERT INTO items VALUES (1, 'it''s')",
        "INSERT INTO other VALUES (1)",
        "UPDATE items SET name = NULL WHERE id = 1",
        "DELETE FROM items WHERE id = 1",
    )
    world.run("INSERT INTO items VALUES (2, 'undone')", commit=False)
    world.run("DELETE FROM other")
    world.seal()

    rows = world.mine(world.window(start))

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


def test_long_statements_come_whole_wherever_the_fetch_ends(world, start):
    text = "é''" * 1000
    world.run(*(f"INSERT INTO items VALUES ({n}, '{text}')" for n in range(4)))
    world.seal()
    window = world.window(start)

    for fetch_rows in (1, 2, 100):
        found = [sql for _, _, sql in changes(world.mine(window, fetch_rows=fetch_rows))]
        assert found == [f"""insert into "SHOP"."ITEMS"("ID","NAME") values ('{n}','{text}')""" for n in range(4)]


def test_the_same_redo_lands_with_the_same_identity_however_it_is_cut(world, start, tmp_path):
    instances = [thread.instance for thread in world.oracle.database.state.threads.values()]
    for n in range(2):
        for instance in instances:
            world.run(*(f"INSERT INTO items VALUES ({i}, '{instance}')" for i in range(3)), instance_name=instance)
            world.run("DELETE FROM items", instance_name=instance)
        if n < 1:
            world.seal()
    world.seal()

    identities = [
        world.land(Landing(str(tmp_path), f"p{n}"), world.window(start, slice_bytes), fetch_rows=fetch_rows).identity()
        for n, (slice_bytes, fetch_rows) in enumerate(((2**30, 1000), (1, 2)))
    ]

    assert identities[0] == identities[1]
    assert identities[0]["counts"]["SHOP.ITEMS insert"] == 12
    assert {log["thread"] for log in identities[0]["logs"]} == {1, 2}


def test_a_window_answers_only_for_the_scns_in_it(world, start):
    world.run("INSERT INTO items VALUES (1, 'before')")
    middle = world.scn() + 1
    world.run("INSERT INTO items VALUES (2, 'after')")
    world.seal()
    whole = world.window(start)

    first = replace(whole, scns=replace(whole.scns, end=Scn(middle)))
    second = replace(whole, scns=replace(whole.scns, start=Scn(middle)))

    assert [sql[-9:] for _, _, sql in changes(world.mine(first))] == ["'before')"]
    assert [sql[-8:] for _, _, sql in changes(world.mine(second))] == ["'after')"]
    assert sorted(r["rs_id"] for r in world.mine(first) + world.mine(second)) == sorted(r["rs_id"] for r in world.mine(whole))


def files_of(window):
    return [[Path(c.name) for c in log.copies] for logs in window.slices for log in logs.logs]


def test_a_file_removed_behind_oracles_back_is_replaced_by_the_other_destinations(world, start):
    world.run("INSERT INTO items VALUES (1, 'x')")
    world.seal()
    window = world.window(start)
    expected = world.mine(window)
    for first, _ in files_of(window):
        first.unlink()

    with world.open() as source:
        work = world.mining(source, window, window.slices[0])
        list(work)

    assert set(work.facts.destinations.values()) == {2}
    assert world.mine(window) == expected


def test_a_log_that_is_nowhere_is_lost_and_the_session_can_go_on(world, start):
    world.run("INSERT INTO items VALUES (1, 'x')")
    world.seal()
    window = world.window(start)
    gone = window.slices[0].logs[-1]
    kept = {copy.name: Path(copy.name).read_bytes() for copy in gone.copies}
    for name in kept:
        Path(name).unlink()

    with world.open() as source:
        with pytest.raises(RedoLost, match=f"sequence {gone.sequence} is not available") as caught:
            list(world.mining(source, window, window.slices[0]))
        assert all(name in str(caught.value.where["tried"]) for name in kept)

        for name, body in kept.items():
            Path(name).write_bytes(body)
        assert list(world.mining(source, window, window.slices[0]))


def test_a_table_whose_rows_logminer_cannot_show_stops_the_slice(world, start):
    world.run("INSERT INTO notes (id) VALUES (1)")
    world.seal()
    note = world.oracle.database.state.tables[3, "SHOP", "NOTES"].columns[1]
    note.type = replace(note.type, name="JSON")  # one of the types that make whole rows unsupported

    with pytest.raises(RedoNotUnderstood) as caught:
        world.mine(world.window(start), tables=(NOTES,))
    assert caught.value.where["table"] == "SHOP.NOTES"


def test_a_dropped_tables_rows_are_kept_although_their_name_is_gone(world, start):
    world.run("CREATE TABLE brief (id NUMBER(10) PRIMARY KEY)", "INSERT INTO brief VALUES (1)")
    brief = next(iter(world.ids(TableId("SHOP", "BRIEF"))))
    world.run("DROP TABLE brief PURGE")
    world.seal()

    rows = [r for r in world.mine(world.window(start)) if r["object_id"] == brief and r["operation"] == "INSERT"]

    assert [(r["seg_owner"], r["table_name"], r["status"]) for r in rows] == [("UNKNOWN", f"OBJ# {brief}", 2)]


def test_a_session_killed_while_it_mines_lands_nothing(world, start, tmp_path):
    world.run(*(f"INSERT INTO items VALUES ({n}, '{'x' * 2000}')" for n in range(200)))
    world.seal()
    window, landing = world.window(start), Landing(str(tmp_path), "p")
    logs = next(s for s in window.slices if s.thread == 1)

    def killed(batches):
        for number, rows in enumerate(batches):
            if number == 2:
                world.oracle.listener.close()
            yield rows

    landing.begin(window)
    with world.open() as source:
        work = world.mining(source, window, logs)
        with pytest.raises(SourceUnavailable):
            landing.write_slice(window, logs.number, killed(work), "t", schema=REDO_SCHEMA, tables={})
    assert not work.facts.complete
    assert list(tmp_path.rglob("*.parquet*")) == []


def test_a_database_without_containers_is_mined_as_well():
    with standin(is_cdb=False) as oracle:
        plain = World(oracle)
        plain.run("CREATE TABLE items (id NUMBER(10) PRIMARY KEY)", "INSERT INTO items VALUES (1)")
        plain.seal()
        window = plain.window(oracle.database.state.incarnation.resetlogs_scn)
        with plain.open() as source:
            ids = frozenset(table.object_id for table in read_tables(source, [ITEMS]).values())
            work = mine_slice(source, window.slices[0], window, tables=(ITEMS,), object_ids=ids, container=None, fetch_rows=100)
            rows = pa.Table.from_batches(list(work), REDO_SCHEMA).to_pylist()

    assert [sql for operation, _, sql in changes(rows) if operation == "INSERT"] == [
        """insert into "SHOP"."ITEMS"("ID") values ('1')"""
    ]
