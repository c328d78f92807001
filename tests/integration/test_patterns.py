"""Patterns of tables against the stand-in: what they match, what joins later, and what is reported."""

from __future__ import annotations

import json

import pytest

from redolake import steps
from redolake.context import Run
from redolake.errors import ConfigurationError, TableHeld
from redolake.source.session import OracleSession
from redolake.steps.run import capture
from tests.fixtures.shop import Shop
from tests.references.plain_lake import PlainLake
from tests.states.lost_ledger import lose_ledger
from tests.support.doctor import run_doctor

LOGGED = "ALTER TABLE {} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS"


def create(shop: Shop, *names: str) -> None:
    for name in names:
        shop.run_sql(f"CREATE TABLE {name} (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20))", LOGGED.format(name))


def captured(pipeline) -> list[str]:
    with Run(pipeline) as context:
        return [str(table.id) for table in context.pipeline.tables]


def states(pipeline) -> dict[str, str]:
    return {table.table: table.state for table in steps.read_status(pipeline).tables}


def plan_and_land(shop: Shop, pipeline):
    shop.run_sql("UPDATE a_parts SET place = 'x'", "INSERT INTO a_parts VALUES (1, 'y')", "DELETE FROM a_parts")
    shop.switch_logs()
    found = capture(Run(pipeline, shop.params)).plan
    assert found.outcome == "window", found.reason
    return found


@pytest.fixture
def parts(shop: Shop) -> Shop:
    create(shop, "a_parts", "a_bins", "a_tmp_one", "b_other")
    shop.run_sql("CREATE GLOBAL TEMPORARY TABLE a_scratch (id NUMBER(9) PRIMARY KEY)")
    return shop


def test_a_pattern_captures_what_it_matches_and_a_table_named_by_itself_keeps_its_own_settings(parts: Shop) -> None:
    pipeline = parts.pipeline(
        tables=[
            {"match": "SHOP.A_*", "key": "rowid"},
            "SHOP.*_BINS",
            "!SHOP.*_TMP_*",
            {"table": "SHOP.A_PARTS", "target": "parts"},
        ]
    )

    begun = steps.begin_snapshot(Run(pipeline, parts.params))

    assert sorted(begun.tables) == sorted(captured(pipeline)) == ["SHOP.A_BINS", "SHOP.A_PARTS"]
    with Run(pipeline) as context:
        settings = {str(table.id): (table.key, table.path) for table in context.pipeline.tables}
    assert settings == {"SHOP.A_PARTS": ("primary", "parts"), "SHOP.A_BINS": ("rowid", "shop/a_bins")}
    notes = [f for f in run_doctor(pipeline, parts.params) if f.subject == "SHOP.A_SCRATCH"]
    assert [(f.severity, "temporary table" in f.what) for f in notes] == [("note", True)]


def test_a_new_table_is_announced_and_joins_where_the_pipeline_says_so(parts: Shop) -> None:
    pipeline = parts.pipeline(tables=["SHOP.A_*", "!SHOP.A_TMP_*"])
    steps.begin_snapshot(Run(pipeline, parts.params))
    create(parts, "a_late")
    parts.run_sql("INSERT INTO a_late VALUES (1, 'early')")

    assert plan_and_land(parts, pipeline).announced == ("SHOP.A_LATE",)

    (new,) = steps.read_status(pipeline).announced
    assert (new.table, "SHOP.A_LATE" in states(pipeline)) == ("SHOP.A_LATE", False)
    assert "new_tables: capture" in new.cure
    joining = parts.pipeline(tables=["SHOP.A_*", "!SHOP.A_TMP_*"], new_tables="capture")
    assert plan_and_land(parts, joining).announced == ()
    assert states(joining)["SHOP.A_LATE"] == "new"
    assert "SHOP.A_LATE" in steps.joined_tables(joining)
    begun = steps.begin_snapshot(Run(joining, parts.params), ["SHOP.A_LATE"])
    assert steps.read_snapshot_table(Run(joining, parts.params), begun.scn, "SHOP.A_LATE").rows == 1


def test_a_table_without_a_folder_of_its_own_is_told_everywhere_before_anything_is_written(parts: Shop) -> None:
    create(parts, '"A_parts"', '"../SHOP/A_PARTS"')
    pipeline = parts.pipeline(tables=["SHOP.A_*", "SHOP.*A_PARTS"])
    mixed = 'SHOP."A_parts"'

    with PlainLake().in_place_of_spark() as spark:
        (finding,) = [f for f in run_doctor(pipeline, parts.params) if f.severity == "error"]
        assert (finding.subject, "target: shop/a_parts-2" in finding.cure) == (mixed, True)
        with pytest.raises(TableHeld, match="target: shop/a_parts-2"):
            steps.take_snapshot(pipeline, source=parts.params, spark=spark)
        assert states(pipeline)[mixed] == "held"
        assert [f.subject for f in steps.validate(steps.Run(pipeline)) if "is that of SHOP.A_PARTS" in f.what] == [mixed]
        assert [(e.table, e.effect) for e in steps.plan_edit(pipeline).edits] == [(mixed, "held")]

        cured = parts.pipeline(tables=["SHOP.A_*", "SHOP.*A_PARTS", {"table": mixed, "target": "shop/a_parts-2"}])
        steps.take_snapshot(cured, [mixed], replace=True, source=parts.params, spark=spark)
        assert set(states(cured).values()) == {"live"}
        assert [f for f in run_doctor(cured, parts.params) if f.severity == "error"] == []


