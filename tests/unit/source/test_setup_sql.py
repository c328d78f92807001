"""The set-up script: each flavour uses its platform's statements, and none asks more than it has to."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from redolake.cli import app
from redolake.errors import ConfigurationError
from redolake.source.setup_sql import Flavour, Grants, KeyLogging, SetupChoices, default_user, likely_flavour, setup_sql
from redolake.values.table import TableId
from redolake.values.table_pattern import TablePattern

TABLES = {TableId("SHOP", "ORDERS"): "PRIMARY KEY", TableId("SHOP", "Notes & more"): "ALL"}


def script(flavour: Flavour = Flavour.cdb, **choices: object) -> str:
    return setup_sql(SetupChoices(flavour, **{"user": default_user(flavour), **choices}))  # type: ignore[arg-type]


@pytest.mark.parametrize("flavour", Flavour)
def test_no_comment_contains_an_ampersand_or_ends_with_a_hyphen(flavour: Flavour) -> None:
    comments = [line for line in script(flavour, tables=TABLES).splitlines() if line.lstrip().startswith("--")]

    assert [line for line in comments if "&" in line or line.endswith("-")] == []


@pytest.mark.parametrize("flavour", Flavour)
@pytest.mark.parametrize("container", [None, "FREEPDB1"])
def test_after_the_questions_an_ampersand_is_only_a_character(flavour: Flavour, container: str | None) -> None:
    text = script(flavour, container=container, tables=TABLES)
    asked, _, rest = text.partition("SET DEFINE OFF\n")

    assert '"SHOP"."Notes & more"' in rest
    assert "WHENEVER SQLERROR EXIT FAILURE\n" in asked
    assert "SET VERIFY OFF\n" in asked


@pytest.mark.parametrize(
    ("flavour", "foreign"),
    [
        (Flavour.cdb, "rdsadmin"),
        (Flavour.non_cdb, "c##|CONTAINER|PLUGGABLE|CDB_TABLES|V_[$]PDBS|rdsadmin"),
        (Flavour.rds, "c##|CONTAINER|ALTER DATABASE|ALTER SYSTEM|ON SYS[.]|PLUGGABLE"),
        (Flavour.pdb_only, "c##|CONTAINER|ALTER DATABASE|ALTER SYSTEM|CDB_TABLES|rdsadmin"),
    ],
)
@pytest.mark.parametrize("key_logging", KeyLogging)
def test_no_flavour_has_statements_of_another(flavour: Flavour, foreign: str, key_logging: KeyLogging) -> None:
    text = script(flavour, tables=TABLES, key_logging=key_logging)
    statements = [line for line in text.splitlines() if not line.lstrip().startswith("--")]

    assert [line for line in statements if re.search(foreign, line)] == []


@pytest.mark.parametrize(
    ("key_logging", "lines"),
    [
        (
            KeyLogging.table,
            [
                'ALTER TABLE "SHOP"."ORDERS" ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS;',
                'ALTER TABLE "SHOP"."Notes & more" ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS;',
            ],
        ),
        (
            KeyLogging.database,
            [
                "ALTER PLUGGABLE DATABASE ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS;",
                'ALTER TABLE "SHOP"."Notes & more" ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS;',
            ],
        ),
    ],
)
def test_keys_are_logged_per_table_or_for_all(key_logging: KeyLogging, lines: list[str]) -> None:
    text = script(container="FREEPDB1", tables=TABLES, key_logging=key_logging)

    assert [line for line in text.splitlines() if line.startswith("ALTER") and line.endswith("COLUMNS;")] == lines


@pytest.mark.parametrize(
    ("tables", "option", "grants", "logged"),
    [
        (["SHOP.ORDERS"], [], 'ON "SHOP"."ORDERS"', 'TABLE "SHOP"."ORDERS"'),
        (["SHOP.ORDERS", "SHOP.*"], [], "ANY TABLE", "PLUGGABLE DATABASE"),
        (["SHOP.*"], ["--key-logging", "table"], "ANY TABLE", None),
        (["SHOP.*"], ["--table", "SHOP.ORDERS"], 'ON "SHOP"."ORDERS"', 'TABLE "SHOP"."ORDERS"'),
    ],
)
def test_tables_that_a_pattern_will_match_are_readable_and_have_their_keys_logged(
    tmp_path: Path, tables: list[str], option: list[str], grants: str, logged: str | None
) -> None:
    file = tmp_path / "pipelines.yml"
    source = "{connection: oracle_shop, container: FREEPDB1}"
    file.write_text(f"pipelines: {{shop: {{source: {source}, landing: /l, lake: /d, tables: {tables!r}}}}}")
    done = CliRunner().invoke(app, ["setup-sql", "--config", str(file), *option])

    lines = done.output.splitlines()
    assert [line for line in lines if line.startswith("GRANT SELECT") and grants in line and "FLASHBACK" in line]
    found = [line for line in lines if line.startswith("ALTER") and "PRIMARY KEY" in line]
    assert [line.split(" ADD ")[0] for line in found] == ([] if logged is None else [f"ALTER {logged}"])


@pytest.mark.parametrize(
    ("flavour", "choices", "option"),
    [
        (Flavour.cdb, {"user": "redolake"}, "--user"),
        (Flavour.non_cdb, {"user": "C##REDOLAKE"}, "--user"),
        (Flavour.pdb_only, {"force_logging": True}, "--flavour pdb-only"),
        (Flavour.pdb_only, {"archive_lag_seconds": 300}, "--flavour pdb-only"),
        (Flavour.rds, {"archive_lag_seconds": 300}, "--archive-lag-target"),
    ],
)
def test_choices_that_exclude_each_other_are_refused(flavour: Flavour, choices: dict[str, object], option: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        script(flavour, **choices)

    assert [finding.subject for finding in refused.value.findings] == [option]


@pytest.mark.parametrize(
    ("user", "dsn", "container", "configured", "flavour"),
    [
        (None, None, None, False, Flavour.cdb),
        (None, None, "FREEPDB1", True, Flavour.cdb),
        ("c##redolake", "host:1521/FREE", "FREEPDB1", True, Flavour.cdb),
        ("redolake", "host:1521/FREEPDB1", "FREEPDB1", True, Flavour.pdb_only),
        ("redolake", "host:1521/ORCL", None, True, Flavour.non_cdb),
        (None, None, None, True, Flavour.non_cdb),
        ("admin", "x.abc.eu-west-1.rds.amazonaws.com:1521/ORCL", None, True, Flavour.rds),
    ],
)
def test_the_connection_and_the_container_suggest_the_flavour(
    user: str | None, dsn: str | None, container: str | None, configured: bool, flavour: Flavour
) -> None:
    assert likely_flavour(user, dsn, container, configured=configured) == flavour


def test_a_connection_without_the_root_suggests_pdb_only() -> None:
    assert likely_flavour("redolake", "host:1521/PDB7", None, pdb_only=True, configured=True) == Flavour.pdb_only


def printed(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["setup-sql", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def test_the_command_needs_no_pipelines_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    text = printed("--user", "c##mirror", "--container", "PDB7", "--table", "shop.orders")

    assert "CREATE USER c##mirror " in text
    assert "ALTER SESSION SET CONTAINER = PDB7;" in text
    assert 'GRANT SELECT, FLASHBACK ON "SHOP"."ORDERS" TO c##mirror;' in text


def test_the_command_takes_what_the_file_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AIRFLOW_CONN_DB", "oracle://c%23%23mirror:secret@host/FREE")
    tables = "[SHOP.ORDERS, {table: SHOP.NOTES, key: rowid}]"
    Path("pipelines.yml").write_text(
        f"pipelines: {{shop: {{source: {{connection: db, container: PDB7}}, landing: /l, lake: /k, tables: {tables}}}}}"
    )

    text = printed()

    assert re.findall("^ACCEPT (.+)$", text, re.MULTILINE) == ["password CHAR PROMPT 'Password for c##mirror: ' HIDE"]
    assert "CONTAINER = PDB7;" in text
    assert 'ALTER TABLE "SHOP"."NOTES" ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS;' in text


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ('["SHOP.*", {match: "HR.*", unsupported_columns: reread}]', "\nGRANT EXECUTE ANY TYPE TO c##redolake;"),
        ("[{table: SHOP.HOMES, unsupported_columns: reread}]", "doctor names them: GRANT EXECUTE ON owner.type TO c##redolake"),
        ("[SHOP.HOMES]", None),
    ],
)
def test_types_of_columns_that_are_read_again_need_a_grant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tables: str, said: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pipelines.yml").write_text(
        f"pipelines: {{shop: {{source: {{connection: db, container: PDB7}}, landing: /l, lake: /k, tables: {tables}}}}}"
    )

    text = printed()

    assert said in text if said else "EXECUTE ANY TYPE" not in text and "owner.type" not in text


HOSTILE = [
    "redo'); DROP TABLE x; --",
    "a\nDROP USER x;",
    'a"b',
    "a&b",
    "a--b",
    "a/*b",
    "a;b",
    "a\\b",
    "",
    "a\u202eb",
    "a\0b",
    "x" * 129,
]


@pytest.mark.parametrize("flavour", Flavour)
@pytest.mark.parametrize("option", ["--user", "--container", "--table"])
def test_no_name_ends_its_statement_its_text_or_its_comment(flavour: Flavour, option: str) -> None:
    for name in HOSTILE:
        if option == "--table" and name in ("a&b", "a\\b"):  # plain characters there, after SET DEFINE OFF
            continue
        named: dict[str, Any] = {
            "--user": {"user": f"C##{name}" if flavour == Flavour.cdb and name else name},
            "--container": {"container": name},
            "--table": {"tables": {TableId("SHOP", name): "ALL"}},
        }[option]
        with pytest.raises(ConfigurationError) as refused:
            script(flavour, **named)
        assert option in [finding.subject for finding in refused.value.findings], (name, refused.value)


def test_a_pattern_is_a_text_of_the_script() -> None:
    hostile = TablePattern.parse('"SH\'OP".A_B%*')
    text = script(patterns=(hostile,), grants=Grants.table)

    assert "owner = 'SH''OP' AND table_name LIKE 'A\\_B\\%%' ESCAPE '\\'" in text
    with pytest.raises(ConfigurationError, match="--table"):
        script(patterns=(TablePattern.parse('"A\nB".*'),))


def test_oracle_compares_names_with_a_regular_expression_that_it_reads_alike() -> None:
    text = script(patterns=(TablePattern.parse(r"SHOP./ORDERS_(?P<year>\d{4})/"),), grants=Grants.table)
    other = script(patterns=(TablePattern.parse(r"SHOP./(?!TMP).*/"),), grants=Grants.table)

    assert r"owner = 'SHOP' AND REGEXP_LIKE(table_name, '^(ORDERS_(\d{4}))$', 'cn')" in text
    assert "Oracle cannot compare names with /(?!TMP).*/" in other
    assert "FOR t IN" not in other


def test_the_script_says_what_any_table_means() -> None:
    text = script(patterns=(TablePattern.parse("SHOP.*"),))

    assert "reads EVERY table of EVERY schema" in text
    assert "ANY TABLE" not in script(patterns=(TablePattern.parse("SHOP.*"),), grants=Grants.table)


@pytest.mark.parametrize("given", ["APP.*", "APP./ORDERS_[0-9]+/", "app.order?"])
def test_a_pattern_of_the_command_is_a_pattern_of_the_script(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["setup-sql", "--table", given, "--table", "APP.ITEMS", "--table", "!APP.OLD*"])

    expected = script(
        tables={TableId("APP", "ITEMS"): "PRIMARY KEY"},
        patterns=(TablePattern.parse(given),),
        excluded=(TablePattern.parse("APP.OLD*"),),
        key_logging=KeyLogging.database,
    )
    assert (done.exit_code, done.output) == (0, expected)


def test_a_name_that_is_no_table_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["setup-sql", "--table", "ORDERS"])

    assert (done.exit_code, "ORDERS" in done.output) == (2, True), done.output
