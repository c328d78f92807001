"""The one codec of all JSON that Redolake writes: files of the landing, JSON columns of the ledger, values between tasks.

A record is a frozen dataclass. Its JSON also contains `record`, its noun, and `format`, a number. Every change of a record's
fields raises its number (`FORMAT`; 1 where a class has none), so that an older Redolake refuses the file instead of ignoring
the new field. An unknown field is refused as well, whatever the number is; of files of an older format those in `GONE` are
passed over, which mean nothing any more, and `of_older` puts others where they are now. A file also contains `check`, a hash of
all the rest, so that a changed bit is found; files of older versions have none. A large file is compressed by gzip under its
own name: of 2,000 tables a batch's spec and result would be 5 MB of repeated settings, 288 times a day.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import zlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache
from typing import Annotated, Any, TypeVar, cast

from pydantic import AfterValidator, ConfigDict, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, from_json

from redolake.errors import FormatTooNew, LandingDamaged, LedgerDamaged, rebuild_cure
from redolake.values.scn import ChainPosition

T = TypeVar("T")
NEWER = "use the Redolake that wrote it, or a newer one"
DAMAGED = "restore the file from a copy of the landing; it was not written by Redolake, or was changed"
CHECK = "check"
LARGEST = 256 * 2**20  # bytes of a file, unpacked: it is read as one
MOST_VALUES = 4_000_000  # of a file: an empty object takes two bytes there, and some hundred in memory
GZIP_ONLY = 31  # of zlib: a stream with the head of gzip
COMPRESSED_FROM = 32 << 10  # bytes; smaller files can be read with any editor
GZIP = b"\x1f\x8b"


def check_time(text: str) -> str:
    """Return the ISO text of a time. Raises ValueError for what is none, or has no zone."""
    if datetime.fromisoformat(text).tzinfo is None:
        raise ValueError("a time without its zone")
    return text


def check_position(text: str) -> str:
    """Return the name of a chain position. Raises ValueError for what is none."""
    return ChainPosition.parse(text).name


# Checked where a record is read.
Time = Annotated[str, AfterValidator(check_time)]  # ISO, with a zone
PositionName = Annotated[str, AfterValidator(check_position)]


def noun_of(kind: type[Any]) -> str:
    """Return `window manifest` for WindowManifest."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind.__name__).lower()


def format_of(kind: type[Any]) -> int:
    return int(getattr(kind, "FORMAT", 1))


