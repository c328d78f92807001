"""The value of an XMLTYPE column, of which the redo shows each new document whole: a first row, parts, and an end."""

from __future__ import annotations

from collections.abc import Callable
from xml.parsers import expat

from redolake.apply.objects.content import Unfollowable

ReadText = Callable[[bytes], str]  # of bytes in the database's character set; raises ValueError


class Document:
    """The value while documents replace it. `read_text` reads the bytes of parts."""

    def __init__(self, read_text: ReadText) -> None:
        self._read_text = read_text
        self._is_known = False
        self._is_awaited = False  # a change says that there is a document, and has it in other rows
        self._value: str | None = None
        self._parts: list[str | bytes | None] | None = None  # of a document that has not ended
        self._has_plain_parts = False

    def set(self, value: str | bytes | None) -> None:
        self._require_end()
        if isinstance(value, bytes):
            raise Unfollowable("a document is in bytes")
        self._is_known, self._is_awaited, self._value = True, False, value

    def expect(self) -> None:
        """Require a document in rows that follow."""
        self._require_end()
        self._is_known, self._is_awaited, self._value = True, True, None

    def keep(self) -> None:
        """Require the value from before."""
        if not self._is_known:
            raise Unfollowable("the row is not in the target")

    def begin(self, *, has_plain_parts: bool) -> None:
        """Begin a document. Its parts are plain text where it is stored as text, else literals with their length."""
        self._require_end()
        self._parts, self._has_plain_parts = [], has_plain_parts

    def add(self, part: str | bytes | None, *, is_plain: bool) -> None:
        if self._parts is None:
            raise Unfollowable("a part of a document comes before the document")
        if part is not None and is_plain != self._has_plain_parts:
            raise Unfollowable("a part of a document is not in the document's form")
        self._parts.append(part)

    def end(self) -> None:
        if not self._parts:
            raise Unfollowable("a document has an end, and no parts")
        parts, self._parts = self._parts, None
        self._is_known, self._is_awaited, self._value = True, False, self._join(parts)

    def value(self) -> str | None:
        self._require_end()
        if not self._is_known:
            raise Unfollowable("the value from before is needed, and the row is not in the target")
        if self._is_awaited:
            raise Unfollowable("a change contains neither NULL nor a document, and no rows with a document follow it")
        return self._value

    def _require_end(self) -> None:
        if self._parts is not None:
            raise Unfollowable("a document has no end")

    def _join(self, parts: list[str | bytes | None]) -> str | None:
        if parts == [None]:
            return None
        texts, octets = [p for p in parts if isinstance(p, str)], [p for p in parts if isinstance(p, bytes)]
        if len(texts) not in (0, len(parts)) or len(octets) not in (0, len(parts)):
            raise Unfollowable("the parts of a document are in different forms")
        try:
            # A part may end within a character.
            text = "".join(texts) if texts else self._read_text(b"".join(octets))
        except ValueError as refused:
            raise Unfollowable(f"the bytes of a document: {refused}") from None
        if not (is_well_formed(text) or is_well_formed(f"<a>{text}</a>")):
            raise Unfollowable("a document is not well-formed XML, as if a part of it were missing")
        return text


def is_well_formed(text: str) -> bool:
    try:
        expat.ParserCreate("utf-8").Parse(text.encode(), True)
    except (expat.ExpatError, UnicodeEncodeError):
        return False
    return True
