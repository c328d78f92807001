"""Parse a batch of redo statements into column assignments, as flat arrays, without a loop over rows.

Literals are found by quote parity, and each distinct separator between them is parsed once under a strict grammar; the rest
is indexing. A row that cannot be parsed gets an error and no assignments, and does not affect other rows. Columns and types
are not known here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from redolake.decode.forms import Form, Verb
from redolake.decode.literals import Split, decode_unistr, split_literals, unescape
from redolake.decode.separators import END, HIDDEN_APOSTROPHE, START, UNISTR_FOLLOWS, Enclosure, state
from redolake.decode.vocabulary import BY_POSITION, NOTHING, SeparatorTable, Vocabulary
from redolake.values.table import TableId
from redolake.values.valid_text import has_marks, mark

Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

MAX_SEPARATORS = 50_000
_SHOWN_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Assignments:
    """One element per column and clause of a statement. `value` indexes the values; -1 where the form has none."""

    row: Ints
    name: Ints
    clause: Ints
    form: Ints
    value: Ints


@dataclass(frozen=True, slots=True)
class ParsedRedo:
    """`kind` is a Verb, `table` indexes `tables` (-1 for a row with an error), `error` is null for a row that was parsed."""

    kind: Ints
    table: Ints
    tables: tuple[TableId, ...]
    names: tuple[str, ...]
    values: pa.StringArray
    assignments: Assignments
    error: pa.StringArray
    swallowing: Ints  # indexes of values that would contain further assignments if LogMiner left their quotes single
    doubled: Ints  # indexes of values with quotes side by side, which stand for one where LogMiner doubles quotes
    single_rows: Ints  # rows whose text shows that LogMiner left quotes single, and that have quotes side by side


def parse_redo_sql(sql: pa.StringArray | pa.LargeStringArray | pa.ChunkedArray) -> ParsedRedo:
    """Parse redo statements; each text that cannot be parsed gets an error."""
    if isinstance(sql, pa.ChunkedArray):
        sql = sql.combine_chunks()
    text = sql if sql.type == pa.string() else sql.cast(pa.string())
    errors: dict[int, str] = {}
    if text.null_count:
        errors = dict.fromkeys(np.flatnonzero(text.is_null().to_numpy(zero_copy_only=False)).tolist(), "no SQL_REDO")
        text = text.fill_null("")
    shown, batch = text, _Batch(split_literals(text))
    single: Ints = np.empty(0, np.int32)
    for mend in (_hide_apostrophes, _double_apostrophes):
        refused = np.union1d(batch.separator_row[batch.misplaced], batch.split.unbalanced)
        if len(refused) and (mended := _mend(text, refused, mend, shown)) is not None:
            shown, batch = mended, _Batch(split_literals(mended))
            single = refused if mend is _double_apostrophes else single
    return _parse(batch, errors, *_side_by_side(text, single))


def _side_by_side(text: pa.StringArray, rows: Ints) -> tuple[Ints, Ints]:
    """Divide rows whose apostrophes were doubled here: those that had quotes side by side before, and the others."""
    if not len(rows):
        return rows, rows
    found: Bools = pc.match_substring(text.take(pa.array(rows)), "''").to_numpy(zero_copy_only=False)
    return rows[found], rows[~found]


class _Batch:
    """The pieces of a batch, with the vocabulary's code of each separator. Separator k + row of literal k opens literal k."""

    def __init__(self, split: Split) -> None:
        self.split, self.rows, self.vocabulary = split, len(split.first) - 1, _vocabulary()
        separators = split.pieces.take(pa.array(split.separator_pieces)).dictionary_encode()
        self.separators: pa.StringArray = separators.dictionary
        self.separator: Ints = separators.indices.to_numpy()
        self.code: Ints = self.vocabulary.codes(separators.dictionary.to_pylist())[self.separator]
        self.table: SeparatorTable = self.vocabulary.arrays()
        self.separator_row = split.separator_row
        numbers = np.arange(self.rows, dtype=np.int32)
        self.head_separator: Ints = split.first[:-1] + numbers
        self.tail_separator: Ints = split.first[1:] + numbers
        self.opening_separator: Ints = np.arange(len(split.row), dtype=np.int32) + split.row
        self.opening: Ints = self.code[self.opening_separator]  # code of the separator before each literal
        self.leaves: Ints = self.table.leaves[self.opening]
        self.misplaced = self._misplaced_separators()

    def _misplaced_separators(self) -> Ints:
        """Return the separators that the grammar does not have, or not in the state in which they occur.

        It follows that the last separator, and no other, ends the statement: one that opens a literal has one quote more.
        """
        entered = np.full(len(self.code), START, np.int32)
        entered[self.opening_separator + 1] = self._states()
        misplaced: Bools = (self.table.enters[self.code] >> entered) & 1 == 0
        separators: Ints = np.flatnonzero(misplaced).astype(np.int32)
        return separators

    def _states(self) -> Ints:
        """Return the state of each literal; a value that continues stays in the clause in which it began."""
        continued = self.leaves > END
        if not continued.any():
            return self.leaves
        numbers = np.arange(len(continued), dtype=np.int32)
        clause = self.leaves[np.maximum.accumulate(np.where(continued, 0, numbers))] // len(Enclosure)
        states: Ints = np.where(continued, state(0, Enclosure.UNISTR) + clause * len(Enclosure), self.leaves).astype(np.int32)
        return states


