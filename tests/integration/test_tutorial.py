"""docs/tutorial/first-pipeline.md: each statement and each command of it, in order, shows what the page says.

Airflow and `make kill` are the demo's; here a run in one process does what its DAGs do between a statement and a command."""

from __future__ import annotations

import io
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from demo.services import PIPELINE_FILE
from demo.sql import run_statements, typed_statements
from redolake import steps
from redolake.config import Pipeline
from tests.fixtures.shop import Shop

pytestmark = pytest.mark.spark

PAGE = Path(__file__).parents[2] / "docs" / "tutorial" / "first-pipeline.md"
BLOCK = re.compile(r"^```(sql|sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks() -> list[tuple[str, str, str | None]]:
    """Return (kind, text, what the page shows below it or None) of the statements and of redolake's commands."""
    found = [(match[1], match[2].strip()) for match in BLOCK.finditer(PAGE.read_text())]
    shown = [text if kind == "text" else None for kind, text in [*found[1:], ("", "")]]
    return [(kind, text, below) for (kind, text), below in zip(found, shown, strict=True) if kind != "text"]


@dataclass(slots=True)
class Reader:
    """Somebody who follows the page."""

    shop: Shop
    pipeline: Pipeline
    spark: Any
    scns: list[int] = field(default_factory=list)

    def types(self, statements: str) -> str:
        shown = io.StringIO()
        with self.shop.oracle.connect("SHOP") as connection:
            assert run_statements(connection, typed_statements(io.StringIO(statements)), Console(file=shown, width=200))
        self.shop.switch_logs()
        steps.run_pipeline(self.pipeline, until_caught_up=True, source=self.shop.params, spark=self.spark)
        return shown.getvalue()

    def reads(self, command: str) -> str:
        """Return the answer of a `redolake read`: a line per row, its columns divided by |."""
        unquoted = command.replace("\\`", "`")  # as a shell does between double quotes, and shlex does not
        words = shlex.split(unquoted.replace("$PWD/.demo/lake", self.pipeline.lake).replace("$SCN", str((*self.scns, "")[0])))
        *_, table, as_of, moment, sql, query = words
        assert (as_of, sql) == ("--as-of", "--sql")
        found = steps.read_as_of(self.pipeline, moment, [table], sql=query, spark=self.spark)
        self.scns.append(found.scn)
        return "\n".join("|".join(value or "" for value in row) for row in [found.columns, *found.result])


def joined(shown: str) -> str:
    """Return a table of the page with one sign between its columns, which two blanks divide."""
    head, *rows = shown.splitlines()
    starts = [match.start() for match in re.finditer(r"(?<!\S)\S", head)]
    ends = [*starts[1:], None]
    return "\n".join("|".join(line[a:b].strip() for a, b in zip(starts, ends, strict=True)) for line in (head, *rows))


def test_the_tutorial_shows_what_its_reader_sees(shop: Shop, tmp_path: Path, spark: Any) -> None:
    written = yaml.safe_load(PIPELINE_FILE.format(pipeline="shop", folder=tmp_path, container="FREEPDB1", stream=""))
    pipeline = shop.pipeline(tables=written["pipelines"]["shop"]["tables"])
    reader = Reader(shop, pipeline, spark)
    shop.work(5)
    steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=spark)

    for kind, text, shown in blocks():
        if kind == "sql":
            answer = reader.types(text).strip()
            assert shown is None or answer == shown, text
        elif (line := text.splitlines()[-1]).startswith("redolake read"):
            assert shown is not None
            assert reader.reads(line) == joined(shown), line

    assert len(reader.scns) == 5
    assert steps.verify_tables(pipeline, source=shop.params, spark=spark).equal
