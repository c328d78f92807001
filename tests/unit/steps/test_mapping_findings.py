"""Problems of a mapping have the line of pipelines.yml in which their setting stands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from redolake.config.file import load_configuration
from redolake.reconcile.mappings import resolve_mapping
from redolake.source import ConfiguredTable
from redolake.steps.checks.doctor import findings_of_lake
from redolake.steps.checks.mapping_findings import Known, history_findings, problem_findings
from redolake.values.scn import Scn
from redolake.values.table import Column, TableVersion
from tests.unit.reconcile.test_mappings import NUMBER, TEXT, VERSION, T, pipeline
from tests.unit.steps.test_proposal import ID, ORDERS, TABLE, column

FILE = """\
pipelines:
  other:
    source: {connection: c}
    landing: /other
    lake: /other-lake
    tables:
      - table: SHOP.PEOPLE
        where: region = 'EU'
  shop:
    source: {connection: c}
    landing: /landing
    lake: /lake
    add: {everywhere: nowhere + 1}
    mask: {"I*": redact}
    tables:
      - SHOP.ORDERS
      - match: SHOP.PEO*
        where: region = 'US'
        add:
          of_pattern: missing + 1
      - table: shop.people
        rename:
          nobody: x
        mask:
          NO*: redact
        columns:
          QTY: {expression: gone + 1, type: int}
        add:
          own: absent + 1
        where: region = 'EU'
        column_order: [NOT_THERE]
"""


def found(tmp_path: Path, text: str) -> dict[str, str]:
    """Return the text of the line that each problem names."""
    file = tmp_path / "pipelines.yml"
    file.write_text(text)
    pipeline = load_configuration(file).pipelines["shop"].with_matched([T])
    findings = list(problem_findings(pipeline, T, resolve_mapping(pipeline, VERSION)[1], Known(file)))
    lines = {}
    for finding in findings:
        _, _, number = finding.cure.rpartition(f"{file}, line ")
        lines[finding.what.partition(", ")[0]] = text.splitlines()[int(number) - 1].strip()
    return lines


def test_a_problem_of_a_table_has_the_line_of_its_setting(tmp_path: Path) -> None:
    assert found(tmp_path, FILE) == {
        "`rename` names NOBODY": "nobody: x",
        "`mask` names NO*": "NO*: redact",
        "the expression of QTY needs GONE": "QTY: {expression: gone + 1, type: int}",
        "the added column everywhere needs NOWHERE": "add: {everywhere: nowhere + 1}",
        "the added column own needs ABSENT": "own: absent + 1",
        "`where` needs REGION": "where: region = 'EU'",
        "ID is part of the key": 'mask: {"I*": redact}',
        "`column_order` names NOT_THERE": "column_order: [NOT_THERE]",
    }


def test_a_problem_of_a_pattern_has_the_line_of_the_patterns_setting(tmp_path: Path) -> None:
    of_pattern = FILE[: FILE.index("      - table: shop.people")]
    assert found(tmp_path, of_pattern) == {
        "`where` needs REGION": "where: region = 'US'",
        "the added column of_pattern needs MISSING": "of_pattern: missing + 1",
        "the added column everywhere needs NOWHERE": "add: {everywhere: nowhere + 1}",
        "ID is part of the key": 'mask: {"I*": redact}',
    }


@pytest.mark.parametrize("text", ["", "- no mapping", "pipelines: {shop: 3}", ": : :"])
def test_a_file_that_has_changed_meanwhile_has_no_lines(tmp_path: Path, text: str) -> None:
    (tmp_path / "first.yml").write_text(FILE)
    pipeline = load_configuration(tmp_path / "first.yml").pipelines["shop"].with_matched([T])
    (tmp_path / "now.yml").write_text(text)
    problems = resolve_mapping(pipeline, VERSION)[1]
    assert all(", line" not in one.cure for one in problem_findings(pipeline, T, problems, Known(tmp_path / "now.yml")))


TAKEN = TableVersion(
    T, Scn(5), 7, 8,
    (Column(1, "ID", NUMBER, 1, nullable=False), Column(2, "_commit_scn", NUMBER, 2), Column(3, "EMAIL", TEXT, 3)), (1,), 7,
)  # fmt: skip


@pytest.mark.parametrize(
    ("entry", "taken"),
    [
        ({}, ["its history would have two columns of a name: _commit_scn"]),
        ({"rename": {'"_commit_scn"': "scn_of_theirs"}}, []),
        ({"rename": {'"_commit_scn"': "scn_of_theirs", "EMAIL": "_op"}}, ["its history would have two columns of a name: _op"]),
    ],
)
def test_a_history_is_refused_for_names_of_the_lake_and_not_of_oracle(entry: dict[str, Any], taken: list[str]) -> None:
    settings = pipeline({"history": "changes", **entry})
    version = replace(TAKEN, mapping=resolve_mapping(settings, TAKEN)[0])

    assert [finding.what for finding in history_findings(settings, version)] == taken


def test_names_that_the_lake_cannot_hold_have_the_lines_that_give_them(tmp_path: Path) -> None:
    text = (
        FILE[: FILE.index("    add:")]
        + """\
    tables:
      - table: SHOP.ORDERS
        rename:
          A: _Commit_Scn
          C: d
"""
    )
    file = tmp_path / "pipelines.yml"
    file.write_text(text)
    shop = load_configuration(file).pipelines["shop"]
    table = replace(TABLE, columns=(ID, *(column(name, ID.type, number) for number, name in enumerate("ACD", 2))))
    found = list(findings_of_lake(shop, table, ConfiguredTable(ORDERS, {}), Known(file)))
    lines = [text.splitlines().index(f"          {sought}") + 1 for sought in ("A: _Commit_Scn", "C: d")]

    assert [(finding.what, finding.cure.rpartition(": ")[2]) for finding in found] == [
        ("column names are reserved for Redolake: _commit_scn (here _Commit_Scn)", f"{file}, line {lines[0]}"),
        ("column names differ only in case, which Delta does not distinguish: D, d", f"{file}, line {lines[1]}"),
    ]
