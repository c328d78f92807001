"""Parse OpenLogReplicator's messages into the same assignments as redo statements: one reader per family of types.

A landed row of that source has its whole message as text, which begins with a brace; no statement does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from redolake.decode.forms import Clause, Form, Verb
from redolake.decode.redo_sql import Assignments, Bools, Ints, ParsedRedo
from redolake.values.table import Column, OracleType, TableId, TableVersion

BEGINS = "{"
UNDECODED = "?"  # what OpenLogReplicator writes for a value that it cannot read
VERBS = {"c": Verb.INSERT, "u": Verb.UPDATE, "d": Verb.DELETE}
IMAGES = {Verb.INSERT: ("after",), Verb.UPDATE: ("before", "after"), Verb.DELETE: ("before",)}
OF_TIME = 10  # digits of a date, before the blank and the time
ZEROS = ".000000000"
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})*")
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d) \d\d:\d\d:\d\d\.\d{9}", re.ASCII)
_ZONED = re.compile(r"(.{19})(\.\d{9}) (?:([+-])(\d\d):(\d\d)|[A-Za-z].*)", re.ASCII)
# Years with a leap day in Oracle's calendar, which is the Julian one up to 1582, and none in OpenLogReplicator's.
_JULIAN_LEAP = frozenset(year for year in range(100, 1600, 100) if year % 400)


class Unread(ValueError):
    """A value in another form than the settings that are needed give it; the text says in which."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value as an assignment has it. With `is_internal`, its text are the hexadecimal digits of Oracle's own bytes."""

    form: Form
    text: str | None = None
    is_internal: bool = False


Reader = Callable[[Any, bool], Value]


def number(value: Any, _: bool) -> Value:
    """Read a JSON number, whose text has all digits."""
    if not isinstance(value, _Number):
        raise Unread("is no number")
    return Value(Form.NUMBER, str(value))


def octets(value: Any, _: bool) -> Value:
    """Read text as the bytes of its character set (`char: 2`)."""
    return Value(Form.HEX, _hex(value, "is not in hexadecimal digits: OpenLogReplicator needs `char: 2`"), is_internal=True)


def truth(value: Any, _: bool) -> Value:
    """Read 1 or 0."""
    if not isinstance(value, _Number) or value not in ("0", "1"):
        raise Unread("is neither 1 nor 0")
    return Value(Form.TEXT, "TRUE" if value == "1" else "FALSE")


def rowid(value: Any, _: bool) -> Value:
    """Read the address of a row of a table; a logical one is a question mark."""
    if not isinstance(value, str):
        raise Unread("is no ROWID")
    return Value(Form.TEXT, value)


def raw(value: Any, _: bool) -> Value:
    return Value(Form.HEX, _hex(value, "is not in hexadecimal digits"))


def _hex(value: Any, why: str) -> str:
    if not isinstance(value, str) or _HEX.fullmatch(value) is None:
        raise Unread(why)
    return value


def moment(value: Any, _: bool) -> Value:
    return Value(Form.TIMESTAMP, _time(value))


def date(value: Any, _: bool) -> Value:
    return Value(Form.DATE, _time(value).removesuffix(ZEROS))


def _time(value: Any) -> str:
    found = _TIME.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise Unread(
            "is not in the form 2024-04-05 19:34:38.123456789: OpenLogReplicator needs `timestamp: 12`, or is before Christ"
        )
    if (found[2], found[3]) == ("03", "01") and int(found[1]) in _JULIAN_LEAP:
        raise Unread("may be 29 February, which OpenLogReplicator's calendar does not have in that year")
    assert isinstance(value, str)
    return value


