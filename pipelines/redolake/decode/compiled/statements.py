"""Find the literals of redo statements: compiled loops that know no grammar, and refuse what they do not recognise.

Separators are compared with those of the vocabulary, which the grammar has read. A row that is refused is decoded by
`decode_changes`, so that the kernels may be strict.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from redolake.decode.compiled.jit import Ints, Octets, inline, kernel, u64
from redolake.decode.forms import Clause, Form, Verb
from redolake.decode.resolve import IGNORED, UNKNOWN
from redolake.decode.separators import END, START
from redolake.decode.vocabulary import BY_POSITION, NOTHING, SeparatorTable

DONE, REFUSED, UNKNOWN_SEPARATOR = 0, 1, 2  # a row's outcome
BAD_FORM, VALUE, NULL = 0, 1, 2  # what a form means for a column
ABSENT = -1  # in place of a literal's start
IN_PLACE, IN_SET = 1, 2  # a column is in VALUES or WHERE; in SET

_QUOTE, _COMMA, _BLANK, _NAME_QUOTE = 39, 44, 32, 34
_UNISTR, _UPDATE, _INSERT = int(Form.UNISTR), int(Verb.UPDATE), int(Verb.INSERT)
_SET = int(Clause.SET)
_BETWEEN_ARGUMENTS = len("', '") - 1
_ALL, _ONES, _HIGHS = np.uint64(2**64 - 1), np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_QUOTES = np.uint64(0x2727272727272727)


class Text(NamedTuple):
    """A batch's text, and the same as words of 8 bytes, without the last bytes if they fill none."""

    data: Octets
    words: npt.NDArray[np.uint64]


class Separators(NamedTuple):
    """The vocabulary: texts one after another, a hash table over them, and per separator which two came after it last."""

    texts: Octets
    bounds: Ints
    slots: Ints
    guesses: Ints
    table: SeparatorTable


class Layout(NamedTuple):
    """The columns of a version. `columns` maps names to them, `meanings` has the meaning of each form, `before_of` the place of
    the value before in `Literals`, -1 where it is not asked for."""

    columns: Ints
    meanings: npt.NDArray[np.int8]
    before_of: Ints
    segment_order: Ints


class Literals(NamedTuple):
    """Where each column's literal begins and how long it is, by column and row: values after, then those before that were asked
    for. A literal with doubled quotes has its length negated. `presence` has, by row, the bits of the columns."""

    starts: Ints
    lengths: Ints
    presence: Octets


class Rows(NamedTuple):
    """Per row, its bounds in the text and what is known of it; `outcome` and `table_of` are filled in."""

    offsets: Ints
    is_undo: npt.NDArray[np.bool_]
    operations: Ints
    outcome: npt.NDArray[np.int8]
    table_of: Ints


@inline
def _is_same(data: Octets, at: int, texts: Octets, start: int, length: int) -> bool:
    is_same = True
    a, b = u64(at), u64(start)
    for i in range(u64(length)):  # without a way out, so that it is vectorised
        is_same &= data[a + i] == texts[b + i]
    return is_same


@inline
def _hash(data: Octets, start: int, end: int) -> np.int64:
    value = np.uint32(2166136261)
    for i in range(u64(start), u64(end)):
        value = np.uint32((value ^ np.uint32(data[i])) * np.uint32(16777619))
    return np.int64(value)


@kernel
def index_separators(texts: Octets, bounds: Ints, slots: Ints) -> None:
    """Fill a hash table with the numbers of the separators. Its size is a power of two."""
    slots[:] = -1
    for code in range(len(bounds) - 1):
        at = _hash(texts, bounds[code], bounds[code + 1]) & (len(slots) - 1)
        while slots[at] >= 0:
            at = (at + 1) & (len(slots) - 1)
        slots[at] = code


@inline
def _next_quote(text: Text, at: int, end: int) -> int:
    """Return where the next quote is, or `end`. A word has a zero byte where it equals the quotes."""
    words = text.words
    first, last = at >> 3, min((end + 7) >> 3, len(words))
    if first < last:
        word = words[u64(first)] ^ _QUOTES
        found = (word - _ONES) & ~word & _HIGHS & (_ALL << u64((at & 7) * 8))
        while found == 0 and first + 1 < last:
            first += 1
            word = words[u64(first)] ^ _QUOTES
            found = (word - _ONES) & ~word & _HIGHS
        if found:
            below = (found & (~found + u64(1))) - u64(1)
            place = int(((below & _ONES) * _ONES) >> u64(56)) - 1
            return min((first << 3) + place, end)
        at = max(at, (first + 1) << 3)
    while at < end and text.data[u64(at)] != _QUOTE:
        at += 1
    return min(at, end)


