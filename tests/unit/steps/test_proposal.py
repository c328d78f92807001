"""The settings that `init` proposes, and the file it writes."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from redolake.config import parse_configuration
from redolake.config.mapping import by_column, column_name, of_column
from redolake.reconcile.chosen_columns import chosen, rules_of
from redolake.reconcile.mappings import resolve_mapping
from redolake.schema import baseline
from redolake.source import ConfiguredTable
from redolake.steps.checks.lake_findings import lake_findings
from redolake.steps.setup.first_file import FirstFile, first_file
from redolake.steps.setup.proposal import ProposedTable, propose_table
from redolake.values.dictionary_table import DictionaryColumn, DictionaryTable
from redolake.values.scn import Scn
from redolake.values.table import KeyPolicy, LargeObjects, OracleType, Part, TableId, UniqueIndex
from redolake.values.target_options import DEFAULT

ORDERS = TableId("SHOP", "ORDERS")


def column(name: str, type_: OracleType, position: int, nullable: bool = True) -> DictionaryColumn:
    return DictionaryColumn(name, type_, position, position, nullable)


ID = column("ID", OracleType("NUMBER", precision=9, scale=0), 1, nullable=False)
TABLE = DictionaryTable(ORDERS, 1, 1, (ID,), ("ID",), frozenset(), Scn(1), Scn(2))


def proposed(*columns: DictionaryColumn, objects: LargeObjects = "reread", **changes: object) -> ProposedTable:
    return propose_table(replace(TABLE, columns=(ID, *columns), **changes), {}, objects)  # type: ignore[arg-type]


def test_a_table_with_a_primary_key_is_captured_as_it_is() -> None:
    assert proposed() == ProposedTable(ORDERS)


def test_a_column_of_an_unsupported_type_is_left_out_and_named() -> None:
    found = proposed(column("SHAPE", OracleType("BFILE"), 2))

    assert (found.exclude_columns, found.refused) == (("SHAPE",), ())
    assert any(why.startswith("SHAPE is left out: type BFILE is not supported") for why in found.why)


def test_a_number_that_no_decimal_holds_is_stored_as_text() -> None:
    assert proposed(column("BIG", OracleType("NUMBER", precision=38, scale=-5), 2)).columns == {"BIG": "string"}


def test_a_unique_index_with_nulls_is_no_proposal() -> None:
    code = column("CODE", OracleType("NUMBER", precision=9, scale=0), 2)
    index = UniqueIndex("CODES", 7, ("CODE",))

    assert proposed(code, key=(), unique=(index,)).key == KeyPolicy("rowid")
    assert proposed(replace(code, nullable=False), key=(), unique=(index,)).key == KeyPolicy("columns", ("CODE",))


def test_large_objects_of_an_index_organized_table_are_left_out() -> None:
    found = proposed(column("BODY", OracleType("CLOB"), 2), iot=True, parts=(Part(5),))

    assert (found.large_objects, found.refused) == ("exclude", ())


def test_objects_from_the_redo_need_a_key_of_columns() -> None:
    body, document = column("BODY", OracleType("CLOB"), 2), column("DOC", OracleType("XMLTYPE"), 3)
    plain, keyless, in_index = (
        proposed(body, objects="redo", **changes) for changes in ({}, {"key": ()}, {"iot": True, "parts": (Part(5),)})
    )

    assert (plain.large_objects, plain.refused) == (None, ())
    assert (keyless.key, keyless.large_objects, keyless.refused) == (KeyPolicy("rowid"), "reread", ())
    assert (in_index.large_objects, in_index.refused) == ("exclude", ())
    assert [proposed(document, objects=objects).rereads_rows for objects in ("redo", "reread")] == [False, True]
    assert proposed(document, objects="redo").exclude_columns == ()


def test_rows_that_logminer_does_not_show_are_read_again_where_they_have_a_rowid() -> None:
    flag, photo = column("FLAG", OracleType("BOOLEAN"), 2), column("PHOTO", OracleType("BFILE"), 3)

    assert (proposed(flag).rereads_rows, proposed(flag).refused) == (True, ())
    assert (proposed(flag, photo).rereads_rows, proposed(flag, photo).exclude_columns) == (True, ("PHOTO",))
    assert "as UNSUPPORTED" in proposed(flag, iot=True, parts=(Part(5),)).refused[0]
    assert proposed(column("PLACE", OracleType("UROWID"), 4)).rereads_rows


def test_a_table_whose_names_the_lake_cannot_hold_is_left_out_with_the_reason() -> None:
    found = proposed(column("id", OracleType("DATE"), 2), column("_commit_scn", OracleType("DATE"), 3))

    assert [why.partition(":")[0] for why in found.refused] == [
        "column names are reserved for Redolake",
        "column names differ only in case, which Delta does not distinguish",
    ]


def test_odd_names_in_the_file_are_read_back_as_they_are() -> None:
    odd = TableId("Shop it's", "on: #1")
    settings = {"on": "string", "Total $": 2, "YES": "integer"}
    table = ProposedTable(odd, KeyPolicy("columns", ("Key 1", "ON")), settings, ("Old one",), rereads_rows=True)
    refused = ProposedTable(TableId("SHOP", "a*b"), refused=("why: # not",))
    file = FirstFile(
        "p", "c", "PDB-1", "/d - 1/landing", "s3://b/lake", None, "exclude", ("SHOP.*",), (table, refused), head="x"
    )

    read = parse_configuration(first_file(file), {}).pipelines["p"]

    (found,) = read.tables
    columns = {column_name(name): rule for name, rule in found.columns.items()}
    assert (found.id, found.key_policy, columns, found.exclude_columns) == (odd, table.key, settings, ("Old one",))
    assert found.unsupported_columns == "reread"
    assert (read.source.container, read.landing, read.large_objects) == ("PDB-1", "/d - 1/landing", "exclude")
    assert (read.match_of(refused.table), read.match_of(ORDERS) is not None) == (None, True)


@pytest.mark.parametrize(
    "name", ["${HOME}", "a\n  landing: /evil", "a\u2028  landing: /evil", "a' , b", "\\u0041", "\x07", "a\\\n"]
)
def test_a_name_of_the_source_adds_no_setting_and_reads_no_variable(name: str) -> None:
    odd, setting = TableId("SHOP", name), f"{name}$"
    table = ProposedTable(odd, KeyPolicy("columns", (name,)), {setting: "string"}, (f"x{name}",), why=(f"{name}: odd",))
    plain = ProposedTable(TableId("SHOP", f"B{name}"), why=(f"{name} is odd",))
    file = FirstFile("p", "c", None, "/l", "/k", None, "exclude", (), (table, plain))

    read = parse_configuration(first_file(file), {"HOME": "/root"}).pipelines["p"]

    assert [one.id for one in read.tables] == [plain.table, odd]
    columns = {column_name(text): rule for text, rule in read.tables[1].columns.items()}
    assert (read.landing, read.tables[1].key_policy, columns) == ("/l", table.key, {setting: "string"})
    assert read.tables[1].exclude_columns == table.exclude_columns


HOSTILE = (
    "id", "Id", "iD", "_commit_scn", "_Commit_Scn", "_rowid", "_metadata", "EMAIL", "email", "E*", "E?", "a.b", "a`b", "x y",
    "x_2",
    "x,y;{}()=", "ß", "İ", "\u212a", "k", "σ", "ς", "ON", "on", "NULL", "null", "yes", "${HOME}", "$${A}", "😀",
    "- a", "#", "'", "a: b",
    "SSN", "ssn", "id_2", "é" * 15, "{}", "[x]", "&a", "!b", "%c", "@d", "~", "1", "1.5", "2024-01-01", "A\tB",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(60))
def test_the_file_for_hostile_names_loads_and_means_what_was_proposed(seed: int) -> None:
    chance = Random(seed)
    names = chance.sample(HOSTILE, chance.randint(1, 12))
    types = (ID.type, OracleType("VARCHAR2", length=9), OracleType("NUMBER"), OracleType("BFILE"), OracleType("CLOB"))
    columns = [column(name, chance.choice(types), n) for n, name in enumerate(names, 2)]
    own = ID if chance.random() < 0.5 else replace(columns[0], type=ID.type, nullable=False)
    table = replace(TABLE, columns=tuple({one.name: one for one in (ID, *columns, own)}.values()), key=(own.name,))
    numbers = {one.name: chance.choice(("integer", 2, "string", None)) for one in columns if one.type.name == "NUMBER"}
    proposal = propose_table(table, numbers, "exclude", maps=True)
    file = FirstFile("p", "c", None, "/l", "/k", None, "exclude", (), (proposal,))
    pipeline = parse_configuration(first_file(file), {}).pipelines["p"]
    (read,) = pipeline.tables
    rules, choice = by_column(read.rules, [one.name for one in table.columns]), pipeline.choice(ORDERS)
    chosen_ones = chosen(pipeline, table)
    version = baseline(chosen_ones, table.scn_before, None, read.key_policy, choice)
    mapping, problems = resolve_mapping(pipeline, version)
    mapped = replace(version, mapping=mapping)
    wanted = ConfiguredTable(ORDERS, rules, read.key_policy, choice)

    assert (proposal.refused, problems, read.new_names, read.masks) == ((), (), proposal.rename, proposal.mask)
    assert {name: of_column(read.rules, name) for name in proposal.columns} == proposal.columns
    assert read.exclude_columns == proposal.exclude_columns
    assert list(lake_findings(table, wanted, rules_of(pipeline, table), DEFAULT, mapped)) == []
