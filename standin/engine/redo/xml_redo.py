"""The redo rows of XMLTYPE values and extended strings: where they are in rows of their own, the statement lacks them."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass

from standin.engine.redo.lob_redo import INLINE, LobRow, long_value
from standin.engine.storage.layout import Row, RowLayout
from standin.redo_file import Op

_PIECE = 2033  # bytes of a document outside the row, or characters of one stored as text, in one redo record
AS_TEXT, AS_LITERAL, AS_BYTES, AS_NULL = "text", "literal", "bytes", "null"  # how LogMiner shows a piece


@dataclass(frozen=True, slots=True)
class XmlForm:
    """The options xml_rows, xml_nulls, extended_rows and lob_rows."""

    rows: str = "values"
    nulls: str = "statement"
    extended: str = "unsupported"
    by_statement: bool = False  # extended strings are among the large objects of a statement

    def objects(self, layout: RowLayout) -> frozenset[int]:
        """Return the positions whose values may be in rows of their own, beside those of large objects."""
        documents: frozenset[int] = frozenset() if self.rows == "values" else layout.documents
        return documents | layout.extended if self.extended == "pieces" else documents

    def documents(self, layout: RowLayout, values: Row, positions: Set[int]) -> frozenset[int]:
        """Return the positions whose values are in rows of their own."""
        own = (self.objects(layout) - (layout.extended if self.by_statement else frozenset())) & positions
        nulls = layout.documents if self.nulls == "document" else frozenset[int]()
        return frozenset(i for i in own if i < len(values) and (values[i] is not None or i in nulls))

    def omitted(self, layout: RowLayout, values: Row, documents: Set[int]) -> frozenset[int]:
        """Return the positions that an INSERT lacks."""
        absent = {i for i in layout.documents if i < len(values) and values[i] is None and self.nulls == "absent"}
        return frozenset(absent | (set(documents) if self.rows == "documents" else set(documents) & layout.extended))


def of_documents(layout: RowLayout, values: Row, documents: Set[int], form: XmlForm, *, named: bool) -> Iterator[LobRow]:
    """Yield the rows of the documents of a row: each has a first one with the row's key, pieces, and a last one."""
    logged = layout.encode(values, tuple(sorted(layout.always_logged)))
    for i in sorted(documents):
        number, content = layout.segment_ids[i], layout.encode(values, (i,))[layout.segment_ids[i]]
        if i in layout.extended:
            yield from long_value(number, content or b"", logged, named=named)
            continue
        kind = AS_TEXT if form.rows == "texts" else AS_LITERAL
        yield LobRow(Op.XML_BEGIN, logged, {number: b""}, kind, named)
        for shown, piece in _cut(content, kind):
            yield LobRow(Op.XML_WRITE, logged, {number: piece}, shown, named)
        yield LobRow(Op.XML_END, {}, {}, named=named)


def _cut(content: bytes | None, kind: str) -> Iterator[tuple[str, bytes | None]]:
    """Yield the pieces with how LogMiner shows them. Bytes are cut within a character, text is not."""
    if content is None:
        yield AS_NULL, None
    elif kind == AS_TEXT:
        text = content.decode()
        for start in range(0, len(text), _PIECE):
            yield AS_TEXT, text[start : start + _PIECE].encode()
    elif len(content) <= INLINE:
        yield AS_LITERAL, content
    else:
        for start in range(0, len(content), _PIECE):
            yield AS_BYTES, content[start : start + _PIECE]