_known = Vocabulary()


def _vocabulary() -> Vocabulary:
    """Return the vocabulary of this process; a new one once numbers or names have made the old one too large."""
    global _known
    if len(_known) > MAX_SEPARATORS:
        _known = Vocabulary()
    return _known


_QUOTED = re.compile(r"""\"[^"]*"|'[^']*'""")
# The end of a value and the next assignment. Groups: the text between them, and the column.
SWALLOWED = r"""'(, | and | where )(?:a\.)?"([^"]+)" (?:= |IS NULL)"""
# A quote that begins a literal follows one of `(, `, and one that ends it precedes one of `,) ;` or the end of the text.
_INSIDE = re.compile(r"(?<=[^(, '])'(?=[^,) ;'])")


def _hide_apostrophes(sql: str) -> str:
    """Hide the apostrophes inside quoted names."""
    return _QUOTED.sub(lambda m: m[0].replace("'", HIDDEN_APOSTROPHE) if m[0][0] == '"' else m[0], sql)


def _double_apostrophes(sql: str) -> str:
    """Double the apostrophes that LogMiner left single, as some releases do, where they can be nothing else.

    A quote that can neither begin nor end a literal is inside one, as in a word. A row with any other is refused.
    """
    return _INSIDE.sub("''", sql)


def _mend(
    sql: pa.StringArray, rows: npt.NDArray[np.int32], mend: Callable[[str], str], shown: pa.StringArray
) -> pa.StringArray | None:
    """Return `shown` with these rows of `sql` mended, or None if that changes none of them.

    A text is never mended in both ways: where quotes are not doubled, an apparent quoted name may be part of a value.
    """
    found = sql.take(pa.array(rows)).to_pylist()
    mended = [mend(text) for text in found]
    if mended == found:
        return None
    mask = np.zeros(len(sql), np.bool_)
    mask[rows] = True
    return pc.replace_with_mask(shown, pa.array(mask), pa.array(mended, pa.string()))