def time_with_zone(value: Any, as_text: bool) -> Value:
    """Read a time in UTC and the zone in which it was stored. As text it needs that zone's offset."""
    found = _ZONED.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise Unread("is not in the form 2024-04-05 19:34:38.123456789 +02:00: OpenLogReplicator needs `timestamp-tz: 8`")
    utc = _time(found[1] + found[2])
    if found[3] is None and as_text:
        raise Unread("has a region as its time zone, whose offset only Oracle knows")
    if found[3] is None or not as_text:
        return Value(Form.TIMESTAMP_TZ, f"{utc} +00:00")
    minutes = (int(found[4]) * 60 + int(found[5])) * (-1 if found[3] == "-" else 1)
    local = np.datetime64(found[1].replace(" ", "T"), "s") + np.timedelta64(minutes, "m")
    return Value(Form.TIMESTAMP_TZ, f"{str(local).replace('T', ' ')}{found[2]} {found[3]}{found[4]}:{found[5]}")


def days(value: Any, _: bool) -> Value:
    if not isinstance(value, str) or " " not in value:
        raise Unread("is not in the form 01 06:00:00.123456789: OpenLogReplicator needs `interval-dts: 8`")
    return Value(Form.DAY_INTERVAL, value)


def years(value: Any, _: bool) -> Value:
    if not isinstance(value, str) or "-" not in value[1:]:
        raise Unread("is not in the form 1-8: OpenLogReplicator needs `interval-ytm: 4`")
    return Value(Form.YEAR_INTERVAL, value)


READERS: Mapping[str, Reader] = {
    **dict.fromkeys(("NUMBER", "FLOAT"), number),
    **dict.fromkeys(("VARCHAR2", "CHAR", "NVARCHAR2", "NCHAR"), octets),
    "RAW": raw,
    "BOOLEAN": truth,
    "UROWID": rowid,
    "DATE": date,
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP WITH LOCAL TIME ZONE"), moment),
    "TIMESTAMP WITH TIME ZONE": time_with_zone,
    "INTERVAL DAY TO SECOND": days,
    "INTERVAL YEAR TO MONTH": years,
}