@inline
def _literal(text: Text, at: int, end: int) -> tuple[int, bool]:
    """Return where the quote is that closes the literal, `end` if there is none, and whether quotes inside are doubled."""
    is_doubled = False
    at = _next_quote(text, at, end)
    while at + 1 < end and text.data[u64(at + 1)] == _QUOTE:
        is_doubled = True
        at = _next_quote(text, at + 2, end)
    return at, is_doubled


@inline
def _end_of_separator(text: Text, start: int, end: int, is_head: bool) -> tuple[int, bool]:
    """Return where the separator ends, and whether it opens a literal.

    As in split_literals, a literal after `', '` is a format mask, and belongs to the separator.
    """
    at = _next_quote(text, start if is_head else start + 1, end)
    closed = start
    while at < end:
        is_mask = (
            at - closed == _BETWEEN_ARGUMENTS and text.data[u64(closed + 1)] == _COMMA and text.data[u64(closed + 2)] == _BLANK
        )
        if is_head or not is_mask:
            return at + 1, True
        closed, _ = _literal(text, at + 1, end)
        at = _next_quote(text, closed + 1, end)
    return end, False


@inline
def _separator(text: Text, at: int, end: int, is_head: bool, previous: int, known: Separators) -> tuple[int, int, bool]:
    """Return the number of the separator at this place, -1 if the vocabulary lacks it, its end, and whether a literal follows.

    A text that begins like a separator which opens a literal has no other quote before, so it is that separator.
    """
    bounds = known.bounds
    for g in range(u64(2)):
        guess = known.guesses[u64(previous), g]
        if guess >= 0:
            start = bounds[u64(guess)]
            length = bounds[u64(guess + 1)] - start
            if at + length <= end:
                opens = length > 1 and text.data[u64(at + length - 1)] == _QUOTE
                if (opens or at + length == end) and _is_same(text.data, at, known.texts, start, length):
                    return guess, at + length, opens
    stop, opens = _end_of_separator(text, at, end, is_head)
    slot = _hash(text.data, at, stop) & (len(known.slots) - 1)
    while known.slots[u64(slot)] >= 0:
        code = known.slots[u64(slot)]
        length = bounds[u64(code + 1)] - bounds[u64(code)]
        if length == stop - at and _is_same(text.data, at, known.texts, bounds[u64(code)], length):
            known.guesses[u64(previous), 1] = known.guesses[u64(previous), 0]
            known.guesses[u64(previous), 0] = code
            return code, stop, opens
        slot = (slot + 1) & (len(known.slots) - 1)
    return -1, stop, opens


@inline
def _claim(literals: Literals, row: int, column: int, is_set: bool) -> bool:
    """Mark the column as present in its clause, and return whether it was not."""
    bit = np.uint8(IN_SET if is_set else IN_PLACE)
    seen = literals.presence[u64(row), u64(column)]
    literals.presence[u64(row), u64(column)] = seen | bit
    return bool(seen & bit == 0)


@inline
def _has_both_quotes(data: Octets, start: int, end: int) -> bool:
    """Return whether a value with doubled quotes has a name's quote too. It may have swallowed a column."""
    found = False
    for i in range(u64(start), u64(end)):
        found |= data[i] == _NAME_QUOTE
    return found


@inline
def _column(name: int, head: int, position: int, table: SeparatorTable, layout: Layout) -> tuple[int, int]:
    """Return the column of a name, or of a position in an INSERT, and the next position."""
    if name == BY_POSITION:
        if position == table.columns_count[u64(head)]:
            return UNKNOWN, position
        name = table.columns[u64(table.columns_start[u64(head)] + position)]
        position += 1
    return layout.columns[u64(name)], position


@inline
def _inline(
    code: int, row: int, head: int, position: int, is_undo: bool, table: SeparatorTable, layout: Layout, literals: Literals
) -> int:
    """Mark the columns of values without a literal. Return the next position in an INSERT, -1 to refuse the row."""
    start = table.inline_start[u64(code)]
    for i in range(u64(start), u64(start + table.inline_count[u64(code)])):
        column, position = _column(table.inline[0, i], head, position, table, layout)
        if is_undo or column == IGNORED:
            continue
        if column < 0 or layout.meanings[u64(column), u64(table.inline[2, i])] != NULL:
            return -1
        if not _claim(literals, row, column, table.inline[1, i] == _SET):
            return -1
    return position


