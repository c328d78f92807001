"""Every record is read as it was written; records of a newer Redolake and damaged files are refused by typed errors."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from typing import Any

import pytest

from redolake.errors import FormatTooNew, LandingConflict, LandingDamaged
from redolake.records.chain import decode_link
from redolake.records.codec import decode, encode, format_of, from_body, noun_of, parse, to_body, to_file
from redolake.records.jobs import decode_spec
from redolake.records.windows import WindowManifest
from tests.unit.records.samples import BATCH, GAP, LOAD, MANIFEST, RECORDS

each_record = pytest.mark.parametrize("record", RECORDS, ids=lambda record: noun_of(type(record)))
FREE = {
    "counts",
    "circumstance",
    "rules",
    "error",
    "rows",
    "accounts",
    "object_ids",
    "doubtful",
    "digests",
    "scns",
}  # their keys are data


def objects(body: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all objects that have fixed fields."""
    if isinstance(body, dict):
        inside = [path for name, part in body.items() if name not in FREE for path in objects(part, (*at, name))]
        return [at, *inside]
    return [path for n, part in enumerate(body) for path in objects(part, (*at, n))] if isinstance(body, list) else []


def with_unknown_field(body: dict[str, Any], path: tuple[Any, ...]) -> dict[str, Any]:
    newer: dict[str, Any] = json.loads(json.dumps(body))
    inside: Any = newer
    for step in path:
        inside = inside[step]
    inside["from the future"] = 1
    return newer


# The keys of a gap's `tables` are data; those of a batch's are not.
DATA = {
    *(("attempt", ("work", name)) for name in ("changes", "filtered", "quarantined", "ddl")),
    ("declared gap", ("tables",)),
    ("batch result", ("parked", 0, "tables")),
    ("batch result", ("tables", 0, "ddl")),
    ("batch result", ("without_transaction",)),
    ("snapshot result", ("tables", 0, "nulled")),
    ("table proof", ("nulled",)),
    ("first position", ("parameters",)),
    ("dictionary reading", ("later",)),
    ("pruned", ("tables",)),
    ("pruned", ("tables", "SHOP.T", "versions", 0, "body")),
    ("dictionary reading", ("renamed",)),
    *(("captured tables", (field,)) for field in ("announced", "left_out", "gone", "renamed")),
}
PLACES = [(r, path) for r in RECORDS for path in objects(to_body(r)) if (noun_of(type(r)), path) not in DATA]


@each_record
def test_a_record_is_read_as_it_was_written(record: Any) -> None:
    assert decode(type(record), encode(record), "file") == record
    assert from_body(type(record), to_body(record), "file") == record


@each_record
def test_equal_records_have_equal_text(record: Any) -> None:
    assert encode(decode(type(record), encode(record), "file")) == encode(record)


@pytest.mark.parametrize(("record", "path"), PLACES, ids=lambda v: str(v) if isinstance(v, tuple) else noun_of(type(v)))
def test_an_unknown_field_is_from_a_newer_redolake(record: Any, path: tuple[Any, ...]) -> None:
    with pytest.raises(FormatTooNew, match="from the future") as caught:
        from_body(type(record), with_unknown_field(to_body(record), path), "file")
    assert "newer" in caught.value.cure


@each_record
def test_a_newer_format_is_refused(record: Any) -> None:
    with pytest.raises(FormatTooNew, match="format 99"):
        from_body(type(record), {**to_body(record), "format": 99}, "file")


@each_record
def test_a_record_without_a_field_is_damaged(record: Any) -> None:
    for name in type(record).__match_args__[:1]:
        body = to_body(record)
        body[name] = object()
        with pytest.raises(LandingConflict, match=f"is not a {noun_of(type(record))}: {name}"):
            from_body(type(record), body, "file")


@each_record
def test_one_changed_bit_in_the_file_of_a_record_is_found_or_changes_nothing(record: Any) -> None:
    whole, found = encode(record).encode(), 0
    for at, byte in enumerate(whole):
        changed = whole[:at] + bytes([byte ^ 1 << at % 8]) + whole[at + 1 :]
        try:
            assert decode(type(record), changed, "file") == record
        except (LandingDamaged, FormatTooNew):
            found += 1
    assert found > 0.9 * len(whole)


def many_tables(record: WindowManifest) -> WindowManifest:
    return replace(record, tables=tuple(f"SHOP.TABLE_{number:05d}" for number in range(2_000)))


def test_a_large_record_is_compressed_and_equal_ones_have_equal_files() -> None:
    large = many_tables(MANIFEST)
    body = to_file(large)

    assert len(body) < len(encode(large)) / 4
    assert body == to_file(many_tables(MANIFEST))
    assert decode(WindowManifest, body, "file") == large
    assert to_file(MANIFEST) == encode(MANIFEST).encode()


