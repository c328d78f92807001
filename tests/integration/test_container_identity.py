"""A PDB that was set back, or replaced under its name, stops the pipeline with a typed error; new snapshots end it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import oracledb
import pytest

from redolake import steps
from redolake.context import Run
from redolake.errors import EncodingChanged, PdbChanged, SnapshotTooEarly, SourceRefused, Terminal
from redolake.reconcile.redo_loss import lost_position
from tests.fixtures.shop import Shop, open_shop
from tests.integration.test_recover import LosingPipeline
from tests.references.plain_lake import PlainLake
from tests.support.doctor import run_doctor


@pytest.fixture
def plain(shop: Shop) -> Iterator[LosingPipeline]:
    with PlainLake().in_place_of_spark():
        yield LosingPipeline(shop, "no Spark")


def scn_of(shop: Shop) -> int:
    with shop.oracle.connect("SYS", mode=oracledb.AUTH_MODE_SYSDBA) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT current_scn FROM v$database")
        return int(cursor.fetchone()[0])


def undo(plain: LosingPipeline, change: Callable[[Shop, int], object]) -> None:
    """Apply an UPDATE, undo it in the PDB alone, and change another row after it."""
    kept = scn_of(plain.shop)
    plain.change("UPDATE parts SET quantity = 100 WHERE id = 1")
    plain.catch_up()
    change(plain.shop, kept)
    plain.change("UPDATE parts SET quantity = 300 WHERE id = 3")
    plain.shop.switch_logs()


def continues(plain: LosingPipeline) -> bool:
    plain.change("UPDATE parts SET quantity = 101 WHERE id = 1")
    plain.catch_up()
    return plain.is_equal() and plain.status().lost is None and plain.status().declared_gaps == ()


def test_a_pdb_that_was_set_back_stops_every_step_until_new_snapshots(plain: LosingPipeline) -> None:
    undo(plain, lambda shop, scn: shop.oracle.faults.flash_back_pdb(to_scn=scn))

    for _ in range(2):
        with pytest.raises(PdbChanged, match=r"was set back to SCN \d+ and opened with RESETLOGS") as stopped:
            plain.plan()
        assert f"redolake recover -p {plain.pipeline.name} snapshot" in stopped.value.cure
    assert plain.lost_in() == "plan"
    with pytest.raises(PdbChanged):
        steps.begin_snapshot(Run(plain.pipeline, plain.shop.params), ["SHOP.PARTS"], replace=True)
    with pytest.raises(PdbChanged):
        plain.verify()
    errors = [str(f) for f in run_doctor(plain.pipeline, plain.shop.params) if f.severity == "error"]
    assert any("redolake recover" in error for error in errors)
    assert [choice.name for choice in plain.recover().choices] == ["snapshot", "connection"]
    for kind in ("gap", "position"):
        with pytest.raises(Terminal, match="rows that the pluggable database no longer has"):
            plain.recover_by(kind, scn=scn_of(plain.shop), reason="no")

    plain.recover_by("snapshot")

    assert plain.is_equal()
    assert continues(plain)


def test_another_pdb_under_the_name_stops_every_plan_until_new_snapshots(plain: LosingPipeline) -> None:
    undo(plain, lambda shop, scn: shop.oracle.faults.replace_pdb(to_scn=scn))

    with pytest.raises(PdbChanged, match="another pluggable database has the name FREEPDB1 now: GUID was"):
        plain.plan()
    # No view says since when the other PDB is there, so redo from before this plan is not used.
    with pytest.raises(SnapshotTooEarly) as early:
        plain.recover_by("snapshot")
    assert "switch the logs" in early.value.cure
    plain.shop.switch_logs()
    plain.shop.switch_logs()
    plain.recover_by("snapshot")

    assert plain.is_equal()
    assert continues(plain)


def test_what_was_read_while_the_pdb_was_replaced_is_not_published(plain: LosingPipeline) -> None:
    plain.change("UPDATE parts SET quantity = 100 WHERE id = 1")
    plain.shop.switch_logs()
    found = plain.plan()
    begun = steps.begin_snapshot(Run(plain.pipeline, plain.shop.params), ["SHOP.PARTS"], replace=True)
    plain.shop.oracle.faults.replace_pdb()

    assert found.window is not None
    with pytest.raises(PdbChanged):  # LogMiner has used the other PDB's dictionary
        steps.mine_window_slice(Run(plain.pipeline, plain.shop.params), found.window, 0)
    with pytest.raises(PdbChanged):
        steps.read_snapshot_table(Run(plain.pipeline, plain.shop.params), begun.scn, "SHOP.PARTS")
    noticed_after = scn_of(plain.shop)
    with pytest.raises(PdbChanged):
        plain.plan()
    with Run(plain.pipeline) as context:
        loss = context.ledger.loss()
    assert loss is not None
    assert (lost_position(loss).window_end or 0) >= noticed_after, "no redo from before the replacement is used again"


@pytest.mark.parametrize("renumbers", [False, True], ids=["V$PDB_INCARNATION stays", "V$PDB_INCARNATION follows"])
def test_a_resetlogs_of_the_whole_database_is_no_change_of_the_pdb(tmp_path: Path, renumbers: bool) -> None:
    with open_shop(tmp_path, renumbers_pdb=renumbers) as shop, PlainLake().in_place_of_spark():
        plain = LosingPipeline(shop, "no Spark")
        plain.catch_up()
        shop.oracle.faults.reset_logs()
        assert continues(plain)

        kept = scn_of(shop)
        plain.change("UPDATE parts SET quantity = 301 WHERE id = 3")
        shop.oracle.faults.flash_back_pdb(to_scn=kept)
        shop.oracle.faults.reset_logs()
        shop.switch_logs()

        with pytest.raises(PdbChanged, match="was set back to SCN"):
            plain.catch_up()


@pytest.mark.parametrize(
    ("setting", "was", "is_now"),
    [("pdb_characterset", "AL32UTF8", "WE8MSWIN1252"), ("national_characterset", "AL16UTF16", "UTF8"),
     ("time_zone", "+00:00", "+02:00")],
)  # fmt: skip
def test_another_character_set_or_time_zone_stops_every_step_until_new_snapshots(
    plain: LosingPipeline, setting: str, was: str, is_now: str
) -> None:
    plain.change("UPDATE parts SET quantity = 100 WHERE id = 1")
    plain.shop.switch_logs()
    planned = plain.plan()
    setattr(plain.shop.oracle.database.state, setting, is_now)
    assert planned.window is not None
    with pytest.raises(EncodingChanged):  # LogMiner has read the texts by another character set
        steps.mine_window_slice(Run(plain.pipeline, plain.shop.params), planned.window, 0)

    for _ in range(2):
        with pytest.raises(EncodingChanged, match=f"was {re.escape(was)} .* and is {re.escape(is_now)} now") as stopped:
            plain.plan()
        assert f"redolake recover -p {plain.pipeline.name} snapshot" in stopped.value.cure
    with pytest.raises(EncodingChanged):
        steps.begin_snapshot(Run(plain.pipeline, plain.shop.params), ["SHOP.PARTS"], replace=True)
    with pytest.raises(EncodingChanged):
        plain.verify()
    errors = [str(f) for f in run_doctor(plain.pipeline, plain.shop.params) if f.severity == "error"]
    assert any(is_now in error and "redolake recover" in error for error in errors)
    assert [choice.name for choice in plain.recover().choices] == ["snapshot", "connection"]
    with pytest.raises(Terminal, match="redo that was written in another encoding"):
        plain.recover_by("gap", reason="no")
    with Run(plain.pipeline) as context:
        before = context.landing.encoding()
    plain.shop.switch_logs()
    plain.shop.switch_logs()

    plain.recover_by("snapshot")

    with Run(plain.pipeline) as context:
        assert is_now in (
            context.landing.encoding().text,
            context.landing.encoding().national,
            context.landing.encoding().time_zone,
        )
        start = context.landing.handover.start()
        assert start is not None
        assert context.landing.encoding(start.chain_position) == before, "redo from before the change keeps its encoding"
    assert plain.is_equal()
    assert continues(plain)


def test_a_user_who_has_lost_container_data_lands_no_window(plain: LosingPipeline) -> None:
    """Oracle hides rows of other containers without an error: a window would have landed without its changes."""
    user = plain.shop.oracle.database.state.users[plain.shop.oracle.capture_user]
    plain.change("UPDATE parts SET quantity = 100 WHERE id = 1")
    user.container_data = False
    plain.shop.switch_logs()
    before = plain.status().landed_to_scn

    with pytest.raises(SourceRefused, match=r"V\$PDBS does not list container FREEPDB1"):
        plain.catch_up()

    assert plain.status().landed_to_scn == before
    user.container_data = True
    assert continues(plain)


def test_no_way_to_read_the_source_again_takes_another_character_set(plain: LosingPipeline) -> None:
    """Ranges, from logs too, a window that is mined again, and a repair."""
    shop, positions = plain.shop, list[int]()
    for quantity in (100, 101):
        plain.change(f"UPDATE parts SET quantity = {quantity} WHERE id = 1")
        plain.catch_up()
        positions.append(int(plain.status().next_start_scn or 0))
    with Run(plain.pipeline) as context:
        newest = next(iter(context.landing.windows.newest_names()))
    shop.oracle.database.state.pdb_characterset = "WE8MSWIN1252"
    how: dict[str, Any] = {"source": shop.params, "spark": "no Spark", "execute": True}
    logs = steps.LogsToRead((), shop.params)
    ways: tuple[Callable[[], object], ...] = (
        lambda: steps.backfill_live(plain.pipeline, *positions, reason="test", **how),
        lambda: steps.run_backfill(plain.pipeline, *positions, from_logs=logs, target="shadow", **how),
        lambda: steps.remine_window(Run(plain.pipeline, shop.params), newest),
        lambda: steps.repair_table(plain.pipeline, "SHOP.PARTS", reason="test", **how),
        plain.catch_up,
    )
    for way in ways:
        with pytest.raises(EncodingChanged):
            way()


def test_doctor_notes_parameters_that_were_others_when_capture_began(plain: LosingPipeline) -> None:
    parameters = plain.shop.oracle.database.state.parameters

    def notes() -> dict[str, str]:
        found = run_doctor(plain.pipeline, plain.shop.params)
        return {one.subject: one.what for one in found if one.severity == "note" and "when capture began" in one.what}

    assert notes() == {}
    parameters |= {"compatible": "23.0.0", "db_block_size": "16384", "max_string_size": "EXTENDED"}
    assert notes().keys() == {"COMPATIBLE", "DB_BLOCK_SIZE", "MAX_STRING_SIZE"}
    assert "was 19.0.0 when capture began and is 23.0.0 now" in notes()["COMPATIBLE"]
    assert continues(plain), "nothing stops"