def _parse(batch: _Batch, errors: dict[int, str], single_rows: Ints, clear_rows: Ints) -> ParsedRedo:
    for row in batch.split.unbalanced.tolist():
        errors.setdefault(row, "a literal has no end")
    rows, firsts = np.unique(batch.separator_row[batch.misplaced], return_index=True)
    for row, separator in zip(rows.tolist(), batch.misplaced[firsts].tolist(), strict=True):
        if row not in errors:
            errors[row] = _not_understood(batch, row, separator)
    positions = _positions(batch, errors)
    values, literal_value, numbers_from, swallowing = _values(batch, errors)
    doubled = literal_value[_doubled_literals(batch, clear_rows)]

    assignments = _assignments(batch, positions, literal_value, numbers_from)
    heads = batch.code[batch.head_separator]
    kind, table = batch.table.kind[heads], batch.table.table[heads]
    message = pa.nulls(batch.rows, pa.string())
    if errors:
        refused = np.zeros(batch.rows, np.bool_)
        refused[list(errors)] = True
        kept = ~refused[assignments.row]
        assignments = Assignments(*(getattr(assignments, f)[kept] for f in Assignments.__slots__))
        kind, table = np.where(refused, 0, kind), np.where(refused, -1, table)
        message = pa.array([errors.get(i) for i in range(batch.rows)], pa.string())
    names, tables = tuple(batch.vocabulary.names), tuple(batch.vocabulary.tables)
    return ParsedRedo(kind, table, tables, names, values, assignments, message, swallowing, doubled, single_rows)


def _positions(batch: _Batch, errors: dict[int, str]) -> Ints:
    """Return for each separator how many values of its INSERT precede it.

    Adds an error where an INSERT has more columns than values, or fewer.
    """
    steps = batch.table.inline_count[batch.code] + (batch.table.opens_name[batch.code] == BY_POSITION)
    after = np.cumsum(steps, dtype=np.int32)
    before = after - steps
    base = before[batch.head_separator]
    heads = batch.code[batch.head_separator]
    given = after[batch.tail_separator] - base
    expected = batch.table.columns_count[heads]
    for row in np.flatnonzero((batch.table.kind[heads] == Verb.INSERT) & (given != expected)).tolist():
        errors.setdefault(row, f"{expected[row]} columns but {given[row]} values")
    positions: Ints = before - base[batch.separator_row]
    return positions


def _values(batch: _Batch, errors: dict[int, str]) -> tuple[pa.StringArray, Ints, int, Ints]:
    """Return all values, the index of each literal in them, that of the first number without quotes, and `swallowing`."""
    split, pieces = batch.split, batch.split.pieces
    index = split.literal_pieces
    parts, length = [pieces], len(pieces)
    swallowing = np.empty(0, np.int32)
    doubled = np.flatnonzero(split.doubled)
    if len(doubled):
        parts.append(unescape(pieces.take(pa.array(index[doubled]))))
        found = pc.match_substring_regex(parts[-1], SWALLOWED).to_numpy(zero_copy_only=False)
        swallowing = length + np.flatnonzero(found).astype(np.int32)
        index[doubled] = length + np.arange(len(doubled), dtype=np.int32)
        length += len(doubled)
    heads, decoded = _unistr(batch, pa.chunked_array(parts), index, errors)
    if decoded:
        parts.append(pa.array(decoded, pa.string()))
        index[heads] = length + np.arange(len(heads), dtype=np.int32)
        length += len(heads)
    if batch.vocabulary.numbers:
        parts.append(pa.array(batch.vocabulary.numbers, pa.string()))
    return (pa.concat_arrays(parts) if len(parts) > 1 else pieces), index, length, swallowing


def _doubled_literals(batch: _Batch, clear_rows: Ints) -> Ints:
    """Return the literals in which LogMiner has doubled a quote; of a value in several literals the first."""
    doubled: Ints = np.flatnonzero(batch.split.doubled).astype(np.int32)
    if len(clear_rows):
        doubled = doubled[~np.isin(batch.split.row[doubled], clear_rows)]
    continues = batch.leaves == UNISTR_FOLLOWS
    if len(doubled) and continues.any():
        numbers = np.arange(len(continues), dtype=np.int32)
        doubled = np.unique(np.maximum.accumulate(np.where(continues, 0, numbers))[doubled])
    return doubled