def test_a_table_that_joins_later_never_gets_the_folder_of_one_with_contents(parts: Shop) -> None:
    create(parts, '"A_late"')
    pipeline = parts.pipeline(tables=["SHOP.A_*", "!SHOP.A_TMP_*"], new_tables="capture")
    with PlainLake().in_place_of_spark() as spark:
        steps.take_snapshot(pipeline, source=parts.params, spark=spark)
        create(parts, "a_late")  # its name comes before the other's in every order
        plan_and_land(parts, pipeline)
        with pytest.raises(TableHeld, match=r"SHOP\.A_LATE is held: NotCapturable|its folder shop/a_late is that of") as held:
            steps.take_snapshot(pipeline, source=parts.params, spark=spark)

    assert [finding.subject for finding in held.value.findings] == ["SHOP.A_LATE"]
    assert {name: state for name, state in states(pipeline).items() if "LATE" in name.upper()} == {
        "SHOP.A_LATE": "held",
        'SHOP."A_late"': "live",
    }


def test_a_dropped_table_is_reported_and_stays_captured(parts: Shop) -> None:
    pipeline = parts.pipeline(tables=["SHOP.A_*"])
    steps.begin_snapshot(Run(pipeline, parts.params))
    plan_and_land(parts, pipeline)
    parts.run_sql("DROP TABLE a_bins PURGE")

    plan_and_land(parts, pipeline)

    assert [found.table for found in steps.read_status(pipeline).gone] == ["SHOP.A_BINS"]
    assert "SHOP.A_BINS" in captured(pipeline)
    warned = [f for f in run_doctor(pipeline, parts.params) if f.subject == "SHOP.A_BINS"]
    assert [f.severity for f in warned] == ["warning"]


def test_a_pattern_that_matches_nothing_is_an_error_before_anything_is_written(parts: Shop) -> None:
    pipeline = parts.pipeline(tables=["SHOP.A_PARTS", "SHOP.ORDRES_*", "!SHOP.X"])

    with pytest.raises(ConfigurationError, match=r"SHOP\.ORDRES_\*: matches no table"):
        steps.begin_snapshot(Run(pipeline, parts.params))

    found = {f.subject: f.severity for f in run_doctor(pipeline, parts.params)}
    assert found["SHOP.ORDRES_*"] == "error"
    assert not list((parts.folder / "landing").rglob("handover.json"))


def test_the_tables_of_a_pattern_are_in_each_window_and_survive_the_loss_of_the_ledger(parts: Shop) -> None:
    pipeline = parts.pipeline(tables=["SHOP.A_*", "!SHOP.A_TMP_*"])
    steps.begin_snapshot(Run(pipeline, parts.params))
    plan_and_land(parts, pipeline)
    lose_ledger(parts.folder / "landing")
    steps.plan_next_window(Run(pipeline, parts.params))  # rebuilds the ledger

    assert set(states(pipeline)) == {"SHOP.A_PARTS", "SHOP.A_BINS"}
    (manifest,) = (parts.folder / "landing").rglob("windows/*/manifest.json")
    assert json.loads(manifest.read_text())["tables"] == ["SHOP.A_BINS", "SHOP.A_PARTS"]


def test_patterns_of_owners_leave_oracles_own_users_out(parts: Shop) -> None:
    pipeline = parts.pipeline(tables=["S*.A_PARTS"])

    assert steps.begin_snapshot(Run(pipeline, parts.params)).tables == ("SHOP.A_PARTS",)


def test_doctor_sends_as_many_statements_for_many_tables_as_for_one(parts: Shop, monkeypatch) -> None:
    sent: list[str] = []
    query = OracleSession.query_text
    monkeypatch.setattr(OracleSession, "query_text", lambda *given: sent.append(given[1]) or query(*given))

    def statements(*tables: str) -> int:
        sent.clear()
        run_doctor(parts.pipeline(tables=list(tables)), parts.params)
        return len(sent)

    assert statements("SHOP.A_PARTS") == statements("SHOP.A_PARTS", "SHOP.A_BINS", "SHOP.A_TMP_ONE", "SHOP.B_OTHER")