@inline
def _place(
    code: int,
    kind: int,
    row: int,
    column: int,
    start: int,
    length: int,
    is_undo: bool,
    table: SeparatorTable,
    layout: Layout,
    literals: Literals,
) -> bool:
    """Note where the column's literal is, if its value is wanted. Return False to refuse the row."""
    if is_undo or column == IGNORED:
        return True
    if column < 0:
        return False
    meaning = layout.meanings[u64(column), u64(table.opens_form[u64(code)])]
    is_set = table.opens_clause[u64(code)] == _SET
    if meaning == BAD_FORM or not _claim(literals, row, column, is_set):
        return False
    if meaning == NULL or length == 0:  # Oracle's '' is NULL
        return True
    is_before = kind != _INSERT and not is_set
    is_assigned = literals.presence[u64(row), u64(column)] & np.uint8(IN_SET) != 0
    if not is_before or (kind == _UPDATE and not is_assigned):
        _keep(literals, column, row, start, length)
    before = layout.before_of[u64(column)]
    if is_before and before >= 0:
        _keep(literals, before, row, start, length)
    return True


@inline
def _keep(literals: Literals, slot: int, row: int, start: int, length: int) -> None:
    literals.starts[u64(slot), u64(row)] = start
    literals.lengths[u64(slot), u64(row)] = length


@inline
def _lacks_values(row: int, layout: Layout, literals: Literals) -> bool:
    """Return whether an INSERT lacks a column before one that it has. Oracle leaves out trailing NULLs only."""
    is_absent = False
    for column in layout.segment_order:
        if literals.presence[u64(row), u64(column)] == 0:
            is_absent = True
        elif is_absent:
            return True
    return False


@inline
def _is_whole(kind: int, head: int, position: int, table: SeparatorTable) -> bool:
    """Return whether an INSERT has a value for each column of its list."""
    return kind != _INSERT or position == table.columns_count[u64(head)]


@inline
def _read_row(
    row: int, at: int, text: Text, rows: Rows, known: Separators, layout: Layout, literals: Literals, refuse_doubled: bool
) -> tuple[int, int]:
    """Return the row's outcome, and for UNKNOWN_SEPARATOR where it begins."""
    table, is_undo, end = known.table, rows.is_undo[row], rows.offsets[row + 1]
    state, head, code, position = START, 0, -1, 0
    while at < end:
        separator = at
        code, at, opens = _separator(text, at, end, state == START, code + 1, known)
        if code < 0:
            return UNKNOWN_SEPARATOR, separator
        if (table.enters[u64(code)] >> state) & 1 == 0:
            return REFUSED, 0
        if state == START:
            head = code
            rows.table_of[row] = table.table[u64(code)]
        kind = table.kind[u64(head)]
        position = _inline(code, row, head, position, is_undo, table, layout, literals)
        if position < 0:
            return REFUSED, 0
        state = table.leaves[u64(code)]
        if state == END and at == end and _is_whole(kind, head, position, table):
            is_wrong = kind != rows.operations[row] or (kind == _INSERT and _lacks_values(row, layout, literals))
            return REFUSED if is_wrong and not is_undo else DONE, 0
        if state >= END or not opens or table.opens_form[u64(code)] == _UNISTR:
            return REFUSED, 0
        start = at
        at, is_doubled = _literal(text, at, end)
        if is_doubled and (refuse_doubled or _has_both_quotes(text.data, start, at)):
            return REFUSED, 0
        name = table.opens_name[u64(code)]
        if name == NOTHING:
            continue
        column, position = _column(name, head, position, table, layout)
        length = start - at if is_doubled else at - start
        if not _place(code, kind, row, column, start, length, is_undo, table, layout, literals):
            return REFUSED, 0
    return REFUSED, 0


@kernel
def read_rows(
    text: Text,
    numbers: Ints,
    rows: Rows,
    known: Separators,
    layout: Layout,
    literals: Literals,
    refuse_doubled: bool,
    unknown: Ints,
) -> int:
    """Find the literals of these rows. Return how many separators the vocabulary lacks, of each row the first: `unknown`."""
    unknown_count = 0
    for row in numbers:
        literals.presence[row, :] = 0
        literals.starts[:, row] = ABSENT
        outcome, at = _read_row(row, rows.offsets[row], text, rows, known, layout, literals, refuse_doubled)
        rows.outcome[row] = outcome
        if outcome == UNKNOWN_SEPARATOR:
            end = rows.offsets[row + 1]
            unknown[unknown_count, 0] = at
            unknown[unknown_count, 1], _ = _end_of_separator(text, at, end, at == rows.offsets[row])
            unknown_count += 1
            if unknown_count == len(unknown):
                break
    return unknown_count


@kernel
def list_columns(
    presence: npt.NDArray[np.uint8],
    bit: int,
    wanted: bool,
    ids: Ints,
    is_listed: npt.NDArray[np.bool_],
    offsets: Ints,
    out: Ints,
) -> int:
    """List per row the ids of the columns that have the bit, or lack it, and return how many are listed in all."""
    count = 0
    for row in range(presence.shape[0]):
        offsets[row] = count
        if is_listed[row]:
            for c in range(presence.shape[1]):
                if (presence[row, c] & bit != 0) == wanted:
                    out[count] = ids[c]
                    count += 1
    offsets[presence.shape[0]] = count
    return count
