"""The redo rows of a statement that writes large objects of one row, in the two readings of what LogMiner shows.

`rows`: every row has its ROWID, and each object in the row is an update of its own. `statement`: only the statement's last row
has the ROWID, as measured on 26ai: an update with the objects that are stored in the row, else an INTERNAL row. One undo row
takes the whole statement back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace

from standin.engine.storage.layout import Row, RowLayout
from standin.redo_file import BARE, Op

INLINE = 3964  # bytes; a larger object is stored outside the row
_PIECE = 2033  # characters, or four times as many bytes, of an object in one redo record
_LONG_PIECE = 4066  # bytes of an extended string: one of 4000 was published in one piece

Image = dict[int, bytes | None]


@dataclass(frozen=True, slots=True)
class LobRow:
    """One redo row; `named` tells whether it has the ROWID. `sql` has the arguments of the call: amount and offset, or the
    length of a trim; of an INTERNAL row its SEQUENCE#, which is no text."""

    op: Op
    before: Image
    after: Image
    sql: str = ""
    named: bool = True


@dataclass(frozen=True, slots=True)
class LobForm:
    """The options lob_rows, lob_counts, null_lobs and extended_rows."""

    by_statement: bool = False
    by_code_unit: bool = False
    empties_nulls: bool = False
    has_strings: bool = False  # extended strings have such rows, too


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


def is_outside(content: bytes | None, charset: str | None) -> bool:
    """Return whether an object is stored outside its row. A CLOB is stored as UTF-16 where characters have several bytes."""
    if content is None:
        return False
    size = len(content.decode(charset, "surrogateescape").encode("utf-16-be", "surrogatepass")) if charset else len(content)
    return size > INLINE


def of_insert(layout: RowLayout, values: Row, form: LobForm, *, omitted: Set[int] = frozenset()) -> Iterator[LobRow]:
    """Yield the redo rows of an INSERT, which lacks the positions `omitted`: each has its ROWID."""
    after = layout.encode(values, tuple(i for i in range(len(values)) if i not in omitted))
    contents = {layout.segment_ids[i]: after[layout.segment_ids[i]] for i in sorted(layout.lobs) if i < len(values)}
    empty = _emptied(contents, form)
    yield LobRow(Op.INSERT, {}, {**after, **empty})
    for number in empty:
        if contents[number] != b"":
            yield from _of_object(layout, number, contents[number], _logged(layout, values), replaces=False, form=form)


def insert_statement(
    layout: RowLayout, values: Row, form: LobForm, documents: Sequence[LobRow], *, omitted: Set[int] = frozenset()
) -> Iterator[LobRow]:
    """Yield the redo rows of an INSERT: only the last one, after objects outside the row and documents, has the ROWID."""
    strings = _strings(layout, form)
    after = layout.encode(values, tuple(i for i in range(len(values)) if i not in omitted and i not in strings))
    contents = _contents(layout, values, (layout.lobs | strings) & set(range(len(values))))
    logged, lobs = _logged(layout, values), {layout.segment_ids[i] for i in layout.lobs}
    yield LobRow(Op.INSERT, {}, {**after, **_emptied({n: c for n, c in contents.items() if n in lobs}, form)}, named=False)
    yield from _outside(layout, contents, logged, form, replaced=frozenset())
    yield from documents
    inside = {n: c for n, c in contents.items() if not _is_outside(layout, n, c) and c != b"" and (n in lobs or c is not None)}
    last: Image = inside if form.empties_nulls else {n: c for n, c in inside.items() if c is not None}
    yield _last(last, logged, beside=documents and _has_outside(layout, contents))


def of_update(layout: RowLayout, old: Row, new: Row, changed: Set[int], form: LobForm) -> Iterator[LobRow]:
    """Yield the redo rows of an UPDATE, each with its ROWID."""
    own = layout.encode(new, tuple(sorted(changed - layout.lobs)))
    if own:  # not virtual columns alone
        yield LobRow(Op.UPDATE, layout.encode(old, tuple(sorted(layout.logged(changed)))), own)
    for number, content in _contents(layout, new, changed & layout.lobs).items():
        yield from _of_object(layout, number, content, _logged(layout, new), replaces=True, form=form)


def update_statement(
    layout: RowLayout,
    old: Row,
    new: Row,
    changed: Set[int],
    form: LobForm,
    documents: Sequence[LobRow],
    order: Sequence[int] = (),
) -> Iterator[LobRow]:
    """Yield the redo rows of an UPDATE, of which only the last one has the ROWID.

    The first row has the columns without objects, and sets objects that are in the row and alone to empty ones. Objects outside
    the row come in the `order` of SET.
    """
    objects = changed & (layout.lobs | _strings(layout, form))
    own = layout.encode(new, tuple(sorted(changed - objects)))
    contents = _contents(layout, new, objects)
    inside = {number: content for number, content in contents.items() if not _is_outside(layout, number, content)}
    begun = {number: None if content is None else b"" for number, content in inside.items()}
    are_alone = len(inside) == len(contents) and not documents
    if own or set(begun.values()) == {None} or not are_alone:
        begun = {}
    present = {layout.segment_ids[i] for i in objects if i < len(old) and old[i] is not None}
    if form.empties_nulls:  # a NULL becomes an empty object, which the pieces only fill
        lobs = {layout.segment_ids[i] for i in layout.lobs}
        begun |= {number: b"" for number in contents.keys() - inside.keys() - present if number in lobs}
    if own or begun:
        yield LobRow(Op.UPDATE, layout.encode(old, tuple(sorted(layout.logged(changed)))), {**own, **begun}, named=False)
    logged = _logged(layout, new)
    in_order = {layout.segment_ids[i]: contents[layout.segment_ids[i]] for i in order if i in objects} or contents
    yield from _outside(layout, in_order, logged, form, replaced=frozenset(contents.keys() - begun.keys()))
    yield from documents
    last = {number: content for number, content in inside.items() if content != b"" or number not in begun}
    yield _last(last, logged, beside=documents and _has_outside(layout, contents))


