"""What a newer Redolake wrote is refused by a typed error, whatever is new in it; and no field is new without a new format."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import pytest

from pipelines import batch, manifest
from pipelines.errors import FormatTooNew
from pipelines.land import Break
from pipelines.land.drops import Drop
from pipelines.land.record import LogTally, SliceRecord
from pipelines.reconcile import dictionary_files as readings
from pipelines.redo import LogCopy, LogFile, Position, Slice, Window
from pipelines.schema import version_from_json, version_to_json
from pipelines.schema import versions as schema_versions
from pipelines.scn import Scn, ScnRange
from pipelines.steps import plans
from pipelines.table import Column, DictionaryColumn, DictionaryTable, OracleType, TableId, TableVersion, UniqueIndex
from tests.unit.test_batch_json import OPEN, RESULT, SPECS, VERSION, T
from tests.unit.test_manifest import MANIFEST

LOG = LogFile(1, 7, 2, Scn(100), Scn(200), (LogCopy(1, "/a/7.arc", "A"),), 4096)
PLAN = plans.Plan(Window(1, 2, ScnRange(Scn(100), Scn(200)), (Slice(0, 1, (LOG,)),)), (T,), {77: T}, 210)
RECORD = SliceRecord(
    "w", 0, "t", ("SHOP.T",), ("f",), (LogTally(MANIFEST.logs[0], 1, "x"),), {"SHOP.T insert": 1}, MANIFEST.ddl
)
START, END = Position(1, 2, Scn(300)), Position(1, 2, Scn(400))
BREAK = Break("gap", START, END, "why", "who", "when", "what", {"SHOP.T": 5}, (OPEN,))
DROP = Drop(OPEN, 2, 300, "why", "who", "when", {"SHOP.T": 1})
ID = DictionaryColumn("ID", OracleType("NUMBER"), 1, 1, False)
TABLE = DictionaryTable(T, 7, 7, (ID,), ("ID",), frozenset(), Scn(5), Scn(6), unique=(UniqueIndex("U", 8, ("ID",)),))

Body = dict[str, Any]
WRITTEN: dict[str, tuple[Body, Callable[[Body], Any]]] = {
    "manifest": (manifest.as_json(MANIFEST), lambda body: manifest.from_json(body, "f")),
    "slice": (RECORD.to_json(), SliceRecord.from_json),
    "break": (BREAK.to_json(), lambda body: Break.from_json(body, "f")),
    "drop": (DROP.to_json(), lambda body: Drop.from_json(body, "f")),
    "plan": (PLAN.to_json(), plans.Plan.from_json),
    "reading": (readings.dictionary_to_json(TABLE), lambda body: readings.dictionary_from_json(body, "f")),
    "version": (version_to_json(VERSION), version_from_json),
    "result": (json.loads(batch.to_json(RESULT)), lambda body: batch.batch_result_from_json(json.dumps(body), "f")),
    **{
        s.kind: (json.loads(batch.to_json(s)), lambda body: batch.spec_from_json(json.dumps(body), "f")) for s in SPECS
    },
}  # fmt: skip
FREE = {"counts", "circumstance", "rules", "error", "rows", "accounts", "spark"}  # of any names; Break.tables is too


def objects(body: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where a newer Redolake could have put a field: the paths of all objects that have fixed fields."""
    if isinstance(body, dict):
        inside = [path for name, part in body.items() if name not in FREE for path in objects(part, (*at, name))]
        return [at, *inside]
    return [path for n, part in enumerate(body) for path in objects(part, (*at, n))] if isinstance(body, list) else []


def with_a_field(body: Body, path: tuple[Any, ...]) -> Body:
    newer = json.loads(json.dumps(body))
    inside = newer
    for step in path:
        inside = inside[step]
    inside["from the future"] = 1
    return newer  # type: ignore[no-any-return]


# A plan's own objects are read by name; a break's tables have names of their own.
READ_BY_NAME = {("plan", ()), ("plan", ("slices", 0)), ("break", ("tables",))}
PLACES = [(kind, path) for kind, (body, _) in WRITTEN.items() for path in objects(body) if (kind, path) not in READ_BY_NAME]


@pytest.mark.parametrize(("kind", "path"), PLACES, ids=lambda value: str(value))
def test_a_field_that_is_not_known_is_from_a_newer_redolake(kind: str, path: tuple[Any, ...]) -> None:
    body, read = WRITTEN[kind]
    read(json.loads(json.dumps(body)))

    with pytest.raises(FormatTooNew, match="from the future") as caught:
        read(with_a_field(body, path))
    assert "newer" in caught.value.cure


