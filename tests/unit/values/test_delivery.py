"""A table's delivery is decided from its version alone, and each stage treats every kind."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

import redolake
from redolake.records.batches.spec import Course, Destination, TableTask
from redolake.records.codec import decode, encode
from redolake.values.delivery import (
    KINDS,
    PLAIN,
    Appended,
    Assembled,
    Delivery,
    Keyed,
    NullableKey,
    Plain,
    RereadRows,
    RereadValues,
    as_shown,
    deliveries_of,
    delivery_of,
    is_in_redo,
    widest,
)
from redolake.values.scn import Scn
from redolake.values.table import Column, ColumnChoice, IgnoredColumn, OracleType, TableId, TableVersion
from tests.unit.records.samples import BATCH

ID, NAME = Column(1, "ID", OracleType("NUMBER"), 1, nullable=False), Column(2, "NAME", OracleType("VARCHAR2", length=9), 2)
BODY, DOC, FLAG = (Column(n, t, OracleType(t), n) for n, t in ((3, "CLOB"), (4, "XMLTYPE"), (5, "BOOLEAN")))
STORE = IgnoredColumn(6, "system", "SYS_NC00006$", part_of="XMLTYPE")
OF_ROOT = Path(redolake.__file__).parent
# Where each stage treats the kinds differently (the docstring of pipelines/redolake/values/delivery.py).
MATCHES = {
    "assemble/valueless.py": set(get_args(Delivery)),
    "apply/delivery/keyed.py": set(get_args(Keyed)),
    "apply/delivery/__init__.py": set(get_args(Delivery)),
    "apply/commit_ranges.py": set(get_args(Delivery)),
    "apply/verify/compare.py": set(get_args(Delivery)),
    "schema/ddl/segment.py": set(get_args(Delivery)),
    "values/history.py": set(get_args(Delivery)),
}
# Beside these tables, a kind is named where its own way into the lake is, and in the table of what capture reads again.
NAMED_IN = re.compile(r"apply/delivery/\w+\.py|steps/capture/reread/__init__\.py|values/delivery\.py|" + "|".join(MATCHES))


def version(*columns: Column, objects: str = "refuse", unsupported: str = "refuse", **more: object) -> TableVersion:
    choice = ColumnChoice(large_objects=objects, unsupported=unsupported)  # type: ignore[arg-type]
    fixed = {"key": (1,), "next_column_id": 9, "choice": choice, **more}
    return TableVersion(TableId("S", "T"), Scn(10), 1, 1, (ID, NAME, *columns), **fixed)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (version(), PLAIN),
        (version(key=(0,), key_kind="rowid"), PLAIN),
        (version(key=(2,), key_kind="columns"), NullableKey()),
        (version(key=(1,), key_kind="columns"), PLAIN),
        (version(key=(2,), key_kind="columns", organization="index"), PLAIN),
        (version(BODY, objects="reread"), RereadValues((3,))),
        (version(BODY, key=(2,), key_kind="columns", objects="reread"), RereadValues((3,))),
        (version(BODY, DOC, objects="redo"), Assembled((3, 4), frozenset({4}))),
        (version(FLAG, unsupported="reread"), RereadRows()),
        (version(FLAG, BODY, unsupported="reread", objects="redo"), RereadRows()),
        (version(ignored=(IgnoredColumn(5, "excluded", "FLAG", "BOOLEAN"),), unsupported="reread"), RereadRows()),
        (version(key=(), key_kind="append"), Appended()),
    ],
    ids=str,
)
def test_the_delivery_follows_from_columns_key_and_choice(version: TableVersion, expected: Delivery) -> None:
    assert delivery_of(version) == expected


def test_where_one_version_has_rows_read_again_all_have() -> None:
    old, new = version(BODY, objects="redo", unsupported="reread"), version(BODY, FLAG, objects="redo", unsupported="reread")

    assert deliveries_of([old]) == (Assembled((3,)),)
    assert deliveries_of([old, new]) == (RereadRows(), RereadRows())


def test_the_widest_delivery_is_the_one_that_needs_most_rows() -> None:
    assert widest([]) == PLAIN
    assert widest([PLAIN, RereadValues((3,)), NullableKey()]) == RereadValues((3,))
    assert set(KINDS) == set(get_args(Delivery))


def test_only_a_delivery_whose_changes_are_rows_of_the_redo_is_in_it() -> None:
    kinds = (Plain(), NullableKey(), Appended(), RereadValues((3,)), Assembled((3,)), RereadRows())
    assert [is_in_redo([one]) for one in kinds] == [True, True, True, False, False, False]


def test_a_value_of_the_hidden_column_of_an_assembled_document_is_not_dropped() -> None:
    stored = version(DOC, objects="redo", ignored=(STORE,))

    assert as_shown(stored, delivery_of(stored)).ignored == ()
    assert as_shown(stored, RereadRows()).ignored == (STORE,)


def test_a_spec_carries_the_delivery_of_each_version() -> None:
    versions = (version(), version(BODY, objects="redo").since(Scn(20)))
    task = TableTask(TableId("S", "T"), Destination("/lake/t", "p/S.T/1"), Course(versions))
    spec = replace(BATCH, tables=(task,))

    assert task.course.deliveries == (PLAIN, Assembled((3,)))
    assert decode(type(spec), encode(spec), "spec").tables[0].course.deliveries == task.course.deliveries


@pytest.mark.parametrize("module", MATCHES)
def test_each_stage_treats_every_kind(module: str) -> None:
    tree = ast.parse((OF_ROOT / module).read_text())
    cases = {
        node.cls.id for case in ast.walk(tree) if isinstance(case, ast.match_case) for node in ast.walk(case.pattern)
        if isinstance(node, ast.MatchClass) and isinstance(node.cls, ast.Name)
    }  # fmt: skip
    assert {kind.__name__ for kind in MATCHES[module]} <= cases
    assert "assert_never" in ast.unparse(tree)


def test_no_other_code_asks_which_kind_a_delivery_is() -> None:
    kinds = {kind.__name__ for kind in KINDS}
    found = []
    for path in sorted(OF_ROOT.rglob("*.py")):
        text, where = path.read_text(), path.relative_to(OF_ROOT).as_posix()
        imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
        named = kinds & {one.name for node in imports if node.module == "redolake.values.delivery" for one in node.names}
        found += [f"{where} names {kind}" for kind in sorted(named) if not NAMED_IN.fullmatch(where)]
        asked = [line.strip() for line in text.splitlines() if re.search(rf"isinstance\(.*\b({'|'.join(kinds)})\b", line)]
        found += [f"{where}: {line}" for line in asked if named or where == "values/delivery.py"]
    assert found == []