def is_text(text: str) -> bool:
    """Return whether UTF-8 can write it: JSON can escape halves of a pair."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


class _Number(str):
    """The text of a JSON number."""

    __slots__ = ()


def is_message(texts: pa.Array) -> Bools:
    """Return which rows are messages."""
    found: Bools = pc.starts_with(texts, BEGINS).fill_null(False).to_numpy(zero_copy_only=False)
    return found


@dataclass(slots=True)
class _Parser:
    """Collects the assignments of a batch. `columns` are by the names that messages have."""

    columns: Mapping[str, Column]
    as_text: Collection[int]
    names: dict[str, int] = field(default_factory=dict)
    tables: dict[TableId, int] = field(default_factory=dict)
    values: list[str | None] = field(default_factory=list)
    parts: list[tuple[int, int, int, int, int, bool]] = field(default_factory=list)
    kind: list[int] = field(default_factory=list)
    table: list[int] = field(default_factory=list)
    error: list[str | None] = field(default_factory=list)

    def add(self, row: int, text: str) -> None:
        start = len(self.parts)
        try:
            found, verb, owner, name = _read_message(text)
            if owner is None:
                raise Unread(f"OpenLogReplicator has no definition of the table: it writes {name}")
            for clause, image in self._images(verb, found):
                self._add_image(row, clause, image)
            if verb == Verb.INSERT:
                self._check_whole(found["after"])
        except Unread as error:
            del self.parts[start:]
            self.kind.append(Verb.UNKNOWN)
            self.table.append(-1)
            self.error.append(str(error))
            return
        self.kind.append(verb)
        self.table.append(self.tables.setdefault(TableId(owner, name), len(self.tables)))
        self.error.append(None)

    @staticmethod
    def _images(verb: Verb, found: Mapping[str, Any]) -> list[tuple[Clause, Mapping[str, Any]]]:
        if verb == Verb.INSERT:
            return [(Clause.VALUES, found["after"])]
        where = (Clause.WHERE, found["before"])
        return [where] if verb == Verb.DELETE else [where, (Clause.SET, found["after"])]

    def _add_image(self, row: int, clause: Clause, image: Mapping[str, Any]) -> None:
        for name, given in image.items():
            value = self._read(name, given)
            if not (is_text(name) and is_text(value.text or "")):
                raise Unread("a name or value has half a surrogate pair")
            at = -1
            if value.text is not None:
                at = len(self.values)
                self.values.append(value.text)
            number = self.names.setdefault(name, len(self.names))
            self.parts.append((row, number, clause, value.form, at, value.is_internal))

    def _read(self, name: str, given: Any) -> Value:
        if given is None:
            return Value(Form.NULL)
        column = self.columns.get(name)
        if column is None:  # an ignored one, or one that nobody knows
            return Value(Form.TEXT, str(given))
        reader = READERS.get(column.type.name)
        if given == UNDECODED and not isinstance(given, _Number):
            raise Unread(f"column {name}: OpenLogReplicator could not decode the value, and wrote a question mark")
        if reader is None:
            raise Unread(f"column {name}: OpenLogReplicator does not give {column.type} exactly")
        try:
            return reader(given, column.id in self.as_text)
        except Unread as error:
            raise Unread(f"column {name}: the value {error}") from error

    def _check_whole(self, after: Mapping[str, Any]) -> None:
        absent = next((name for name in self.columns if name not in after), None)
        if absent is not None:
            raise Unread(
                f"the INSERT lacks column {absent}: OpenLogReplicator needs `column: 2`, `unknown-type: 1` and the flag 0x40, "
                "or its dictionary is older"
            )


def _read_message(text: str) -> tuple[Mapping[str, Any], Verb, str | None, str]:
    """Return the change in a message, its kind, and the owner and name of its table. Raise Unread for a text that is no message
    of a change."""
    try:
        found = json.loads(text, parse_float=_Number, parse_int=_Number)["payload"][0]
        verb, schema = VERBS[found["op"]], found["schema"]
        owner, name = schema.get("owner"), schema["table"]
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise Unread("the text begins like a message of OpenLogReplicator, and is none") from error
    if any(isinstance(one, _Number) or not isinstance(one, str) for one in (name, "" if owner is None else owner)):
        raise Unread("the message's table or its owner is no text")
    if not (is_text(name) and is_text(owner or "")):
        raise Unread("the name of the table or its owner has half a surrogate pair")
    for image in IMAGES[verb]:
        if not isinstance(found.get(image), dict):
            raise Unread(f"the message has no object `{image}`: OpenLogReplicator needs `column: 2`")
    return found, verb, owner, name


def value_errors(text: str, types: Mapping[str, OracleType]) -> Iterator[str]:
    """Yield why values of a change are not in the form that the needed settings give them, by columns of these types."""
    found, *_ = _read_message(text)
    for image in (found.get("before", {}), found.get("after", {})):
        for name, given in image.items():
            reader = READERS.get(types[name].name) if name in types else None
            if given is None or reader is None:
                continue
            try:
                reader(given, False)
            except Unread as error:
                yield f"column {name}: the value {error}"


def parse_messages(
    texts: pa.StringArray, version: TableVersion, names: Mapping[str, int] | None, as_text: Collection[int]
) -> tuple[ParsedRedo, Bools]:
    """Return the parsed messages, and which assignments are internal bytes. `as_text` are the columns that are stored as text;
    `names` maps names to column ids where they are not the version's."""
    by_id = {column.id: column for column in version.columns}
    columns = {column.name: column for column in version.columns}
    if names is not None:
        columns = {name: by_id[number] for name, number in names.items() if number in by_id}
    parser = _Parser(columns, as_text)
    for at, text in enumerate(texts.to_pylist()):
        parser.add(at, text)
    parts = np.array(parser.parts, np.int32).reshape(-1, 6)
    row, name, clause, form, value, internal = (np.ascontiguousarray(column) for column in parts.T)
    none: Ints = np.empty(0, np.int32)
    parsed = ParsedRedo(
        kind=np.array(parser.kind, np.int32),
        table=np.array(parser.table, np.int32),
        tables=tuple(parser.tables),
        names=tuple(parser.names),
        values=pa.array(parser.values, pa.string()),
        assignments=Assignments(row, name, clause, form, value),
        error=pa.array(parser.error, pa.string()),
        swallowing=none,
        doubled=none,
        single_rows=none,
    )
    return parsed, internal.astype(np.bool_)
