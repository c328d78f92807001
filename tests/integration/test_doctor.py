"""Findings of `doctor` for a pipeline with a first snapshot, against the stand-in."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redolake import steps
from redolake.context import Run
from redolake.errors import ConfigurationError, RedolakeError
from redolake.steps.run import capture
from redolake.values.scn import Scn
from tests.fixtures.shop import Shop
from tests.support.doctor import run_doctor


@pytest.fixture
def pipeline(shop: Shop):
    shop.run_sql(
        "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20))",
        "ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
    )
    pipeline = shop.pipeline(tables=["SHOP.PARTS"])
    steps.begin_snapshot(Run(pipeline, shop.params))
    return pipeline


def errors(pipeline, shop: Shop) -> list[str]:
    return [str(f) for f in run_doctor(pipeline, shop.params) if f.severity == "error"]


def move_position(pipeline, **changes) -> None:
    with Run(pipeline) as context:
        position = context.ledger.position()
        assert position is not None
        context.ledger.correct_position(replace(position, **changes))


def test_a_healthy_pipeline_has_no_errors(pipeline, shop: Shop) -> None:
    assert errors(pipeline, shop) == []


@pytest.mark.parametrize(
    "changes",
    [{"dbid": 1}, {"resetlogs_id": 1}, {"scn": Scn(5)}],
    ids=["another database", "an unknown incarnation", "redo that was deleted"],
)
def test_an_unreadable_position_is_an_error_with_a_cure(pipeline, shop: Shop, changes) -> None:
    move_position(pipeline, **changes)

    (found,) = errors(pipeline, shop)

    assert found.startswith("shop at SCN")
    assert "do this:" in found


@pytest.mark.parametrize("damage", ["garble_files", "overwrite_files", "truncate_files", "remove_files"])
def test_a_log_that_a_run_could_not_read_is_an_error_until_it_is_read(pipeline, shop: Shop, damage: str) -> None:
    """V$ARCHIVED_LOG still lists it, and doctor opens the newest one of each thread alone."""
    for key in range(3):
        shop.run_sql(f"INSERT INTO parts VALUES ({key}, 'W1')")
        shop.switch_logs()
    getattr(shop.oracle.faults, damage)(thread=1, from_sequence=2, to_sequence=2)
    assert errors(pipeline, shop) == []
    with pytest.raises(RedolakeError) as stopped:
        capture(Run(pipeline, shop.params))

    (found,) = errors(pipeline, shop)
    assert found.startswith("shop at SCN")
    assert stopped.value.what in found

    shop.oracle.faults.restore_logs()
    capture(Run(pipeline, shop.params))
    assert errors(pipeline, shop) == []


def test_doctor_reports_its_progress(pipeline, shop: Shop) -> None:
    said: list[str] = []
    steps.examine(Run(pipeline, shop.params, report=said.append))

    assert said == [
        "checking privileges, redo and parameters",
        "reading the dictionary of 1 table(s)",
        "reading tables AS OF an SCN: 0 of 1",
    ]


def test_errors_come_before_warnings_and_notes(pipeline, shop: Shop) -> None:
    move_position(pipeline, dbid=1)

    severities = [f.severity for f in run_doctor(pipeline, shop.params)]

    assert severities == sorted(severities, key=("error", "warning", "note").index)
    assert set(severities) == {"error", "warning", "note"}


def test_logging_of_the_whole_container_is_sufficient_and_reported(pipeline, shop: Shop) -> None:
    shop.run_sql("ALTER TABLE parts DROP SUPPLEMENTAL LOG DATA (ALL) COLUMNS")
    before = errors(pipeline, shop)
    with shop.oracle.connect("SYS", dsn=shop.oracle.pdb_dsn) as pdb:
        pdb.cursor().execute("ALTER PLUGGABLE DATABASE ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS")

    assert [finding.startswith("SHOP.PARTS: has no supplemental logging of its primary key") for finding in before] == [True]
    assert errors(pipeline, shop) == []
    notes = [str(finding) for finding in run_doctor(pipeline, shop.params) if finding.severity == "note"]
    assert "SHOP.PARTS: supplemental logging of the primary key, set on its container" in notes


def test_a_closed_pdb_is_an_error_beside_the_other_findings(pipeline, shop: Shop) -> None:
    move_position(pipeline, dbid=1)
    shop.oracle.faults.close_pdb()
    try:
        found = errors(pipeline, shop)
    finally:
        shop.oracle.faults.open_pdb()

    assert [part in " ".join(found) for part in ("ALTER PLUGGABLE DATABASE FREEPDB1 OPEN", "shop at SCN")] == [True, True]


def test_a_privilege_is_required_only_where_it_is_needed(pipeline, shop: Shop) -> None:
    shop.run_sql(f"REVOKE SELECT ON SYS.DBA_SUPPLEMENTAL_LOGGING FROM {shop.oracle.capture_user} CONTAINER = ALL", user="SYS")
    before = errors(pipeline, shop)
    shop.run_sql("ALTER TABLE parts DROP SUPPLEMENTAL LOG DATA (ALL) COLUMNS")

    assert before == []
    assert "GRANT SELECT ON SYS.DBA_SUPPLEMENTAL_LOGGING" in errors(pipeline, shop)[0]


def test_doctor_measures_numbers_of_no_declared_scale_and_proposes_rules(shop: Shop) -> None:
    shop.run_sql(
        "CREATE TABLE sizes (id NUMBER PRIMARY KEY, price NUMBER, wide NUMBER, ratio FLOAT, weight FLOAT, nil NUMBER)",
        "ALTER TABLE sizes ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        "INSERT INTO sizes VALUES (7, 1.25, 1e40, 1/3, 2.5, NULL)",
        "INSERT INTO sizes VALUES (-1000, 30, 1/3, -8, 0, NULL)",
    )

    def findings(columns: dict[str, object]) -> list[tuple[str, str]]:
        pipeline = shop.pipeline(tables=[{"table": "SHOP.SIZES", "columns": columns}])
        found = [f for f in run_doctor(pipeline, shop.params) if "no declared scale" in f.what]
        return [(f.severity, f.cure.partition("columns: ")[2]) for f in found]

    proposed = "{ID: integer, WIDE: string, RATIO: string, WEIGHT: double}`"
    assert findings({}) == [("warning", proposed)]  # WIDE would stop the table
    assert findings({"WIDE": "string"}) == [("note", proposed.replace("WIDE: string, ", ""))]
    assert findings(dict.fromkeys(("ID", "PRICE", "WIDE", "RATIO", "WEIGHT"), "string")) == []


def test_large_objects_that_the_redo_may_not_show_are_not_assembled(shop: Shop) -> None:
    shop.run_sql(
        "CREATE TABLE papers (id NUMBER(9) PRIMARY KEY, body CLOB, scan BLOB, old CLOB) "
        "LOB (body) STORE AS SECUREFILE (COMPRESS HIGH DEDUPLICATE) "
        "LOB (old) STORE AS BASICFILE (CACHE)",
        "ALTER TABLE papers ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
    )
    assembled = shop.pipeline(tables=["SHOP.PAPERS"], large_objects="redo")
    reported = run_doctor(assembled, shop.params)
    found = {f.subject: f for f in reported if f.subject.startswith("SHOP.PAPERS")}

    assert [name for name, f in found.items() if f.severity == "error"] == ["SHOP.PAPERS.BODY"]
    assert "compressed and deduplicated" in found["SHOP.PAPERS.BODY"].what
    assert found["SHOP.PAPERS.SCAN"].what.endswith("of the SecureFile")
    assert found["SHOP.PAPERS.OLD"].what.endswith("of the BasicFile")
    assert any("took back a write" in f.what for f in reported if (f.subject, f.severity) == ("SHOP.PAPERS", "warning"))
    assert errors(shop.pipeline(tables=["SHOP.PAPERS"], large_objects="reread"), shop) == []
    without_key = shop.pipeline(tables=[{"table": "SHOP.PAPERS", "key": "rowid"}], large_objects="redo")
    assert ["or `redo` where the table has a key of columns" in what for what in errors(without_key, shop)] == [True] * 3


def test_doctor_and_init_foresee_what_the_load_would_refuse_of_names_and_layouts(shop: Shop) -> None:
    shop.run_sql(
        'CREATE TABLE twins (id NUMBER(9) PRIMARY KEY, "id" NUMBER(9), "_commit_scn" NUMBER(9), "_metadata" DATE)',
        "CREATE TABLE papers (id NUMBER(9) PRIMARY KEY, hash RAW(16), rate NUMBER(5,2), day DATE)",
        *(f"ALTER TABLE {name} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS" for name in ("twins", "papers")),
    )
    papers = {"table": "SHOP.PAPERS", "partition_by": ["HASH", "RATE", "GONE"]}
    pipeline = shop.pipeline(tables=["SHOP.TWINS", papers], column_names="lower")

    found = errors(pipeline, shop)

    for said in ("only in case", "reserved for Redolake: _commit_scn", "reserved for Delta: _metadata"):
        assert any(one.startswith("SHOP.TWINS: ") and said in one for one in found), said
    for said in ("hash, of type binary", "rate, of type decimal(5,2)", "does not have: gone"):
        assert any(one.startswith("SHOP.PAPERS: ") and said in one for one in found), said
    with pytest.raises(ConfigurationError) as refused:
        steps.begin_snapshot(Run(pipeline, shop.params))
    assert {finding.what for finding in refused.value.findings} == {one.partition(": ")[2].partition("\n")[0] for one in found}
    good = {"table": "SHOP.PAPERS", "partition_by": ["DAY"]}
    less = {"table": "SHOP.TWINS", "exclude_columns": ['"id"', '"_metadata"'], "metadata_columns": []}
    assert errors(shop.pipeline(tables=[good, less]), shop) == []
