"""Each error that holds a table names a cure: the cure is done from that state as it is printed, and the table goes on.

tests/unit/test_cures.py lists where the cures of all other errors are tried.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from redolake.apply.delta.log import read_log
from redolake.apply.spark.session import fix, session_like
from redolake.host.spark_settings import DEFAULT_PROPERTIES, EXACT
from redolake.job.batch import run_batch
from redolake.job.snapshot import run_snapshot
from redolake.records.batches.manifest import TableResult
from redolake.records.batches.spec import LandedWindow, TableTask
from redolake.records.loads import SnapshotSpec
from redolake.values.table import Column, OracleType, TableId
from redolake.values.target_options import DEFAULT, TargetOptions
from tests.integration.spark.landing import land
from tests.integration.spark.redo_rows import committed, insert, of_table, update
from tests.integration.spark.specs import ID, batch_spec, contents, loaded, snapshot_spec, task, version, with_destination

pytestmark = pytest.mark.spark

ROWS = [{"ID": 1, "V": "first"}, {"ID": 2, "V": "second"}]
CHANGED = {1: "changed", 2: "second", 9: None}
Cured = Callable[[Any, TableTask, str], TableTask]


def run_its_statement(spark: Any, mine: TableTask, cure: str) -> TableTask:
    """Run the statement of the cure as it is printed; the name of the constraint is the reader's to put in."""
    (statement,) = re.findall(r"run (ALTER TABLE .*?) (?:in Spark|with its name in Spark)", cure)
    for there, put in (("DROP CONSTRAINT", "DROP CONSTRAINT few"), ("COLUMN ..", "COLUMN V")):
        statement = statement.replace(there, put)
    spark.sql(statement).collect()
    return mine


def with_options(**options: Any) -> Cured:
    return lambda _spark, mine, _cure: with_destination(mine, options=TargetOptions(**options))


@dataclass(frozen=True)
class State:
    """What somebody has done to the table, or `redo`, a statement in it; the error that follows; and the cure before `redolake
    resume`, if it has one. `redolake snapshot --replace` cures all of them, with the settings `replaced_with` where the cure
    says so."""

    does: Callable[[Any, str], object]
    code: str
    says: str
    options: TargetOptions = DEFAULT
    before_resume: Cured | None = None
    replaced_with: TargetOptions | None = None
    redo: str = ""
    version: Mapping[str, Any] = field(default_factory=dict)


def sql(*statements: str) -> Callable[[Any, str], object]:
    return lambda spark, path: [spark.sql(one.format(t=f"delta.`{path}`")).collect() for one in statements]


def nothing(_spark: Any, _path: str) -> None:
    """Leave the table as it is: pipelines.yml is what is wrong."""


def set_not_null(_spark: Any, path: str) -> None:
    """Commit a schema in which V is NOT NULL. Spark's own ALTER TABLE refuses that, and other writers do not."""
    commits = sorted(Path(path, "_delta_log").glob("*.json"))
    actions = [json.loads(line) for commit in commits for line in commit.read_text().splitlines()]
    metadata = [action["metaData"] for action in actions if "metaData" in action][-1]
    schema = json.loads(metadata["schemaString"])
    for column in schema["fields"]:
        column["nullable"] = column["name"] != "V"
    changed = [{"commitInfo": {"operation": "SET NOT NULL"}}, {"metaData": {**metadata, "schemaString": json.dumps(schema)}}]
    Path(path, "_delta_log", f"{len(commits):020d}.json").write_text("".join(f"{json.dumps(one)}\n" for one in changed))


