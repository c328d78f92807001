"""Doctor names tables whose older files have timestamps as INT96."""

from __future__ import annotations

import json
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from redolake.config import Pipeline
from redolake.steps.checks import old_timestamps as checks
from redolake.steps.checks.old_timestamps import of_history, of_table, old_files, old_timestamps
from redolake.values.table import TableId

TABLE = TableId("SHOP", "T")
ROWS = pa.table({"at": pa.array([datetime(9999, 12, 31, tzinfo=UTC)], pa.timestamp("us", "UTC"))})


def add(table: Path, version: int, name: str, *, int96: bool, type_: str = "timestamp", remove: str | None = None) -> None:
    """Commit a file, whose name is escaped in the log."""
    (table / "_delta_log").mkdir(parents=True, exist_ok=True)
    pq.write_table(ROWS, table / name, use_deprecated_int96_timestamps=int96)
    schema = json.dumps({"type": "struct", "fields": [{"name": "at", "type": type_, "nullable": True, "metadata": {}}]})
    actions = [
        {"metaData": {"schemaString": schema}},
        {"add": {"path": name.replace(" ", "%20"), "modificationTime": version}},
        *([] if remove is None else [{"remove": {"path": remove}}]),
    ]
    (table / "_delta_log" / f"{version:020d}.json").write_text("\n".join(map(json.dumps, actions)))


def test_the_oldest_files_of_a_table_are_counted_and_the_cure_rewrites_them(tmp_path: Path) -> None:
    for version in range(5):
        add(tmp_path, version, f"a {version}.parquet", int96=version < 2)
    kept = [None, *({"path": f"a%20{n}.parquet", "modificationTime": n, "stats": "{}"} for n in range(3))]
    pq.write_table(pa.table({"add": kept}), tmp_path / "_delta_log" / f"{2:020d}.checkpoint.parquet")

    found = of_table(TABLE, str(tmp_path))

    assert found is not None
    assert found.what.startswith("2 of the 3 oldest of its 5 files have timestamps as INT96")
    assert found.cure.startswith("run `redolake snapshot SHOP.T --replace`")


def test_files_that_are_gone_new_or_of_no_timestamp_are_no_finding(tmp_path: Path) -> None:
    add(tmp_path / "removed", 0, "old.parquet", int96=True)
    add(tmp_path / "removed", 1, "new.parquet", int96=False, remove="old.parquet")
    add(tmp_path / "local", 0, "old.parquet", int96=True, type_="timestamp_ntz")
    add(tmp_path / "lost", 0, "old.parquet", int96=True)
    (tmp_path / "lost" / "old.parquet").unlink()

    assert [old_files(str(tmp_path / name)) for name in ("removed", "local", "lost", "none")] == [None] * 4


def test_files_of_a_history_are_looked_at_too(tmp_path: Path) -> None:
    add(tmp_path, 0, "a.parquet", int96=True)

    found = of_history(TABLE, str(tmp_path))

    assert found is not None
    assert (found.subject, "history rebuild SHOP.T" in found.cure) == ("SHOP.T: history", True)


def test_doctor_looks_at_tables_and_at_histories(monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = SimpleNamespace(by_id={TABLE: 1}, target=lambda _: "/lake/t", history_target=lambda _: "/lake/_history/t")
    monkeypatch.setattr(checks, "open_to_read", lambda pipeline: nullcontext(SimpleNamespace(pipeline=pipeline)))
    monkeypatch.setattr(checks, "with_contents", lambda _: {TABLE})
    looked = list[tuple[object, ...]]()
    monkeypatch.setattr(checks, "of_table", lambda _, path: looked.append(("table", path)))
    monkeypatch.setattr(checks, "of_history", lambda _, path: looked.append(("history", path)))

    assert old_timestamps(cast(Pipeline, pipeline)) == []
    assert looked == [("table", "/lake/t"), ("history", "/lake/_history/t")]