def _unistr(batch: _Batch, values: pa.ChunkedArray, index: Ints, errors: dict[int, str]) -> tuple[list[int], list[str | None]]:
    """Return the literals that begin a UNISTR value, and the values.

    The literals of a value are joined before decoding, as one surrogate pair may be in two literals.
    """
    opens = batch.table.opens_form[batch.opening] == Form.UNISTR
    literals = np.flatnonzero(opens | (batch.leaves == UNISTR_FOLLOWS))
    if not len(literals):
        return [], []
    heads: list[int] = []
    joined: list[str] = []
    texts = values.take(pa.array(index[literals])).to_pylist()
    # A malformed row may continue a value that it never began; it must not continue that of the row before.
    begins = opens[literals] | np.append(True, np.diff(batch.split.row[literals]) != 0)
    for literal, text, is_head in zip(literals.tolist(), texts, begins.tolist(), strict=True):
        if is_head:
            heads.append(literal)
            joined.append(text)
        else:
            joined[-1] += text
    decoded = decode_unistr(joined)
    for head, value in zip(heads, decoded, strict=True):
        if value is None:
            errors.setdefault(int(batch.split.row[head]), "a value is not a UNISTR text, or has half a surrogate pair")
    return heads, [_with_own_marks(value) for value in decoded]


def _with_own_marks(value: str | None) -> str | None:
    """Return the value as one in a literal comes: characters that are marks of valid_text.py are marked themselves."""
    return mark(value.encode()) if value is not None and has_marks(value) else value


def _assignments(batch: _Batch, positions: Ints, literal_value: Ints, numbers_from: int) -> Assignments:
    table, code = batch.table, batch.code
    literal = np.flatnonzero(table.opens_name[batch.opening] != NOTHING)
    opening, separator = batch.opening[literal], batch.opening_separator[literal]
    row = batch.split.row[literal]
    name = _names(batch, row, table.opens_name[opening], positions[separator] + table.inline_count[opening])
    opened = (row, name, table.opens_clause[opening], table.opens_form[opening], literal_value[literal])

    separators = np.flatnonzero(table.inline_count[code])
    counts = table.inline_count[code[separators]]
    separator = np.repeat(separators, counts)
    nth = np.arange(len(separator), dtype=np.int32) - np.repeat(np.cumsum(counts, dtype=np.int32) - counts, counts)
    own, clause, form, number = table.inline[:, table.inline_start[code[separator]] + nth]
    row = batch.separator_row[separator]
    name = _names(batch, row, own, positions[separator] + nth)
    inline = (row, name, clause, form, np.where(number < 0, -1, number + numbers_from))
    return Assignments(*(np.concatenate(pair).astype(np.int32, copy=False) for pair in zip(opened, inline, strict=True)))


def _names(batch: _Batch, row: Ints, own: Ints, position: Ints) -> Ints:
    """Return the name in the separator, or else the name at this position of the INSERT's column list."""
    by_position = own == BY_POSITION
    if not by_position.any() or not len(batch.table.columns):
        return own
    heads = batch.code[batch.head_separator]
    start, count = batch.table.columns_start[heads], batch.table.columns_count[heads]
    within = np.minimum(position, count[row] - 1)  # a row with too many values already has an error
    at = np.where(by_position, start[row] + within, 0)
    return np.where(by_position, batch.table.columns[at], own)


def _not_understood(batch: _Batch, row: int, separator: int) -> str:
    """Return the error of a row. Only the text before the first literal cannot be row data: with quotes that LogMiner left
    single, a part of a value stands between literals."""
    literals = separator - int(batch.head_separator[row])
    if literals:
        return f"not understood after literal {literals}"
    return f"not understood: {_show(batch.separators[batch.separator[separator]].as_py())}"


def _show(text: str) -> str:
    text = text.replace(HIDDEN_APOSTROPHE, "'")
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."
