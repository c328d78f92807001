"""Answers of readers as they come, kept in a folder, so that a run that was stopped goes on where it was.

A part is all cells of one reader in one state. It counts only for the tables that it was asked of, the code that asked, and the
reader's version: others' answers are asked again, so that no table of readers is put together from two kinds of lake.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tests.integration.spark.reader_matrix import Cells
from tests.support.lake_readers import Reader

ROOT = Path(__file__).parents[3]
ASKED_BY = tuple(
    ROOT / "tests" / file
    for file in (
        "integration/spark/reader_matrix.py",
        "support/lake_readers.py",
        "support/KernelReader.java",
        "tables/lake_values.py",
    )
)
BENEATH = ("deltalake", "pyarrow")  # by which other readers read


def lake_of(path: str) -> str:
    """Return a hash of what a reader sees of a table: protocol, schema, properties, partitions, statistics, footers.

    Names and times of files are left out, so that a table that is written alike has the same.
    """
    seen: list[Any] = []
    for log in sorted(Path(path, "_delta_log").glob("*.json")):
        for line in log.read_text().splitlines():
            for kind, action in json.loads(line).items():
                if kind == "add":
                    vector = {**(action.get("deletionVector") or {}), "pathOrInlineDv": ""}
                    seen.append([log.stem, kind, action["partitionValues"], action.get("stats"), vector])
                elif kind == "metaData":
                    seen.append([log.stem, kind, action["schemaString"], action["partitionColumns"], action["configuration"]])
                elif kind == "protocol":
                    seen.append([log.stem, kind, action])
    for file in Path(path).rglob("*.parquet"):
        footer = pq.read_metadata(file)
        seen.append(["file", footer.num_rows, footer.created_by, str(footer.schema).partition("\n")[2]])
    return hashlib.sha256("\n".join(sorted(json.dumps(one, sort_keys=True) for one in seen)).encode()).hexdigest()


class Parts:
    """The parts of this run, and those that an earlier run of the same build left in `folder`; without one none is kept."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.cells: Cells = {}
        self.days: dict[str, list[str]] = {}  # on which each reader was asked
        self.asked_by = [hashlib.sha256(file.read_bytes()).hexdigest() for file in ASKED_BY]
        self.asked_by += [f"{package} {version(package)}" for package in BENEATH]

    def add(self, reader: Reader, state: str, path: str, ask: Callable[[], Cells]) -> None:
        """Add the reader's cells of a state; `ask` gives those that no earlier run has."""
        part: dict[str, Any] = {"reader": reader.name, "version": reader.version, "state": state}
        if self.folder is None:
            self.cells |= ask()
            return
        key = json.dumps([part, lake_of(path), self.asked_by])
        file = self.folder / f"{hashlib.sha256(key.encode()).hexdigest()}.json"
        if file.exists():
            part = json.loads(file.read_text())
        else:
            start, cells = time.monotonic(), ask()
            took = round(time.monotonic() - start, 1)
            part |= {"on": f"{datetime.now(UTC):%Y-%m-%d}", "seconds": took, "cells": [[*key, of] for key, of in cells.items()]}
            self.folder.mkdir(exist_ok=True)
            new = file.with_suffix(".new")
            new.write_text(json.dumps(part, ensure_ascii=False))
            new.rename(file)
        self.days[reader.name] = sorted({*self.days.get(reader.name, ()), part["on"]})
        self.cells |= {(reader_, state_, column, question): of for reader_, state_, column, question, of in part["cells"]}
