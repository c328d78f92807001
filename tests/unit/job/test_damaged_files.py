"""One changed bit anywhere in a file that a job reads is found before Spark reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from redolake.errors import LandingDamaged
from redolake.job.damaged_files import check_carried, check_redo, with_damage_held
from redolake.land.carried import COLUMNS, read_carried
from redolake.land.files import Files
from redolake.land.parquet import read_columns, write_parquet
from redolake.records.batches.spec import BatchSpec, LandedWindow, RereadFile, WholeFile
from redolake.records.file_digest import Digests
from redolake.values.landed_schema import LANDED_SCHEMA
from tests.integration.spark.landing import AT, a_row
from tests.integration.spark.specs import TABLE, batch_spec, task

NEXT = replace(TABLE, name="NEXT")


def landed(folder: Path, name: str = "redo.parquet") -> tuple[str, Digests]:
    rows = [{"at": AT, "operation": "INSERT", **a_row(n, 11, 1, sql_redo=f"text {n}")} for n in range(20)]
    batch = pa.RecordBatch.from_pylist(rows, LANDED_SCHEMA)
    written = write_parquet(Files(str(folder)), name, LANDED_SCHEMA, [batch])
    return str(folder / name), {str(folder / name): written.digest}


def changed_bits(file: Path) -> list[bytes]:
    """Return the file's contents with one bit changed, once for every 31st byte: in values, headers, statistics, the footer."""
    whole = file.read_bytes()
    return [whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :] for at in range(0, len(whole), 31)]


def of_window(folder: Path, file: str, digests: Digests) -> BatchSpec:
    return batch_spec(folder, [LandedWindow("0000000001-10-20", 10, 20, (file,))], [task(folder)], digests=digests)


READERS: dict[str, Callable[[Path, str, Digests], object]] = {
    "the redo of a window": lambda folder, file, digests: check_redo(of_window(folder, file, digests).redo),
    "carried rows": lambda folder, file, digests: check_carried(of_window(folder, file, digests).redo, [file]),
    "carried rows that a person looks at": lambda folder, file, digests: read_carried([file], 3, "1.2.3", digests),
    "redo that capture reads again": lambda folder, file, digests: list(
        read_columns(Files(str(folder)), [Path(file).name], COLUMNS, {Path(file).name: digests[file]})
    ),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_changed_bit_is_found_wherever_it_is(tmp_path: Path, reader: str) -> None:
    file, digests = landed(tmp_path)
    READERS[reader](tmp_path, file, digests)

    for changed in changed_bits(Path(file)):
        Path(file).write_bytes(changed)
        with pytest.raises(LandingDamaged, match="other contents") as caught:
            READERS[reader](tmp_path, file, digests)
    assert caught.value.where["path"] == file


@pytest.mark.parametrize("reader", READERS)
def test_a_file_that_is_gone_or_was_cut_is_damaged(tmp_path: Path, reader: str) -> None:
    file, digests = landed(tmp_path)
    Path(file).write_bytes(Path(file).read_bytes()[:-1])
    with pytest.raises(LandingDamaged, match=r"it has \d+ bytes instead of \d+"):
        READERS[reader](tmp_path, file, digests)
    Path(file).unlink()
    with pytest.raises(LandingDamaged, match="the file is gone"):
        READERS[reader](tmp_path, file, digests)


def test_a_changed_value_without_a_digest_shows_in_the_checksum_of_its_page(tmp_path: Path) -> None:
    """Manifests of older versions have no digest; their files have checksums if they were written since."""
    file, _ = landed(tmp_path)
    whole = Path(file).read_bytes()
    places = [n for n in range(len(whole)) if whole[n : n + 6] == b"text 3"] or [whole.index(b"\x28\xb5\x2f\xfd") + 12]
    Path(file).write_bytes(whole[: places[0]] + bytes([whole[places[0]] ^ 1]) + whole[places[0] + 1 :])

    with pytest.raises(LandingDamaged, match="cannot be read"):
        list(read_columns(Files(str(tmp_path)), ["redo.parquet"], LANDED_SCHEMA.names, {}))


def test_a_table_is_held_before_damaged_rows_of_its_own_and_the_others_are_not(tmp_path: Path) -> None:
    file, digests = landed(tmp_path)
    Path(file).write_bytes(changed_bits(Path(file))[40])
    window = LandedWindow("w", 10, 20, (), (RereadFile(TABLE, 19, file),))
    spec = batch_spec(tmp_path, [window], [task(tmp_path), task(tmp_path, NEXT)], digests=digests)

    held, other = with_damage_held(spec, [5, 5]).tables

    assert held.hold is not None
    assert (held.hold.at_scn, held.hold.error["code"]) == (10, "LandingDamaged")
    assert "snapshot SHOP.T --replace" in held.hold.error["cure"]
    assert other.hold is None
    assert with_damage_held(spec, [19, 19]).tables == spec.tables  # complete to the window's end: it needs no row of the file


def test_a_table_is_held_before_the_ddl_whose_rows_are_damaged(tmp_path: Path) -> None:
    file, digests = landed(tmp_path)
    Path(file).unlink()
    mine = task(tmp_path, whole=(WholeFile(19, file, (14, 16)),))
    spec = batch_spec(tmp_path, [LandedWindow("w", 10, 20, ())], [mine], digests=digests)

    (held,) = with_damage_held(spec, [5]).tables

    assert held.hold is not None
    assert held.hold.at_scn == 14


def test_each_page_of_a_landed_file_has_a_checksum(tmp_path: Path) -> None:
    file, _ = landed(tmp_path)
    parquet = pq.ParquetFile(file)
    body = Path(file).read_bytes()
    for number in range(len(LANDED_SCHEMA)):
        chunk = parquet.metadata.row_group(0).column(number)
        if not chunk.total_compressed_size:
            continue
        at = chunk.data_page_offset + chunk.total_compressed_size - (chunk.data_page_offset - start_of(chunk)) - 1
        changed = body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :]
        with pytest.raises(OSError, match="CRC"):
            pq.ParquetFile(pa.BufferReader(changed), page_checksum_verification=True).read([LANDED_SCHEMA.names[number]])


def start_of(chunk: object) -> int:
    first = getattr(chunk, "dictionary_page_offset", None)
    return int(getattr(chunk, "data_page_offset")) if first is None else int(first)  # noqa: B009