PROPERTY = "ALTER TABLE {{t}} SET TBLPROPERTIES ('{}' = '{}')"
STATES: dict[str, State] = {
    "APPEND": State(
        sql(PROPERTY.format("delta.appendOnly", "true")), "TargetRefused", "delta.appendOnly", before_resume=run_its_statement
    ),
    "FORGETS": State(
        sql(PROPERTY.format("delta.setTransactionRetentionDuration", "interval 1 hour")),
        "TargetRefused",
        "would forget how far an idle table is applied",
        before_resume=run_its_statement,
    ),
    "CHECKED": State(
        sql("ALTER TABLE {t} ADD CONSTRAINT few CHECK (ID < 5)"),
        "TargetRefused",
        "a constraint on the Delta table, which Oracle's rows do not fulfil: CHECK constraint few",
        before_resume=run_its_statement,
    ),
    "NOTNULL": State(
        set_not_null,
        "TargetRefused",
        "NOT NULL on a column of the Delta table: NOT NULL constraint violated for column: V",
        before_resume=run_its_statement,
    ),
    "MORE": State(
        sql("ALTER TABLE {t} ADD COLUMNS (load_time TIMESTAMP)"),
        "SchemaConflict",
        "columns that are neither Oracle's nor Redolake's: load_time",
    ),
    "LESS": State(
        sql(PROPERTY.format("delta.columnMapping.mode", "name"), "ALTER TABLE {t} DROP COLUMN V"),
        "SchemaConflict",
        "columns differ from those of the Oracle table: V string",
    ),
    "RESTORED": State(
        sql("DELETE FROM {t} WHERE ID = 1", "RESTORE TABLE {t} TO VERSION AS OF 0"),
        "TableSetBack",
        "another writer changed rows",
    ),
    "GONE": State(lambda _, path: shutil.rmtree(path), "TableSetBack", "there is no Delta table"),
    "WIDEST": State(
        sql(PROPERTY.format("delta.enableDeletionVectors", "true")),
        "SchemaConflict",
        "pipelines.yml says `readers: any`",
        TargetOptions(readers="any"),
        before_resume=with_options(readers="spark"),
    ),
    "PARTS": State(
        nothing,
        "SchemaConflict",
        "pipelines.yml says partition_by: V",
        TargetOptions(partition_by=("V",)),
        before_resume=with_options(),
    ),
    "OWN": State(
        nothing,
        "SchemaConflict",
        "pipelines.yml says metadata_columns",
        TargetOptions(metadata_columns=("_commit_scn", "_xid")),
        before_resume=with_options(),
    ),
    "CLUSTER": State(
        nothing,
        "SchemaConflict",
        "`cluster_by` names columns that the table does not have: W",
        TargetOptions(cluster_by=("W",)),
        before_resume=with_options(),
        replaced_with=TargetOptions(),
    ),
    "NONSENSE": State(
        nothing,
        "TargetRefused",
        "Delta does not take a property of pipelines.yml: Unknown configuration was specified: delta.nonsense",
        TargetOptions(properties=(("delta.nonsense", "1"),)),
        before_resume=with_options(),
        replaced_with=TargetOptions(),
    ),
    "DURATION": State(
        nothing,
        "TargetRefused",
        "Delta does not take a property of pipelines.yml",
        TargetOptions(properties=(("delta.logRetentionDuration", "3 potatoes"),)),
        before_resume=with_options(),
        replaced_with=TargetOptions(),
    ),
    "UNREAD": State(nothing, "RedoNotUnderstood", "the redo cannot be decoded", redo="merge into nothing"),
    "NOKEY": State(
        nothing, "NotLogged", "supplemental logging was off", redo="""update "SHOP"."T" set "V" = 'b' where "V" = 'a';"""
    ),
    "ONLY": State(
        nothing,
        "KeyNeeded",
        "",
        redo=update(1, "first", "changed"),
        version={"key": (), "key_kind": "append"},
    ),
}
APPENDED = {1: "first", 2: "second", 9: None}


def tasks(folder: Path, names: Sequence[str]) -> list[TableTask]:
    found = []
    for number, name in enumerate(names):
        state, table = STATES[name], TableId("SHOP", name)
        shape = replace(version(table, object_id=300 + number), **state.version)
        found.append(task(folder, table, 300 + number, options=state.options, at_least=5, versions=(shape,)))
    return found


def changes(names: Sequence[str], scn: int, *, as_in_state: bool) -> list[dict[str, Any]]:
    """Return an update and an insert with a NULL for each table, or the redo that brings it into its state."""
    updated, new = (3, update(1, "first", "changed"), "R1"), (1, insert(9, "x").replace("'x'", "NULL"), "R9")
    found = list[dict[str, Any]]()
    for number, name in enumerate(names):
        state = STATES[name]
        statements = [(3, state.redo, "R1")] if as_in_state and state.redo else [new] if state.version else [updated, new]
        rows = of_table(committed(0, scn, *statements), name, 300 + number)
        found += [{**row, "ordinal": row["ordinal"] + 100 * number, "xid": f"{row['xid']}{number}"} for row in rows]
    return found


@dataclass(frozen=True)
class Held:
    """The tables in their states, how a batch has held each of them, and its window. A test cures copies of the tables."""

    folder: Path
    tables: tuple[TableResult, ...]
    window: LandedWindow

    def copied_to(self, folder: Path, names: Sequence[str]) -> list[TableTask]:
        shutil.copytree(self.folder / "lake", folder / "lake")
        return [one for one in tasks(folder, list(STATES)) if one.table.name in names]