def _strings(layout: RowLayout, form: LobForm) -> frozenset[int]:
    """Return the extended strings that have the redo of large objects."""
    return layout.extended if form.has_strings else frozenset()


def _contents(layout: RowLayout, values: Row, positions: Set[int]) -> Image:
    return {layout.segment_ids[i]: layout.encode(values, (i,)).get(layout.segment_ids[i]) for i in sorted(positions)}


def _emptied(contents: Image, form: LobForm) -> Image:
    """Return how an INSERT shows large objects: as empty ones, which later rows fill."""
    return {number: b"" for number, content in contents.items() if content is not None or form.empties_nulls}


def _is_outside(layout: RowLayout, number: int, content: bytes | None) -> bool:
    return is_outside(content, layout.charsets.get(number))


def _has_outside(layout: RowLayout, contents: Image) -> bool:
    return any(_is_outside(layout, number, content) for number, content in contents.items())


def _outside(layout: RowLayout, contents: Image, logged: Image, form: LobForm, *, replaced: Set[int]) -> Iterator[LobRow]:
    """Yield the rows of the objects outside the row, in the order of the columns."""
    for number, content in contents.items():
        if not _is_outside(layout, number, content):
            continue
        if number in layout.charsets:
            replaces = number in replaced
            yield from _pieces(layout, number, content or b"", logged, form, replaces=replaces, named=False)
        else:
            yield from long_value(number, content or b"", logged, named=False)


def long_value(number: int, content: bytes, logged: Image, *, named: bool) -> Iterator[LobRow]:
    """Yield the 32K rows of an extended string."""
    yield LobRow(Op.LONG_BEGIN, logged, {number: b""}, named=named)
    for start in range(0, len(content), _LONG_PIECE):
        yield LobRow(Op.LONG_WRITE, logged, {number: content[start : start + _LONG_PIECE]}, named=named)
    yield LobRow(Op.LONG_END, {}, {}, named=named)


def without_locators(layout: RowLayout, rows: Iterable[LobRow], numbers: Set[int], form: LobForm) -> list[LobRow]:
    """Return the rows of a statement where the columns `numbers` are BasicFiles with DISABLE STORAGE IN ROW.

    Their values, of any length, are writes without a locator, which name no row, before the other rows. A value that replaces
    another begins with a trim to 0.
    """
    trims, writes, others = list[LobRow](), list[LobRow](), list[LobRow]()
    for one in rows:
        mine = one.after.keys() & numbers
        if one.op is Op.LOB_TRIM and mine:
            trims.append(replace(one, sql=f"{BARE}0", named=False))
        elif one.op is Op.LOB_WRITE and mine:
            writes.append(replace(one, sql=BARE + one.sql, named=False))
        elif one.op is Op.UPDATE and mine:
            writes += [write for n in mine if one.after[n] for write in _bare_writes(layout, n, one.after[n] or b"", form)]
            rest = {n: value for n, value in one.after.items() if n not in mine or not value}
            others += [replace(one, after=rest)] if rest else [_internal()] if form.by_statement and one.named else []
        elif not (one.op is Op.LOB_LOCATOR and mine):
            others.append(one)
    return trims + writes + others


def _bare_writes(layout: RowLayout, number: int, content: bytes, form: LobForm) -> Iterator[LobRow]:
    charset = layout.charsets[number]
    units = as_units(content if charset is None else content.decode(charset), by_code_unit=form.by_code_unit)
    for start, amount, data in _cut(units, charset):
        yield LobRow(Op.LOB_WRITE, {}, {number: data}, f"{BARE}{amount}, {start + 1}", named=False)


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
        yield _internal()


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


def _last(inside: Image, logged: Image, *, beside: object) -> LobRow:
    return LobRow(Op.UPDATE, logged, inside) if inside else _internal(beside=bool(beside))


def _internal(*, beside: bool = False) -> LobRow:
    """Return the INTERNAL row that ends a statement. SEQUENCE# is 1 where documents stand `beside` objects outside the row."""
    return LobRow(Op.INTERNAL, {}, {}, "1" if beside else "2")


def _logged(layout: RowLayout, values: Row) -> Image:
    return layout.encode(values, tuple(sorted(layout.always_logged)))


def _of_object(
    layout: RowLayout, number: int, content: bytes | None, logged: Image, *, replaces: bool, form: LobForm
) -> Iterator[LobRow]:
    if _is_outside(layout, number, content):
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
