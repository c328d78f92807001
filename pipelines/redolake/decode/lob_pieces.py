"""The changes of large objects in PL/SQL texts: which column is written, trimmed or erased, where, and with what.

A text that is not understood to its end, or whose value has not the declared length, is an error: a part of a value is never
taken.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from redolake.decode.datatypes.character import CODECS
from redolake.decode.literals import decode_unistr
from redolake.decode.lob_sql import DOCUMENT, SELECT, TEXT_DOCUMENT
from redolake.decode.resolve import ids_by_name
from redolake.values.logminer import CHARACTERS, CODE_UNITS, Mined
from redolake.values.redo import Encoding
from redolake.values.table import Column, TableVersion
from redolake.values.valid_text import has_marks

ODD_TEXT = "bytes that are no character: `large_objects: reread`, with the rule `replace` for the column, reads them"
LEFT_OUT = -1  # instead of a column id: the column is not captured
DEFAULT_ENCODING = Encoding()
_DOCUMENT_CODES = (Mined.XML_DOC_BEGIN, Mined.XML_DOC_WRITE, Mined.XML_DOC_END)
FIELDS = (
    pa.field("piece_kind", pa.string()),
    pa.field("piece_column", pa.int32()),
    pa.field("piece_at", pa.int64()),
    pa.field("piece_amount", pa.int64()),
    pa.field("piece_counts", pa.string()),
    pa.field("piece_text", pa.string()),
    pa.field("piece_octets", pa.binary()),
)
_VERBS = {
    Mined.LOB_WRITE: "write",
    Mined.LOB_TRIM: "trim",
    Mined.LOB_ERASE: "erase",
    Mined.LOB_ERASE_AS_DOCUMENTED: "erase",
}
_END = r"\s*(?:END;\s*)?"
_WRITE = re.compile(
    r"\s*buf_(c|b|nc)\s*:=\s*(.*?)\s*;\s*dbms_lob\.write\(loc_(\w+),\s*(\d+),\s*(\d+),\s*buf_(\w+)\);" + _END, re.S
)
_TRIM = re.compile(r"\s*dbms_lob\.trim\(loc_(c|b|nc),\s*(\d+)\);" + _END)
_ERASE = re.compile(r"\s*dbms_lob\.erase\(loc_(c|b|nc),\s*(\d+),\s*(\d+)\);" + _END)
_HEX = re.compile(r"HEXTORAW\('([0-9A-Fa-f]*)'\)")
_UNISTR = re.compile(r"UNISTR\('((?:[^']|'')*)'\)(?:\s*\|\|\s*|$)")
_LETTERS = {"c": "CLOB", "b": "BLOB", "nc": "NCLOB", "x": "XMLTYPE"}
# A part of a document. Oracle leaves out the last quote of some HEXTORAW; the length is written in two ways.
_PART = re.compile(
    r"XML_REDO := (?:HEXTORAW\('(?P<digits>[0-9A-Fa-f]*)'?\)|(?P<text>'.*'))(?::|\s+amount: )(?P<length>\d+)\s*", re.S
)
_NO_DOCUMENT = "XML_REDO := NULL"


@dataclass(frozen=True, slots=True)
class Piece:
    """A change through a locator. `kind` is write, trim, erase, or locator, which changes nothing. `column` is None where the
    text names none: then it is that of the locator's row before it. A write has `text` or `octets`.

    A document is a row of kind document, or text document, then some of kind part, with `text` or `octets` or neither for NULL,
    and one of kind end. The parts of a text document have kind text."""

    kind: str
    column: str | None = None
    letter: str = ""
    at: int | None = None
    amount: int | None = None
    counts: str | None = None
    text: str | None = None
    octets: bytes | None = None


def parse_piece(code: int, sql: str | None, encoding: Encoding = DEFAULT_ENCODING, *, single_quotes: bool = False) -> Piece:
    """Parse the text of a row about a large object. Raise ValueError if it is not understood. `single_quotes` says that
    LogMiner of this database leaves quotes inside values single, at least some of them."""
    if sql is not None and has_marks(sql):
        raise ValueError(ODD_TEXT)
    if code in _DOCUMENT_CODES:
        return _piece_of_document(code, sql, encoding, single_quotes=single_quotes)
    if code == Mined.SELECT_LOB_LOCATOR and sql is None:
        return Piece("locator")
    if code != Mined.SELECT_LOB_LOCATOR and code not in _VERBS:
        raise ValueError(f"operation {code} is not assembled from the redo")
    if sql is None:
        raise ValueError("a change of a large object has no text")
    selected = SELECT.match(sql)
    column, letter, body = None, "", sql
    if selected is not None:
        column, letter, body = selected["column"], selected["letter"], sql[selected.end() :]
    if code == Mined.SELECT_LOB_LOCATOR:
        if column is None:
            raise ValueError("the text of a locator selects no large object")
        return Piece("locator", column, letter)
    found = _PARSERS[_VERBS[Mined(code)]](body)
    if letter not in ("", found.letter):
        raise ValueError("the text writes through another locator than the one it selects")
    return replace(found, column=column)


def _piece_of_document(code: int, sql: str | None, encoding: Encoding, *, single_quotes: bool) -> Piece:
    if code == Mined.XML_DOC_END:
        if sql is not None:
            raise ValueError("the end of a document has a text")
        return Piece("end")
    if sql is None:
        raise ValueError("a row of a document has no text")
    if code == Mined.XML_DOC_WRITE:
        return _part(sql, encoding, single_quotes=single_quotes)
    for kind, form in (("document", DOCUMENT), ("text document", TEXT_DOCUMENT)):
        if found := form.fullmatch(sql):
            return Piece(kind, found["column"], "x")
    raise ValueError("the first row of a document is not understood")


def _part(sql: str, encoding: Encoding, *, single_quotes: bool) -> Piece:
    if not sql.startswith("XML_REDO := "):
        return Piece("text", text=sql)
    if sql == _NO_DOCUMENT:
        return Piece("part")
    found = _PART.fullmatch(sql)
    if found is None:
        raise ValueError("a part of a document is not understood")
    length = int(found["length"])
    if found["digits"] is not None:
        if len(found["digits"]) != 2 * length:
            raise ValueError(f"a part of a document declares {length} bytes and has {len(found['digits']) / 2:g}")
        return Piece("part", octets=bytes.fromhex(found["digits"]))
    # Which length is declared is not known: in characters, code units or bytes.
    texts = [text for text in _texts(found["text"]) if length in _lengths(text, encoding)]
    if not texts:
        raise ValueError(f"a part of a document declares the length {length} and has another one")
    if single_quotes and len({*texts}) > 1:
        raise ValueError("a part of a document may have one quote or two where they stand side by side")
    return Piece("part", text=texts[0])


def _lengths(text: str, encoding: Encoding) -> set[int]:
    codec = CODECS.get(encoding.text, "utf-8")
    octets = text.encode("utf-8" if codec == "cesu-8" else codec, "replace")
    return {len(text), len(text.encode("utf-16-le")) // 2, len(octets)}


def _write(body: str) -> Piece:
    found = _WRITE.fullmatch(body)
    if found is None or not found[1] == found[3] == found[6]:
        raise ValueError("the text of a write is not understood")
    letter, literal, amount, at = found[1], found[2], int(found[4]), int(found[5])
    if letter == "b":
        octets = _octets(literal)
        if len(octets) != amount:
            raise ValueError(f"a write declares {amount} bytes and has {len(octets)}")
        return Piece("write", None, letter, at, amount, octets=octets)
    for text in _texts(literal):
        lengths = {CHARACTERS: len(text), CODE_UNITS: len(text.encode("utf-16-le")) // 2}
        counts = [name for name, length in lengths.items() if length == amount]
        if counts:
            return Piece("write", None, letter, at, amount, counts[0] if len(counts) == 1 else None, text)
    raise ValueError(f"a write declares {amount} characters and has another number of them")


def _octets(literal: str) -> bytes:
    found = _HEX.fullmatch(literal)
    if found is None or len(found[1]) % 2:
        raise ValueError("a value of bytes is not in hexadecimal digits")
    return bytes.fromhex(found[1])


def _texts(literal: str) -> list[str]:
    """Return the readings of a literal: quotes doubled, and quotes left single, as some releases do. The declared length
    decides between them."""
    if literal.startswith("UNISTR("):
        parts = list(_UNISTR.finditer(literal))
        (text,) = decode_unistr(["".join(part[1].replace("''", "'") for part in parts)])
        if text is None or "".join(part[0] for part in parts) != literal:
            raise ValueError("a value is not a UNISTR text")
        return [text]
    if len(literal) < 2 or literal[0] != "'" or literal[-1] != "'":
        raise ValueError("a value is not a literal")
    inside = literal[1:-1]
    return [*([inside.replace("''", "'")] if "'" not in inside.replace("''", "") else []), inside]


def _trim(body: str) -> Piece:
    found = _TRIM.fullmatch(body)
    if found is None:
        raise ValueError("the text of a trim is not understood")
    return Piece("trim", None, found[1], at=int(found[2]))


def _erase(body: str) -> Piece:
    found = _ERASE.fullmatch(body)
    if found is None:
        raise ValueError("the text of an erase is not understood")
    return Piece("erase", None, found[1], at=int(found[3]), amount=int(found[2]))


_PARSERS: Mapping[str, Callable[[str], Piece]] = {"write": _write, "trim": _trim, "erase": _erase}


def columns_by_name(version: TableVersion, names: Mapping[str, int] | None) -> dict[str, Column]:
    by_id = {column.id: column for column in version.columns}
    return {name: by_id[id_] for name, id_ in ids_by_name(version, names).items() if id_ in by_id}


def column_id(piece: Piece, version: TableVersion, columns: Mapping[str, Column]) -> int | None:
    """Return the id of the piece's column, LEFT_OUT, or None without one. Raise ValueError for an unknown column, or one of
    another type."""
    if piece.column is None:
        return None
    column = columns.get(piece.column)
    if column is None:
        if version.ignores(piece.column):
            return LEFT_OUT
        raise ValueError(f"the text selects {piece.column}, which is no column of the table")
    if column.type.name != _LETTERS[piece.letter]:
        raise ValueError(f"the text writes {piece.column} as {_LETTERS[piece.letter]}, and it is {column.type}")
    return column.id


def pieces_of(
    batch: pa.RecordBatch,
    version: TableVersion,
    names: Mapping[str, int] | None,
    encoding: Encoding = DEFAULT_ENCODING,
    *,
    single_quotes: bool = False,
) -> tuple[list[pa.Array], list[str | None], list[bool]]:
    """Return the columns of FIELDS, the error of each row, and whether its text names its row and column."""
    found: list[tuple[object, ...]] = []
    errors: list[str | None] = []
    named: list[bool] = []
    by_name = columns_by_name(version, names)
    rows = zip(*(batch.column(name).to_pylist() for name in ("operation_code", "sql_redo", "rollback")), strict=True)
    for code, sql, rollback in rows:
        piece, column, error = Piece(""), None, None
        try:
            if rollback:
                raise ValueError("an undo row about a large object does not say what it takes back")
            piece = parse_piece(code, sql, encoding, single_quotes=single_quotes)
            column = column_id(piece, version, by_name)
        except ValueError as refused:
            error = str(refused)
        found.append((piece.kind, column, piece.at, piece.amount, piece.counts, piece.text, piece.octets))
        errors.append(error)
        named.append(piece.column is not None)
    columns = list(zip(*found, strict=True)) if found else [()] * len(FIELDS)
    return [pa.array(list(c), field.type) for c, field in zip(columns, FIELDS, strict=True)], errors, named