@pytest.fixture(scope="module")
def held(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Held:
    folder, names = tmp_path_factory.mktemp("held"), list(STATES)
    mine = tasks(folder, names)
    for one in mine:
        loaded(spark, folder, with_destination(one, options=TargetOptions()), rows=ROWS)
        STATES[one.table.name].does(spark, one.destination.target)
    window = land(folder / "w", 10, 100, changes(names, 20, as_in_state=True))
    return Held(folder, run_batch(spark, batch_spec(folder / "1", [window], mine)).tables, window)


def cures_of(held: Held, folder: Path) -> dict[str, str]:
    """Check that each table is held as its state says, and without the values of its rows; return the cures by name, with the
    paths of the copies in `folder`."""
    found = held.tables
    errors = {one.table.name: one.error or {} for one in found if one.state == "held"}
    wrong = {
        name: error
        for name, error in errors.items()
        if STATES[name].code != error["code"] or STATES[name].says not in error["what"] or "second" in error["what"]
    }
    assert wrong == {}
    assert [one.table.name for one in found if one.state != "held"] == []
    return {name: str(error["cure"]).replace(str(held.folder), str(folder)) for name, error in errors.items()}


def test_each_cure_that_ends_with_resume_cures(spark: Any, held: Held, tmp_path: Path) -> None:
    names = [name for name, state in STATES.items() if state.before_resume]
    mine, cures, cured = held.copied_to(tmp_path, names), cures_of(held, tmp_path), []
    assert [name for name in names if f"`redolake resume SHOP.{name}`" not in cures[name]] == []
    for one in mine:
        before_resume = STATES[one.table.name].before_resume
        assert before_resume is not None
        cured.append(before_resume(spark, one, cures[one.table.name]))

    again = run_batch(spark, batch_spec(tmp_path / "2", [held.window], cured)).tables

    assert {t.table.name: t.error for t in again if t.error} == {}
    assert {one.table.name: contents(one) for one in cured} == dict.fromkeys(names, CHANGED)


def test_a_new_snapshot_cures_each_of_them(spark: Any, held: Held, tmp_path: Path) -> None:
    names = list(STATES)
    mine, cures, replaced = held.copied_to(tmp_path, names), cures_of(held, tmp_path), []
    for one in mine:
        state, cure = STATES[one.table.name], cures[one.table.name]
        assert f"redolake snapshot {one.table} --replace`" in cure or state.replaced_with, (one.table, cure)
        replaced.append(with_destination(one, options=state.replaced_with or one.destination.options, at_least=150))
    loads = [replace(snapshot_spec(tmp_path, o, 150, ROWS).tables[0], options=o.destination.options) for o in replaced]
    spec = SnapshotSpec("p", 150, "token", tuple(loads), str(tmp_path / "load.json"), replace=True)
    window = land(tmp_path / "x", 100, 200, changes(names, 160, as_in_state=False))

    assert {t.table.name: t.error for t in run_snapshot(spark, spec).tables if t.error} == {}
    again = run_batch(spark, batch_spec(tmp_path / "3", [window], replaced)).tables

    assert {t.table.name: t.error for t in again if t.error} == {}
    wanted = {name: APPENDED if STATES[name].version else CHANGED for name in names}
    assert {one.table.name: contents(one) for one in replaced} == wanted


# --- What a server gives to each session and table -------------------------------------------------------------------

OPPOSITE = {
    "TIMESTAMP_MICROS": "INT96",
    "true": "false",
    "false": "true",
    "ANSI": "LEGACY",
    "CORRECTED": "LEGACY",
    "STATIC": "DYNAMIC",
    "UTC": "Asia/Tokyo",
}
GIVEN = {
    "appendOnly": "true",
    "setTransactionRetentionDuration": "interval 1 hour",
    "columnMapping.mode": "name",
    "enableDeletionVectors": "true",
    "autoOptimize.autoCompact": "false",
}


def test_the_defaults_of_a_server_hold_no_table_and_change_no_value(spark: Any, tmp_path: Path) -> None:
    """With TIMESTAMP_NTZ as the timestampType, or with append-only tables, each table was held after each new snapshot."""
    zoned = Column(2, "V", OracleType("TIMESTAMP WITH LOCAL TIME ZONE", scale=6), 2)
    mine = task(tmp_path, versions=(version(columns=(ID, zoned)),))
    file = tmp_path / "read.parquet"
    at = datetime(1500, 1, 2, 3, 4, 5, 6, UTC)
    read = {"ID": pa.array([1], pa.decimal128(10, 0)), "V": pa.array([at], pa.timestamp("us", "UTC"))}
    pq.write_table(pa.table(read), file)
    spec = snapshot_spec(tmp_path, mine, 5)
    spec = replace(spec, tables=(replace(spec.tables[0], files=(str(file),), rows=1),))
    window = land(tmp_path / "w", 10, 100, committed(0, 20, (1, insert(9, "x").replace("'x'", "NULL"), "R9")))
    with session_like(spark) as server:
        for name, value in EXACT.items():
            server.conf.set(name, OPPOSITE.get(value, "TIMESTAMP_NTZ"))
        for name, value in GIVEN.items():
            server.conf.set(f"{DEFAULT_PROPERTIES}{name}", value)
        fix(server, server.conf.getAll)

        assert [table.error for table in run_snapshot(server, spec).tables] == [None]
        assert [table.error for table in run_batch(server, batch_spec(tmp_path, [window], [mine])).tables] == [None]
    log = read_log(mine.destination.target)
    assert log is not None
    assert {name for name in log.properties() if name.startswith("delta.")} == {"delta.autoOptimize.autoCompact"}
    rows = spark.read.format("delta").load(mine.destination.target).selectExpr("int(ID)", "string(V)").collect()
    assert dict(map(tuple, rows)) == {1: "1500-01-02 03:04:05.000006", 9: None}
