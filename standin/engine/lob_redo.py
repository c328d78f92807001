"""The redo rows of a statement that writes large objects of one row, in the two readings of what LogMiner shows.

`rows`: every row has its ROWID, and each object in the row is an update of its own. `statement`: only the statement's last row
has the ROWID, as measured on 26ai: an update with the objects that are stored in the row, else an INTERNAL row. One undo row
takes the whole statement back.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass

from standin.engine.layout import Row, RowLayout
from standin.redo_file import Op

INLINE = 3964  # bytes; a larger object is stored outside the row
_PIECE = 2033  # characters, or four times as many bytes, of an object in one redo record

Image = dict[int, bytes | None]


@dataclass(frozen=True, slots=True)
class LobRow:
    """One redo row; `named` tells whether it has the ROWID. `sql` has the arguments of the call: amount and offset, or the
    length of a trim."""

    op: Op
    before: Image
    after: Image
    sql: str = ""
    named: bool = True


@dataclass(frozen=True, slots=True)
class LobForm:
    """The options lob_rows, lob_counts, null_lobs and lob_updates."""

    by_statement: bool = False
    by_code_unit: bool = False
    empties_nulls: bool = False
    sets_columns_apart: bool = False


@dataclass(frozen=True, slots=True)
class LobCall:
    """A call of DBMS_LOB that changes an object: LOB_WRITE and LOB_ERASE from an offset, LOB_TRIM to a length."""

    op: Op
    at: int
    amount: int = 0


def as_units(content: str | bytes, *, by_code_unit: bool) -> str | bytes:
    """Return the content so that its elements are what Oracle counts: with `by_code_unit`, halves of surrogate pairs."""
    if isinstance(content, bytes) or not by_code_unit:
        return content
    octets = content.encode("utf-16-le")
    return "".join(chr(octets[i] | octets[i + 1] << 8) for i in range(0, len(octets), 2))


def as_text(units: str) -> str:
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def is_outside(content: bytes | None) -> bool:
    return content is not None and len(content) > INLINE


def of_insert(layout: RowLayout, values: Row, form: LobForm, *, omitted: Set[int] = frozenset()) -> Iterator[LobRow]:
    """Yield the redo rows of an INSERT, which lacks the positions `omitted`."""
    after = layout.encode(values, tuple(i for i in range(len(values)) if i not in omitted))
    logged = _logged(layout, values)
    contents = {layout.segment_ids[i]: after[layout.segment_ids[i]] for i in sorted(layout.lobs) if i < len(values)}
    empty = {number: b"" for number, content in contents.items() if content is not None or form.empties_nulls}
    yield LobRow(Op.INSERT, {}, {**after, **empty}, named=not form.by_statement)
    if not form.by_statement:
        for number in empty:
            if contents[number] != b"":
                yield from _of_object(layout, number, contents[number], logged, form, replaces=False)
        return
    for number, content in contents.items():
        if is_outside(content):
            yield from _pieces(layout, number, content or b"", logged, form, replaces=False, named=False)
    yield _last({number: c for number, c in contents.items() if not is_outside(c) and c != b""}, logged)


def of_update(layout: RowLayout, old: Row, new: Row, changed: Set[int], form: LobForm) -> Iterator[LobRow]:
    plain = changed - layout.lobs
    logged = _logged(layout, new)
    before = layout.encode(old, tuple(sorted(layout.logged(changed))))
    contents = {layout.segment_ids[i]: layout.encode(new, (i,))[layout.segment_ids[i]] for i in sorted(changed & layout.lobs)}
    own = layout.encode(new, tuple(sorted(plain)))
    if not form.by_statement:
        if own:  # not virtual columns alone
            yield LobRow(Op.UPDATE, before, own)
        for number, content in contents.items():
            yield from _of_object(layout, number, content, logged, form, replaces=True)
        return
    inside = {number: content for number, content in contents.items() if not is_outside(content)}
    begun = {number: None if content is None else b"" for number, content in inside.items()}
    if (form.sets_columns_apart and (own or set(begun.values()) == {None})) or not (own or len(inside) == len(contents)):
        begun = {}
    present = {layout.segment_ids[i] for i in changed & layout.lobs if i < len(old) and old[i] is not None}
    if form.empties_nulls:  # a NULL becomes an empty object, which the pieces only fill
        begun |= {number: b"" for number in contents.keys() - inside.keys() - present}
    if own or begun:
        yield LobRow(Op.UPDATE, before, {**own, **begun}, named=False)
    for number in contents.keys() - inside.keys():
        replaces = number not in begun
        yield from _pieces(layout, number, contents[number] or b"", logged, form, replaces=replaces, named=False)
    yield _last({number: content for number, content in inside.items() if content != b"" or number not in begun}, logged)


def of_call(layout: RowLayout, new: Row, position: int, call: LobCall, form: LobForm) -> Iterator[LobRow]:
    """Yield the redo rows of a DBMS_LOB call. Where a statement has one ROWID, a call has it on all rows but LOB_TRIM."""
    number, logged = layout.segment_ids[position], _logged(layout, new)
    yield LobRow(Op.LOB_LOCATOR, logged, {number: b""})
    if call.op is Op.LOB_WRITE:
        content, charset = layout.encode(new, (position,))[number] or b"", layout.charsets[number]
        units = as_units(content if charset is None else content.decode(charset), by_code_unit=form.by_code_unit)
        for start, amount, data in _cut(units[call.at - 1 : call.at - 1 + call.amount], charset):
            yield LobRow(Op.LOB_WRITE, logged, {number: data}, f"{amount}, {call.at + start}")
    elif call.op is Op.LOB_TRIM:
        yield LobRow(Op.LOB_TRIM, logged, {number: b""}, str(call.at), named=not form.by_statement)
    else:
        yield LobRow(Op.LOB_ERASE, logged, {number: b""}, f"{call.amount}, {call.at}")
    if form.by_statement:
        yield LobRow(Op.INTERNAL, {}, {})


def _cut(units: str | bytes, charset: str | None) -> Iterator[tuple[int, int, bytes]]:
    """Yield the pieces of an object as redo records have them, each with its offset from 0 and its length. A character is not
    cut."""
    start, step = 0, _PIECE * 4 if charset is None else _PIECE
    while start < len(units):
        piece = units[start : start + step]
        if isinstance(piece, str) and "\ud800" <= piece[-1] <= "\udbff":
            piece = piece[:-1]
        yield start, len(piece), piece if isinstance(piece, bytes) else as_text(piece).encode(charset or "")
        start += len(piece)


def _last(inside: Image, logged: Image) -> LobRow:
    return LobRow(Op.UPDATE, logged, inside) if inside else LobRow(Op.INTERNAL, {}, {})


def _logged(layout: RowLayout, values: Row) -> Image:
    return layout.encode(values, tuple(sorted(layout.always_logged)))


def _of_object(
    layout: RowLayout, number: int, content: bytes | None, logged: Image, form: LobForm, *, replaces: bool
) -> Iterator[LobRow]:
    if is_outside(content):
        yield from _pieces(layout, number, content or b"", logged, form, replaces=replaces, named=True)
    else:
        yield LobRow(Op.UPDATE, logged, {number: content})


def _pieces(
    layout: RowLayout, number: int, content: bytes, logged: Image, form: LobForm, *, replaces: bool, named: bool
) -> Iterator[LobRow]:
    """Yield a locator, the pieces of a new value, and the trim that ends it where there was another value before."""
    charset = layout.charsets[number]
    yield LobRow(Op.LOB_LOCATOR, logged, {number: b""}, named=named)
    units = as_units(content if charset is None else content.decode(charset), by_code_unit=form.by_code_unit)
    for start, amount, data in _cut(units, charset):
        yield LobRow(Op.LOB_WRITE, logged, {number: data}, f"{amount}, {start + 1}", named)
    if replaces:
        yield LobRow(Op.LOB_TRIM, logged, {number: b""}, str(len(units)), named)