def test_a_damaged_compressed_file_is_found_or_is_read_as_it_was() -> None:
    large = many_tables(MANIFEST)
    whole = to_file(large)
    for at, byte in enumerate(whole):
        changed = whole[:at] + bytes([byte ^ 1 << at % 8]) + whole[at + 1 :]
        for body in (changed, whole[:at]):
            try:
                assert decode(WindowManifest, body, "file") == large
            except LandingDamaged:
                continue


@each_record
def test_the_file_of_an_older_version_has_no_check(record: Any) -> None:
    assert decode(type(record), json.dumps(to_body(record)), "file") == record


@pytest.mark.parametrize(
    ("text", "what"),
    [("{", "is not JSON"), ("[]", "is not a JSON object"), (encode(GAP), "is not a window manifest")],
)
def test_a_file_that_is_no_such_record_is_a_conflict_that_names_the_file(text: str, what: str) -> None:
    with pytest.raises(LandingConflict, match=what) as caught:
        decode(WindowManifest, text, "x/manifest.json")
    assert caught.value.where["path"] == "x/manifest.json"


def test_a_job_is_a_batch_or_a_snapshot_load_and_a_link_a_window_or_a_gap() -> None:
    assert [decode_spec(encode(spec), "file") for spec in (BATCH, LOAD)] == [BATCH, LOAD]
    assert [decode_link(encode(link), "file") for link in (MANIFEST, GAP)] == [MANIFEST, GAP]
    with pytest.raises(FormatTooNew, match="'declared gap', which this Redolake does not know"):
        decode_spec(encode(GAP), "file")


@pytest.mark.parametrize("record", [BATCH, LOAD], ids=["batch", "load"])
def test_a_spec_of_an_older_redolake_is_read_without_the_settings_of_spark(record: Any) -> None:
    older = {**to_body(record), "format": 1, "spark": {"spark.hadoop.fs.s3a.secret.key": "hunter2"}}

    assert decode_spec(json.dumps(older), "spec.json") == record
    with pytest.raises(FormatTooNew, match="spark"):
        decode_spec(json.dumps({**older, "format": format_of(type(record))}), "spec.json")


def without_parts(body: dict[str, Any], *parts: str) -> dict[str, Any]:
    """Return the JSON object with the fields of its parts beside them."""
    whole = {name: value for name, value in body.items() if name not in parts}
    return {**whole, **{name: value for part in parts for name, value in body[part].items()}}


@pytest.mark.parametrize(
    ("older", "parts", "unknown"), [(13, ("course", "destination"), "carry_in"), (14, ("destination",), "app_id")]
)
def test_the_parts_of_an_older_spec_are_put_together(older: int, parts: tuple[str, ...], unknown: str) -> None:
    body = to_body(BATCH)
    beside = {**body, "tables": [without_parts(one, *parts) for one in body["tables"]]}
    if older == 13:
        beside = without_parts(beside, "redo")

    assert decode_spec(json.dumps({**beside, "format": older}), "spec.json") == BATCH
    with pytest.raises(FormatTooNew, match=unknown):
        decode_spec(json.dumps(beside), "spec.json")


@pytest.mark.parametrize("depth", [150, 201, 900, 990, 1_000, 200_000])
@pytest.mark.parametrize("inside", ['{"a":%s}', "[%s]", '{"a":[%s]}'], ids=["objects", "lists", "both"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_file_that_is_nested_deeply_is_damaged(depth: int, inside: str, packed: bool) -> None:
    """Also one that Python's own reader takes, and its writer does not: the check of a record writes it again."""
    begin, _, end = inside.partition("%s")
    text = f'{{"check": "x", "a":{begin * depth}1{end * depth}}}'.encode()
    says = "its check does not fit" if depth == 150 and inside.count("[") + inside.count("{") == 1 else "nested too deeply"
    with pytest.raises(LandingDamaged, match=says):
        parse(gzip.compress(text) if packed else text, "a.json")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("size", [999, 1_000, 1_001, 10_000_000])
def test_a_file_has_no_more_bytes_than_a_limit(size: int, packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redolake.records.codec.LARGEST", 1_000)
    text = b'{"a":"' + b"x" * (size - 8) + b'"}'
    body = gzip.compress(text) if packed else text

    if size <= 1_000:
        assert len(parse(body, "a.json")["a"]) == size - 8
        return
    with pytest.raises(LandingDamaged, match="has more than 1,000 bytes"):
        parse(body, "a.json")


@pytest.mark.parametrize("part", [b"[],", b"1,", b"{},", b'{"":{}},', b"[[]],"])
def test_a_small_file_takes_no_gigabytes_of_memory(part: bytes) -> None:
    body = gzip.compress(b'{"a":[' + part * (4_500_000 // part.count(b",")) + b"0]}")

    assert len(body) < 100_000
    with pytest.raises(LandingDamaged, match="has more than 4,000,000 values"):
        parse(body, "a.json")