def encode(record: Any) -> str:
    """Return the record as the text of a file; equal records have equal text."""
    body = to_body(record)
    return json.dumps({**body, CHECK: check_of(body)}, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def to_file(record: Any) -> bytes:
    """Return the bytes of a record's file; equal records have equal bytes, so no time stands in what is compressed."""
    body = encode(record).encode()
    return body if len(body) < COMPRESSED_FROM else gzip.compress(body, mtime=0)


def check_of(body: Mapping[str, Any]) -> str:
    """Return the hash of a record's JSON object, however it is laid out."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _body(record: Any) -> dict[str, Any]:
    kind = type(record)
    return {**_fields(record), "record": noun_of(kind), "format": format_of(kind)}


def _fields(record: Any) -> dict[str, Any]:
    """Return what `asdict` does of the record alone: what is in it is made plain by the encoder, and not copied before."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


def to_body(record: Any) -> dict[str, Any]:
    """Return the record as a JSON object, for a JSON column or a task's result."""
    body: dict[str, Any] = json.loads(json.dumps(_body(record), sort_keys=True, default=_plain))
    return body


def decode(kind: type[T], text: bytes | str, file: str) -> T:
    """Read a record. Raises FormatTooNew for one that a newer Redolake wrote, LandingDamaged for a damaged one."""
    return from_body(kind, parse(text, file), file)


def decode_one_of(kinds: Sequence[type[Any]], text: bytes | str, file: str) -> Any:
    """Read a record that is one of several kinds. Raises as `decode` does."""
    body = parse(text, file)
    for kind in kinds:
        if body.get("record") == noun_of(kind):
            return from_body(kind, body, file)
    raise FormatTooNew(f"contains a {body.get('record')!r}, which this Redolake does not know", cure=NEWER, file=file)


class LedgerBody(dict[str, Any]):
    """A JSON object of the ledger, or one in it; `place` is the table and the column of its cell. `asdict` of a record
    that has one makes another from its items alone."""

    def __init__(self, body: Mapping[str, Any] | Iterable[tuple[str, Any]], place: str = "") -> None:
        super().__init__(body)
        self.place = place


def parts_of(body: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """Return the JSON objects in a list of a cell, for `from_body`: what is none there is refused as an empty one."""
    found, place = body.get(name), body.place if isinstance(body, LedgerBody) else ""
    listed = found if isinstance(found, list) else [found]
    return [LedgerBody(part if isinstance(part, dict) else {}, place) for part in listed]


def from_body(kind: type[T], body: Mapping[str, Any], file: str) -> T:
    """Read a record from its JSON object. Raises as `decode` does, and LedgerDamaged for one of the ledger."""
    try:
        return _from_body(kind, body, file)
    except LandingDamaged as error:
        if isinstance(body, LedgerBody):
            raise LedgerDamaged(f"{body.place}: {error.what} ({file})", cure=rebuild_cure(), place=body.place) from error
        raise


def _from_body(kind: type[T], body: Mapping[str, Any], file: str) -> T:
    if body.get("record") != noun_of(kind):
        raise LandingDamaged(f"is not a {noun_of(kind)}", cure=DAMAGED, path=file)
    found, known = body.get("format"), format_of(kind)
    if not isinstance(found, int) or found > known:
        raise FormatTooNew(f"written in format {found}, this Redolake knows {known}", cure=NEWER, file=file)
    gone = getattr(kind, "GONE", ()) if found < known else ()
    values = {name: value for name, value in body.items() if name not in ("record", "format", *gone)}
    if found < known and (lift := getattr(kind, "of_older", None)) is not None:
        values = lift(values)
    try:
        records: tuple[T] = _adapter(cast(Hashable, kind)).validate_python((values,))
    except ValidationError as error:
        raise _unreadable(kind, error.errors(), file) from error
    return records[0]


def parse(text: bytes | str, file: str) -> dict[str, Any]:
    """Return a file's JSON object. Raises LandingDamaged, also where its text is larger or has more values than any of
    Redolake's, or is nested more than 200 levels deep."""
    text = text.encode() if isinstance(text, str) else text
    if text.startswith(GZIP):
        text = _decompress(text, file)
    check_size(len(text), file)
    if sum(map(text.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise LandingDamaged(f"has more than {MOST_VALUES:,} values, which no file of Redolake has", cure=DAMAGED, path=file)
    try:
        body = from_json(text)
    except ValueError as error:
        what = "is nested too deeply" if "recursion" in str(error) else "is not JSON"
        raise LandingDamaged(what, cure=DAMAGED, path=file) from error
    if not isinstance(body, dict):
        raise LandingDamaged("is not a JSON object", cure=DAMAGED, path=file)
    check = body.pop(CHECK, None)
    if check is not None and check != check_of(body):
        raise LandingDamaged("was changed after it was written: its check does not fit", cure=DAMAGED, path=file)
    return body


def check_size(size: int, file: str) -> None:
    """Raise LandingDamaged for more bytes than a JSON file of Redolake has."""
    if size > LARGEST:
        raise LandingDamaged(f"has more than {LARGEST:,} bytes, which no JSON file of Redolake has", cure=DAMAGED, path=file)


def _decompress(body: bytes, file: str) -> bytes:
    try:
        unpacked = zlib.decompressobj(wbits=GZIP_ONLY)
        text = unpacked.decompress(body, LARGEST + 1)
        check_size(len(text), file)
        if unpacked.eof and not unpacked.unused_data:
            return text
        raise EOFError
    except (EOFError, zlib.error) as error:
        raise LandingDamaged("cannot be decompressed: it is cut short, or was changed", cure=DAMAGED, path=file) from error


@cache
def _adapter(kind: Hashable) -> TypeAdapter[Any]:
    # A TypeAdapter takes no configuration for a dataclass; a tuple's is passed on to the dataclasses within.
    return TypeAdapter(tuple[kind], config=ConfigDict(extra="forbid"))  # type: ignore


def _unreadable(kind: type[Any], errors: Sequence[ErrorDetails], file: str) -> FormatTooNew | LandingDamaged:
    unknown = sorted({str(error["loc"][-1]) for error in errors if error["type"] == "unexpected_keyword_argument"})
    if unknown:
        return FormatTooNew(f"has fields that this Redolake does not know: {', '.join(unknown)}", cure=NEWER, file=file)
    first = errors[0]
    field = ".".join(map(str, first["loc"][1:]))
    return LandingDamaged(f"is not a {noun_of(kind)}: {field}: {first['msg']}", cure=DAMAGED, path=file)


def _plain(value: object) -> object:
    if is_dataclass(value):
        return _fields(value)
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"JSON cannot contain a {type(value).__name__}")
