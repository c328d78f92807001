"""The beginning of a snapshot, against the stand-in: which SCN, which dictionary, and which tables are refused."""

from __future__ import annotations

import pytest

from pipelines import steps
from pipelines.errors import ConfigurationError, SnapshotTooEarly, SourceBusy
from pipelines.source import handover
from pipelines.steps.applying import character_set
from pipelines.steps.readings import dictionary_from_json
from pipelines.steps.running import capture
from pipelines.steps.workplace import workplace
from tests.fix_shop import Shop

PARTS = (
    "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20))",
    "ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
)


def everything_written(shop: Shop) -> set[str]:
    folder = shop.folder / "landing"
    return {file.name for file in folder.rglob("*") if file.is_file() and not file.name.startswith("redolake-ledger")}


def columns_at(pipeline, scn: int) -> list[str]:
    with workplace(pipeline) as work:
        body = work.landing.read_json(f"snapshots/SHOP.PARTS/{scn:020d}/dictionary.json")
        return [column.name for column in dictionary_from_json(body, "file").columns]


@pytest.fixture
def ddl_between(shop: Shop, monkeypatch: pytest.MonkeyPatch):
    """`ddl_between(*statements)`: each runs once, as soon as a snapshot's SCN is chosen."""
    chosen = handover.read_handover

    def prepare(*statements: str) -> list[str]:
        left = list(statements)

        def with_ddl(source):
            found = chosen(source)
            if left:
                shop.run_sql(left.pop(0))
            return found

        monkeypatch.setattr(handover, "read_handover", with_ddl)
        return left

    return prepare


def test_a_ddl_while_the_scn_is_chosen_makes_it_choose_anew(shop: Shop, ddl_between) -> None:
    shop.run_sql(*PARTS)
    pipeline = shop.pipeline(tables=["SHOP.PARTS"])
    left = ddl_between("ALTER TABLE parts ADD colour VARCHAR2(9)")

    begun = steps.snapshot_begin(pipeline, shop.params)

    assert left == []
    assert columns_at(pipeline, begun["scn"]) == ["ID", "PLACE", "COLOUR"]
    assert steps.snapshot_read(pipeline, shop.params, begun["scn"], "SHOP.PARTS")["rows"] == 0


def test_the_dictionary_of_a_snapshot_is_that_of_its_scn(shop: Shop) -> None:
    shop.run_sql(*PARTS)
    pipeline = shop.pipeline(tables=["SHOP.PARTS"])

    scn = steps.snapshot_begin(pipeline, shop.params)["scn"]

    with workplace(pipeline) as work:
        body = work.landing.read_json(f"snapshots/SHOP.PARTS/{scn:020d}/dictionary.json")
    assert (body["scn_before"], body["scn_after"]) == (scn, scn)


def test_a_table_that_is_altered_again_and_again_is_left_for_later_and_nothing_is_written(shop: Shop, ddl_between) -> None:
    shop.run_sql(*PARTS)
    pipeline = shop.pipeline(tables=["SHOP.PARTS"])
    ddl_between(*(f"ALTER TABLE parts ADD c{number} NUMBER" for number in range(9)))

    with pytest.raises(SourceBusy, match=r"again and again.*SHOP\.PARTS"):
        steps.snapshot_begin(pipeline, shop.params)
    assert everything_written(shop) == set()


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("CREATE TABLE bad (id NUMBER(9), n NUMBER(9))", ("no enabled primary key", "ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")),
        ("CREATE TABLE bad (id NUMBER(9) PRIMARY KEY, note CLOB)", ("SHOP.BAD.NOTE", "CLOB")),
        ("CREATE TABLE badly (id NUMBER(9) PRIMARY KEY)", ("SHOP.BAD: is not there", "did you mean SHOP.BADLY?")),
    ],
    ids=["neither key nor logging", "a type that is not captured", "misspelt"],
)
def test_what_doctor_finds_refuses_a_snapshot_before_anything_is_written(shop: Shop, statement: str, told) -> None:
    shop.run_sql(*PARTS, statement)
    pipeline = shop.pipeline(tables=["SHOP.PARTS", "SHOP.BAD"])

    with pytest.raises(ConfigurationError) as refused:
        steps.snapshot_begin(pipeline, shop.params)

    for part in told:
        assert part in str(refused.value)
    found = [f for f in steps.doctor(pipeline, shop.params) if f.severity == "error"]
    assert set(refused.value.findings) == {f for f in found if f.subject != "connection oracle_shop"}
    assert everything_written(shop) == set()


def test_orders_are_read_in_the_character_set_of_the_database(shop: Shop) -> None:
    shop.run_sql(*PARTS)
    shop.oracle.database.state.characterset = "WE8MSWIN1252"
    pipeline = shop.pipeline(tables=["SHOP.PARTS"])

    steps.snapshot_begin(pipeline, shop.params)

    with workplace(pipeline) as work:
        assert character_set(work) == "WE8MSWIN1252"


def test_a_character_set_that_nobody_could_read_refuses_a_snapshot(shop: Shop) -> None:
    shop.run_sql(*PARTS)
    shop.oracle.database.state.characterset = "WE8EBCDIC1047"

    with pytest.raises(ConfigurationError, match="WE8EBCDIC1047"):
        steps.snapshot_begin(shop.pipeline(tables=["SHOP.PARTS"]), shop.params)
    assert everything_written(shop) == set()


def test_no_snapshot_is_taken_before_capture_has_followed_a_resetlogs(shop: Shop) -> None:
    shop.run_sql(*PARTS)
    pipeline = shop.pipeline(tables=["SHOP.PARTS"])
    steps.snapshot_begin(pipeline, shop.params)
    shop.switch_logs()
    shop.oracle.faults.reset_logs()

    with pytest.raises(SnapshotTooEarly, match="was opened with RESETLOGS"):
        steps.snapshot_begin(pipeline, shop.params)

    shop.run_sql("INSERT INTO parts VALUES (1, 'A')")
    shop.switch_logs()
    while capture(pipeline, shop.params)["outcome"] == "window":
        pass
    assert steps.snapshot_begin(pipeline, shop.params)["tables"] == ["SHOP.PARTS"]
