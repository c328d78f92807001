"""Files that Spark's job reads are damaged on purpose: each is found before a row is merged, and its cure brings the rows back.

Files that are read without Spark: test_damaged_landing.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from redolake import steps
from redolake.context import Run
from redolake.errors import LandingDamaged, Terminal
from tests.fixtures.shop import open_shop
from tests.references.delta_table import delta_rows
from tests.states.damaged_parts import DAMAGES, Parts, cut, flip, open_parts, redo_of
from tests.states.losing_pipeline import scn_of

pytestmark = pytest.mark.spark


@pytest.fixture
def parts(tmp_path: Path, spark: Any) -> Iterator[Parts]:
    with open_parts(tmp_path, spark) as made:
        yield made


def places(parts: Parts) -> dict[int, str]:
    return rows_of(Path(parts.pipeline.lake, "shop", "parts"))


def rows_of(table: Path) -> dict[int, str]:
    return {int(row["ID"]): row["PLACE"] for row in delta_rows(table)}


def test_damaged_redo_stops_before_a_row_is_merged_and_is_mined_again(parts: Parts) -> None:
    """One window after the other is damaged, each in its way."""
    rows = {1: "first"}
    for number, (damage, change) in enumerate(DAMAGES.items(), 2):
        moved = f"moved {number}"
        folder = parts.land(f"INSERT INTO parts VALUES ({number}, 'new')", f"UPDATE parts SET place = '{moved}' WHERE id = 1")
        change(redo_of(folder))

        with pytest.raises(LandingDamaged) as caught:
            parts.run()
        assert places(parts) == rows, damage
        assert caught.value.where["path"] == str(parts.landing / "windows" / folder.name / caught_file(caught.value)), damage
        assert f"`redolake remine {folder.name} --replace --execute`" in caught.value.cure, damage
        found = parts.remine(folder, in_place=True)

        assert (found.equal, found.replaced) == (True, True), damage
        parts.run()
        rows |= {1: moved, number: "new"}
        assert places(parts) == rows, damage
    assert parts.is_equal()


def caught_file(error: LandingDamaged) -> str:
    return Path(str(error.where["path"])).name


def test_damaged_rows_of_an_open_transaction_are_read_from_their_windows_again(parts: Parts) -> None:
    with parts.shop.oracle.connect("SHOP") as session, session.cursor() as cursor:
        cursor.execute("INSERT INTO parts VALUES (2, 'open')")
        parts.land("INSERT INTO parts VALUES (3, 'third')")
        parts.run()
        session.commit()
    flip(max(parts.landing.glob("batches/*/carry-*/*/*.parquet"), key=lambda file: file.stat().st_size))
    parts.land("UPDATE parts SET place = 'again' WHERE id = 3")

    with pytest.raises(LandingDamaged, match="other contents") as caught:
        parts.run()
    assert "run again" in caught.value.cure
    parts.run()

    assert places(parts) == {1: "first", 2: "open", 3: "again"}
    assert parts.is_equal()


def test_rows_damaged_right_before_a_resetlogs_come_again_with_their_batch(parts: Parts) -> None:
    """No older batch can be continued into the new incarnation, so the batch that carried them is applied again."""
    with parts.shop.oracle.connect("SHOP") as session, session.cursor() as cursor:
        cursor.execute("INSERT INTO parts VALUES (2, 'open')")
        parts.land("INSERT INTO parts VALUES (3, 'third')")
        kept = scn_of(parts.shop)
        parts.shop.switch_logs()
        parts.shop.oracle.faults.reset_logs(to_scn=kept)
    parts.run()
    flip(max(parts.landing.glob("batches/*/carry-*/*/*.parquet"), key=lambda file: file.stat().st_mtime_ns))
    parts.land("UPDATE parts SET place = 'again' WHERE id = 3")

    with pytest.raises(LandingDamaged, match="other contents") as caught:
        parts.run()
    manifest = max(parts.landing.glob("batches/*/manifest.json"))
    assert f"remove batches/{manifest.parent.name}/manifest.json and run again" in caught.value.cure
    manifest.unlink()
    parts.run()

    assert places(parts) == {1: "first", 3: "again"}
    assert parts.is_equal()


def test_a_damaged_snapshot_holds_its_table_and_is_read_again(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare = "redolake.steps.run.prepare_snapshot_load"
    original = steps.prepare_snapshot_load

    def prepared(*args: Any, **more: Any) -> str:
        made: str = original(*args, **more)
        flip(max(parts.landing.glob("snapshots/*/*/part-*.parquet"), key=lambda file: file.stat().st_mtime_ns))
        monkeypatch.undo()
        return made

    monkeypatch.setattr(prepare, prepared)
    with pytest.raises(Terminal, match="LandingDamaged"):
        steps.take_snapshot(parts.pipeline, ["SHOP.PARTS"], replace=True, source=parts.shop.params, spark=parts.spark)
    assert parts.error()["code"] == "LandingDamaged"
    assert "snapshot SHOP.PARTS --replace" in parts.error()["cure"]
    steps.take_snapshot(parts.pipeline, ["SHOP.PARTS"], replace=True, source=parts.shop.params, spark=parts.spark)

    assert parts.is_equal()


def newest(folder: Path, pattern: str) -> Path:
    return max(folder.glob(pattern), key=lambda file: file.stat().st_mtime_ns)


LAKE: dict[str, tuple[str, Callable[[Path], None]]] = {
    "the newest commit of its log cut short": ("_delta_log/*.json", cut),
    "the newest commit of its log emptied": ("_delta_log/*.json", lambda file: file.write_bytes(b"")),
    "a commit of its log gone": ("_delta_log/00000000000000000000.json", Path.unlink),
    "a data file gone": ("*.parquet", Path.unlink),
    "a data file cut short": ("*.parquet", cut),
    "a data file with changed bits": ("*.parquet", lambda file: file.write_bytes(bytes(b ^ 8 for b in file.read_bytes()))),
}


def test_each_damaged_delta_table_of_a_batch_is_held_and_loaded_again_and_the_sound_one_goes_on(
    tmp_path: Path, spark: Any
) -> None:
    damaged = {f"PARTS{number}": damage for number, damage in enumerate(LAKE)}
    names = (*damaged, "SOUND")
    with open_shop(tmp_path) as shop:

        def on_each(statement: str) -> None:
            shop.run_sql(*(statement.format(name) for name in names))

        on_each("CREATE TABLE {} (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20))")
        on_each("ALTER TABLE {} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")
        on_each("INSERT INTO {} VALUES (1, 'first')")
        all_of_them = Parts(shop, shop.pipeline(tables=[f"SHOP.{name}" for name in names]), spark)
        lake, held = Path(all_of_them.pipeline.lake, "shop"), [f"SHOP.{name}" for name in damaged]
        steps.take_snapshot(all_of_them.pipeline, source=shop.params, spark=spark)
        on_each("INSERT INTO {} VALUES (2, 'second')")
        shop.switch_logs()
        all_of_them.run()
        for name, damage in damaged.items():
            pattern, change = LAKE[damage]
            for sum_ in (lake / name.lower()).rglob(".*.crc"):
                sum_.unlink()  # of Hadoop's local file system; other stores have none
            for file in (lake / name.lower()).glob("_delta_log/*.crc"):
                file.unlink()
            change(newest(lake / name.lower(), pattern))
        on_each("UPDATE {} SET place = 'moved'")
        shop.switch_logs()

        all_of_them.run()

        with Run(all_of_them.pipeline) as context:
            errors = {str(entry.table): dict(entry.error or {}) for entry in context.ledger.tables("held")}
        assert sorted(errors) == held
        for name, damage in damaged.items():
            error = errors[f"SHOP.{name}"]
            assert error["code"] == "LakeDamaged", (damage, error)
            assert f"snapshot SHOP.{name} --replace" in error["cure"], damage
            assert "\tat " not in error["what"], damage  # Java's stack
        moved = {1: "moved", 2: "moved"}
        assert rows_of(lake / "sound") == moved
        steps.take_snapshot(all_of_them.pipeline, held, replace=True, source=shop.params, spark=spark)
        all_of_them.run()
        assert {name: rows_of(lake / name.lower()) for name in damaged} == dict.fromkeys(damaged, moved)