@pytest.mark.parametrize("kind", [kind for kind, (body, _) in WRITTEN.items() if "format" in body])
def test_a_newer_format_is_refused(kind: str) -> None:
    body, read = WRITTEN[kind]

    with pytest.raises(FormatTooNew, match="format 99"):
        read({**body, "format": 99})


def test_a_plan_from_before_plans_had_a_format_is_read() -> None:
    body = json.loads(json.dumps(PLAN.to_json()))
    del body["format"], body["slices"][0]["logs"][0]["is_archived"]

    assert plans.Plan.from_json(body) == PLAN


def test_a_version_of_the_first_format_is_read() -> None:
    body = json.loads(json.dumps(version_to_json(VERSION)))
    for column in body["columns"]:
        del column["has_default"]
    del body["key_kind"], body["key_index"]

    assert version_from_json({**body, "format": 1}) == VERSION


# The fields of each format. Where this fails: raise the format first, let the older one still be read, then write them down.
TABLE_FIELDS = {
    Column: "id name type segment_id nullable has_default",
    OracleType: "name length precision scale",
    TableId: "owner name",
    TableVersion: "table from_scn object_id data_object_id columns key next_column_id key_kind key_index",
}
READING_FIELDS = {
    DictionaryColumn: "name type segment_id column_id nullable hidden virtual has_default",
    DictionaryTable: "table object_id data_object_id columns key log_groups scn_before scn_after partitioned iot temporary "
    "unique clustered external logging",
    UniqueIndex: "name object_id columns",
}
MANIFEST_FIELDS = {
    manifest.LogIdentity: "thread sequence resetlogs_id first_scn next_scn",
    manifest.DdlRow: "scn thread rs_id ssn owner table object_id sql info",
    manifest.Manifest: "dbid resetlogs_id start end logs tables counts row_hash ddl files circumstance format",
    LogTally: "log row_count row_hash",
    SliceRecord: "window number token tables files logs counts ddl circumstance format",
    Position: "dbid resetlogs_id scn",
    Break: "kind start end reason by at lost tables dropped format",
    Drop: "transaction resetlogs_id scn reason by at rows servers format",
    batch.OpenTransaction: "con_id xid thread start_scn first_at rows bytes username",
}
PLAN_FIELDS = {
    LogCopy: "dest_id name status deleted standby archived",
    LogFile: "thread sequence resetlogs_id first_scn next_scn copies bytes first_at is_archived",
}
BATCH_FIELDS = {
    batch.Step: "scn kind column default",
    batch.HoldAt: "at_scn error",
    batch.TableTask: "table target app_id versions rules ddl hold defaulted shadow_from at_least",
    batch.LandedWindow: "name start end files",
    batch.Dropped: "con_id xid start_scn servers",
    batch.DroppedRows: "con_id xid start_scn rows end_scn committed",
    batch.Balance: "landed carried_in applied undone rolled_back carried_out before_position held dropped",
    batch.TableResult: "table state complete_to error inserted updated deleted delta_version balance position",
    batch.BatchSpec: "pipeline resetlogs_id start end token windows tables carry_out manifest carry_in open_in dropped "
    "container spark lease character_set format kind",
    batch.BatchResult: "pipeline resetlogs_id start end token windows tables open_transactions carry_files foreign_rows "
    "dropped accounts read_to format kind",
    batch.SnapshotTask: "table target app_id version files rules rows supersedes",
    batch.SnapshotSpec: "pipeline scn token tables manifest replace spark lease format kind",
    batch.SnapshotLoaded: "table state loaded rows delta_version error",
    batch.SnapshotResult: "pipeline scn tables format kind",
}
FORMATS = {
    "manifest": (manifest.FORMAT, 1, MANIFEST_FIELDS),
    "batch": (batch.FORMAT, 2, {**BATCH_FIELDS, **TABLE_FIELDS}),
    "version": (schema_versions.FORMAT, 2, TABLE_FIELDS),
    "plan": (plans.FORMAT, 2, PLAN_FIELDS),
    "reading": (readings.FORMAT, 3, READING_FIELDS),
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_has_the_fields_that_it_is_known_by(name: str) -> None:
    format_, known, kinds = FORMATS[name]
    now = {kind.__name__: " ".join(f.name for f in dataclasses.fields(kind)) for kind in kinds}

    assert (format_, now) == (known, {kind.__name__: names for kind, names in kinds.items()})
