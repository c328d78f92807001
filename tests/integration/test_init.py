"""`redolake init` against the stand-in: what it proposes, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from redolake.cli import app
from redolake.config import load_configuration
from redolake.source.olr import needed_configuration
from redolake.values.table import KeyPolicy, TableId
from redolake.values.table_pattern import TablePattern
from tests.fixtures.shop import Shop
from tests.support.doctor import run_doctor

ODD_TABLES = (
    "CREATE TABLE parts (code VARCHAR2(10) NOT NULL, price NUMBER, exact NUMBER, wide NUMBER, later NUMBER)",
    "CREATE UNIQUE INDEX parts_code ON parts (code)",
    "INSERT INTO parts VALUES ('a', 1.25, 1 / 3, 1e40, NULL)",
    "CREATE TABLE visits (at DATE, who VARCHAR2(20))",
    "CREATE TABLE letters (id NUMBER(9) PRIMARY KEY, body CLOB)",
    "CREATE TABLE vectors (id NUMBER(9) PRIMARY KEY, flag BOOLEAN NOT NULL)",
    "CREATE TABLE vector_index (id NUMBER(9) PRIMARY KEY, flag BOOLEAN NOT NULL) ORGANIZATION INDEX",
    "CREATE GLOBAL TEMPORARY TABLE scratch (id NUMBER(9) PRIMARY KEY)",
)


@pytest.fixture
def file(shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    user = shop.oracle.capture_user.replace("#", "%23")
    password = shop.oracle.passwords[shop.oracle.capture_user]
    monkeypatch.setenv("AIRFLOW_CONN_ORACLE_SHOP", f"oracle://{user}:{password}@{shop.oracle.root_dsn}")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "pipelines.yml"


def run(*arguments: str, typed: str = "") -> tuple[int, str]:
    result = CliRunner().invoke(app, ["init", *arguments], input=typed)
    return result.exit_code, result.output


def test_init_writes_a_file_that_doctor_accepts(shop: Shop, file: Path) -> None:
    code, output = run("--connection", "oracle_shop", "--yes")

    assert code == 0, output
    pipeline = load_configuration(file).pipelines["shop"]
    assert [f for f in run_doctor(pipeline, shop.params) if f.severity == "error"] == []
    assert "redolake doctor -p shop" in output


def test_init_proposes_keys_and_number_rules_and_says_what_is_left_out(shop: Shop, file: Path) -> None:
    shop.run_sql(*ODD_TABLES)

    code, output = run("SHOP", "--connection", "oracle_shop", "--yes")

    assert code == 0, output
    pipeline = load_configuration(file).pipelines["shop"]
    parts, visits, stock = (pipeline.table(TableId("SHOP", name)) for name in ("PARTS", "VISITS", "STOCK"))
    assert (parts.key_policy, parts.columns) == (KeyPolicy("columns", ("CODE",)), {"EXACT": "string", "WIDE": "string"})
    assert visits.key_policy == KeyPolicy("rowid")
    assert stock.columns == {"ON_HAND": "integer"}
    assert pipeline.large_objects == "reread"
    assert pipeline.table(TableId("SHOP", "VECTORS")).unsupported_columns == "reread"
    assert pipeline.match_of(TableId("SHOP", "VECTOR_INDEX")) is None
    lines = " ".join(file.read_text().split())
    assert "1 table(s) have large objects: SHOP.LETTERS\n  reread: read" in output
    for said in (
        "no values yet in LATER",
        "the unique index PARTS_CODE identifies rows",
        "SHOP.VECTOR_INDEX is left out: FLAG",
    ):
        assert said in lines
    assert "SHOP.SCRATCH is left out: it is a temporary table" in output
    assert (
        "in 2 table(s): SHOP.PARTS, SHOP.VISITS\n    do this: ALTER TABLE OWNER.TABLE ADD SUPPLEMENTAL LOG DATA (ALL)" in output
    )


def test_init_gives_tables_whose_names_differ_by_case_folders_of_their_own(shop: Shop, file: Path) -> None:
    shop.run_sql(
        'CREATE TABLE "Orders" (id NUMBER(9) PRIMARY KEY)', 'ALTER TABLE "Orders" ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS'
    )

    code, output = run("SHOP.*", "--connection", "oracle_shop", "--yes")

    assert code == 0, output
    pipeline = load_configuration(file).pipelines["shop"]
    assert pipeline.table(TableId("SHOP", "Orders")).path == "shop/orders-2"
    assert "its folder would be that of SHOP.ORDERS" in " ".join(output.split())
    assert [f for f in run_doctor(pipeline, shop.params) if f.severity == "error"] == []


def test_init_asks_for_what_no_option_says_and_shows_no_password(shop: Shop, file: Path) -> None:
    shop.run_sql("CREATE TABLE letters (id NUMBER(9) PRIMARY KEY, body CLOB)")
    user = shop.oracle.capture_user
    password = shop.oracle.passwords[user]
    typed = (f"{user}@{shop.oracle.root_dsn}", password, "SHOP.LETTERS shop.orders", "redo", "/data/landing", "/data/lake")

    code, output = run(typed="\n".join(typed) + "\n")

    assert code == 0, output
    pipeline = load_configuration(file).pipelines["shop"]
    assert [str(table.id) for table in pipeline.tables] == ["SHOP.LETTERS", "SHOP.ORDERS"]
    assert (pipeline.large_objects, pipeline.landing, pipeline.lake) == ("redo", "/data/landing", "/data/lake")
    assert f"export AIRFLOW_CONN_ORACLE_SHOP='oracle://{user.replace('#', '%23')}:PASSWORD@{shop.oracle.root_dsn}'" in output
    assert f"Password of {user}: \n" in output
    assert f":{password}@" not in output + file.read_text()


def test_init_never_replaces_a_file_unless_forced(file: Path) -> None:
    file.write_text("mine")

    code, output = run("--connection", "oracle_shop", "--yes")
    assert (code, file.read_text()) == (2, "mine")
    assert "exists already" in output
    assert run("--connection", "oracle_shop", "--yes", "--force")[0] == 0
    assert "mine" not in file.read_text()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["NOBODY.*"], "matches no table that this user may see"),
        (["SHOP.ORDER"], "did you mean SHOP.ORDERS"),
        (["SHOP", "--container", "OTHERPDB"], "one of: FREEPDB1"),
        (["SHOP", "--landing", "s3://bucket/landing"], "Ledger: Airflow connection id"),
        (["!SHOP.*"], "list at least one table or pattern"),
    ],
)
def test_init_writes_nothing_where_a_choice_is_wrong(file: Path, options: list[str], said: str) -> None:
    code, output = run("--connection", "oracle_shop", "--yes", "--output", "json", *options)

    assert (code, file.exists()) == (2, False)
    assert said in " ".join(output.replace("\u2502", " ").split())


def test_init_takes_tables_and_database_from_an_openlogreplicator_json(shop: Shop, file: Path, tmp_path: Path) -> None:
    shop.run_sql(
        "CREATE TABLE measures (id NUMBER(9) PRIMARY KEY, rough BINARY_DOUBLE)",
        "CREATE TABLE sorted (id NUMBER(9) PRIMARY KEY) ORGANIZATION INDEX",
    )
    tables = [TableId("SHOP", name) for name in ("CUSTOMERS", "MEASURES", "SORTED")]
    body = needed_configuration("SHOP_DB", "0.0.0.0:5000", tables, [TablePattern.parse("SHOP.ORDER*")])
    body["source"][0]["format"]["rid"] = 0
    (tmp_path / "OpenLogReplicator.json").write_text(json.dumps(body))

    code, output = run("--from-olr", "OpenLogReplicator.json", "--connection", "oracle_shop", "--yes")

    assert code == 0, output
    pipeline = load_configuration(file).pipelines["shop"]
    assert (pipeline.source.kind, pipeline.source.address, pipeline.source.database, pipeline.source.container) == (
        "openlogreplicator", "127.0.0.1:5000", "SHOP_DB", "FREEPDB1",
    )  # fmt: skip
    assert pipeline.choice(TableId("SHOP", "MEASURES")).exclude == ("ROUGH",)
    assert [match.match for match in pipeline.patterns] == ["SHOP.ORDER*"]
    assert "SHOP.SORTED is left out: is an index-organized table" in output
    assert "format.rid" in output


def test_init_answers_scripts_in_json(file: Path) -> None:
    result = CliRunner().invoke(app, ["init", "SHOP.ORDERS", "--connection", "oracle_shop", "--yes", "--output", "json"])

    made = json.loads(result.stdout)
    assert (made["pipeline"], [t["table"]["name"] for t in made["tables"]]) == ("shop", ["ORDERS"])


def test_init_proposes_names_and_masks_with_which_the_table_can_be_captured(shop: Shop, file: Path) -> None:
    shop.run_sql(
        'CREATE TABLE odd (id NUMBER(9) PRIMARY KEY, "id" NUMBER(9), "_commit_scn" NUMBER(9), email VARCHAR2(60))',
        "ALTER TABLE odd ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
    )
    _, without = run("SHOP.ODD", "SHOP.STOCK", "--connection", "oracle_shop", "--yes")
    file.unlink()
    code, output = run("SHOP.ODD", "--connection", "oracle_shop", "--yes", "--map")

    assert code == 0, output
    pipeline = load_configuration(file).pipelines["shop"]
    odd = pipeline.table(TableId("SHOP", "ODD"))
    assert "names differ only in case" in without
    assert odd.new_names == {"id": "id_2", "_commit_scn": "commit_scn_2"}
    assert odd.masks == {"EMAIL": "redact"}
    assert [f for f in run_doctor(pipeline, shop.params) if f.severity == "error"] == []
