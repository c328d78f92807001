"""A landing with a key: its files of rows are encrypted, and each mistake with a key is found before a row is written."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from redolake.errors import ConfigurationError, LandingDamaged
from redolake.host.encrypted_parquet import encryption_properties
from redolake.host.sealed_text import SealBroken, seal, unseal
from redolake.host.secrets import key_from
from redolake.land.landing import Landing
from redolake.land.parquet import read_columns
from redolake.records.snapshots import ChunkPlan
from redolake.values.chunks import Chunk
from redolake.values.mapping import SecretName
from redolake.values.table import TableId
from tests.unit.land.redo_rows import ORDERS, THREE, row, window, write

FIRST_KEY, SECOND_KEY = "a key that nobody guesses", "another key that nobody guesses"
ONE, OTHER = SecretName(variable="LANDING_KEY"), SecretName(connection="landing_2")
LATER = window(300, 400, [(THREE,)])
LATER_ROWS = ([row(360, thread=2, sequence=7)],)


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANDING_KEY", FIRST_KEY)
    monkeypatch.setenv("AIRFLOW_CONN_LANDING_2", '{"password": "another key that nobody guesses"}')


def opened(folder, key=None):
    return Landing(str(folder), "shop", key=key)


def land(landing, of=None, rows=None, previous=None):
    of = of or window()
    records = write(landing, of) if rows is None else write(landing, of, rows)
    return landing.windows.publish(of, [ORDERS], records, previous)


def texts(landing, manifest):
    batches = landing.windows.redo_columns(manifest.name, [manifest], ["sql_redo"])
    return [text for batch in batches for text in batch.column(0).to_pylist()]


def test_no_file_of_the_landing_has_a_row_or_the_key_in_clear_text(tmp_path):
    landing = opened(tmp_path, ONE)
    manifest = land(landing)
    bodies = {file.name: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}

    assert all(name.endswith(".encrypted.parquet") for name in manifest.files)
    assert [name for name, body in bodies.items() if b"text 1" in body or FIRST_KEY.encode() in body] == []
    assert "text 120" in texts(opened(tmp_path, ONE), manifest)
    assert bodies[manifest.files[0]][:4] == b"PARE", "Parquet's own mark of an encrypted footer"


def test_the_limits_of_chunks_that_are_values_of_a_key_are_encrypted_where_the_rows_are(tmp_path):
    table, chunks = TableId("SHOP", "PEOPLE"), (Chunk(0, None, "123-45"), Chunk(1, "123-45", None))
    by_key, by_rowid = (ChunkPlan(str(table), scn, by, chunks, "SSN", "text") for scn, by in ((50, "key"), (60, "rowid")))
    landing = opened(tmp_path, ONE)
    for plan in (by_key, by_rowid):
        landing.chunks.begin(table, plan.scn, plan)
    files = {str(int(file.parent.name)): file for file in tmp_path.rglob("chunks.json")}
    read = [opened(tmp_path, OTHER).chunks.plan(table, plan.scn).chunks for plan in (by_key, by_rowid)]
    body = files["50"].read_text()

    assert read == [chunks, chunks]
    assert ("123-45" in body, FIRST_KEY in body, "variable:LANDING_KEY" in body) == (False, False, True)
    assert "123-45" in files["60"].read_text(), "ROWIDs say nothing of a row"


def test_a_sealed_text_that_was_changed_is_not_taken_for_another_one():
    sealed = seal(key_from(ONE), "123-45")
    key_id, _, body = sealed.rpartition(" ")

    assert unseal(sealed) == "123-45"
    for changed in (f"{key_id} {body[:-5]}AAA=", f"{key_id} no-base-64", f"{key_id} "):
        with pytest.raises(SealBroken):
            unseal(changed)


def test_files_of_an_older_key_and_of_none_stay_readable(tmp_path):
    clear = land(opened(tmp_path))
    first = land(opened(tmp_path, ONE), LATER, LATER_ROWS, 300)
    second = land(opened(tmp_path, OTHER), window(400, 500, [(THREE,)]), ([],), 400)
    reader = opened(tmp_path, OTHER)

    assert "text 120" in texts(reader, clear)
    assert texts(reader, first) == ["text 360"]
    assert texts(reader, second) == []
    assert sorted(file.name for file in (tmp_path / "shop" / "keys").iterdir()) == [
        "connection-landing_2.json",
        "variable-LANDING_KEY.json",
    ]


def test_another_value_under_a_known_name_is_refused_before_a_row_is_written(tmp_path, monkeypatch):
    manifest = land(opened(tmp_path, ONE))
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.setenv("LANDING_KEY", SECOND_KEY)

    with pytest.raises(ConfigurationError, match="another one than files of the landing were written with") as written:
        write(opened(tmp_path, ONE), LATER, LATER_ROWS)
    with pytest.raises(ConfigurationError, match="another one than files of the landing were written with"):
        texts(opened(tmp_path, ONE), manifest)
    assert "a new key needs another name in `landing_key`" in str(written.value)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(("key", "named"), [(None, "pipelines.yml has no `landing_key`"), (ONE, "export LANDING_KEY")])
def test_a_landing_with_a_key_gets_no_row_without_it(tmp_path, monkeypatch, key, named):
    manifest = land(opened(tmp_path, ONE))
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.delenv("LANDING_KEY")

    with pytest.raises(ConfigurationError, match=named):
        write(opened(tmp_path, key), LATER, LATER_ROWS)
    with pytest.raises(ConfigurationError, match="export LANDING_KEY"):
        texts(opened(tmp_path, key), manifest)
    assert sorted(tmp_path.rglob("*")) == before


def test_windows_beside_the_chain_have_the_key_of_the_landing(tmp_path):
    side = opened(tmp_path, ONE).side_landing("11-100")
    manifest = land(side)

    assert all(name.endswith(".encrypted.parquet") for name in manifest.files)
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and b"text 1" in file.read_bytes()]


@pytest.mark.parametrize("changed", [b"A", b"B", b"=", b"*"])  # of the characters, two are none of base 64 there
def test_a_file_whose_key_was_changed_is_damaged(tmp_path, changed):
    landing = opened(tmp_path, ONE)
    manifest = land(landing)
    path = tmp_path / "shop" / "windows" / manifest.name / manifest.files[0]
    body = path.read_bytes()
    at = body.index(b'"wrappedKEK":"') + 20
    path.write_bytes(body[:at] + (changed if body[at : at + 1] != changed else b"C") + body[at + 1 :])

    with pytest.raises(LandingDamaged, match="the file's key material is damaged"):
        list(read_columns(landing.files, [f"windows/{manifest.name}/{manifest.files[0]}"], None, {}))


def test_each_file_has_a_key_of_its_own(tmp_path):
    key = key_from(ONE)
    first, second = tmp_path / "a.encrypted.parquet", tmp_path / "b.encrypted.parquet"
    for path in (first, second):
        pq.write_table(pa.table({"a": ["the same"] * 9}), path, encryption_properties=encryption_properties(key))

    assert first.read_bytes() != second.read_bytes()
    assert FIRST_KEY not in repr(key)
