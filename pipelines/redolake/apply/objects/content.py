"""The value of one large object, to which its changes are applied one after another.

Oracle counts the characters of a CLOB in code units of UTF-16, or in characters of the database's character set: releases and
character sets differ in whether one beyond the BMP counts twice. So such a value is kept in both readings until a write,
whose length is known, shows which one is right, or the other contradicts itself. If both are possible at the end and differ,
the value is not known.
"""

from __future__ import annotations

from collections.abc import Callable

from redolake.values.logminer import CHARACTERS, CODE_UNITS

OCTETS = "octets"
CODECS = {CHARACTERS: "utf-32-le", CODE_UNITS: "utf-16-le"}
WIDTHS = {CHARACTERS: 4, CODE_UNITS: 2, OCTETS: 1}  # bytes of what is counted

Change = Callable[[bytearray, str], bool]  # changes one reading in place; returns whether it can be the right one


class Unfollowable(Exception):
    """The changes do not give the value."""


class Content:
    """The value while changes are applied; `is_known` is false until the first one sets it, and `value` is None for NULL."""

    def __init__(self, *, is_text: bool) -> None:
        self.is_known = False
        self._is_text = is_text
        self._begun_by: int | None = None  # the transaction that must fill the value
        self._counts: str | None = None  # how the database counts, once that is seen
        self._readings: dict[str, bytearray] | None = None  # None for NULL

    def set(self, value: str | bytes | None) -> None:
        self.is_known, self._begun_by = True, None
        self._readings = None if value is None else self._read(value)

    def begin(self, value: str | bytes | None, transaction: int) -> None:
        """Set an empty value that its own transaction must fill: else Oracle may have moved the row, and not its object."""
        self.set(value)
        self._begun_by = transaction

    def keep(self) -> None:
        """Require the value from before."""
        self._require_known()

    def write(self, at: int, piece: str | bytes | None, counts: str | None, transaction: int = 0) -> None:
        if self._begun_by == transaction and at == 1:
            self._begun_by = None
        self._require_known()
        if piece is None or isinstance(piece, str) != self._is_text:
            raise Unfollowable("a write has no value of the column's type")
        self._begin()
        if isinstance(piece, str):
            self._show(piece, counts)

        def write(content: bytearray, name: str) -> bool:
            if at < 1:
                return False
            octets, start = piece if isinstance(piece, bytes) else piece.encode(CODECS[name]), (at - 1) * WIDTHS[name]
            if start > len(content):  # Oracle fills the hole
                content.extend(_blanks(name, start - len(content)))
            content[start : start + len(octets)] = octets
            return True

        self._each(write, f"a write begins at {at}")

    def trim(self, length: int) -> None:
        self._require_known()
        self._begin()

        def trim(content: bytearray, name: str) -> bool:
            end = length * WIDTHS[name]
            is_possible = end <= len(content)
            del content[end:]
            return is_possible

        self._each(trim, f"it is trimmed to {length}, and was shorter")

    def erase(self, at: int, amount: int) -> None:
        self._require_known()
        self._begin()

        def erase(content: bytearray, name: str) -> bool:
            if at < 1:
                return False
            start, end = ((place - 1) * WIDTHS[name] for place in (at, at + amount))
            content[start:end] = _blanks(name, len(content[start:end]))
            return True

        self._each(erase, f"it is erased from {at} on")

    def value(self) -> str | bytes | None:
        """Return the value; raise Unfollowable if the redo allows two."""
        self._require_known()
        if self._readings is None:
            return None
        if not self._is_text:
            return bytes(self._readings[OCTETS])
        try:
            found = {content.decode(CODECS[name]) for name, content in self._readings.items()}
        except UnicodeDecodeError:
            raise Unfollowable("a change cuts a character beyond the BMP in two") from None
        if len(found) > 1:
            raise Unfollowable(
                "it contains characters beyond the BMP, and the redo does not show whether these count once or twice"
            )
        return found.pop()

    def _require_known(self) -> None:
        if not self.is_known:
            raise Unfollowable("the value from before is needed, and the row is not in the target")
        if self._begun_by is not None:
            raise Unfollowable(
                "a row was deleted and inserted again in one transaction with an empty value, as when Oracle moves it"
            )

    def _begin(self) -> None:
        """Take NULL as empty: only a statement that replaces the whole value writes to it."""
        if self._readings is None:
            self._readings = self._read("" if self._is_text else b"")

    def _read(self, value: str | bytes) -> dict[str, bytearray]:
        if isinstance(value, bytes):
            return {OCTETS: bytearray(value)}
        both = (CHARACTERS, CODE_UNITS) if _is_beyond_bmp(value) else (CODE_UNITS,)
        return {name: bytearray(value.encode(CODECS[name])) for name in ((self._counts,) if self._counts else both)}

    def _show(self, piece: str, counts: str | None) -> None:
        """Keep both readings from the first character on that tells them apart, and one once the redo shows it."""
        assert self._readings is not None
        if self._counts is None and CHARACTERS not in self._readings and _is_beyond_bmp(piece):
            text = self._readings[CODE_UNITS].decode("utf-16-le")
            self._readings[CHARACTERS] = bytearray(text.encode("utf-32-le"))
        if counts is None:
            return
        if self._counts not in (None, counts) or counts not in self._readings:
            raise Unfollowable("its writes count characters beyond the BMP in two ways")
        self._counts = counts
        self._readings = {counts: self._readings[counts]}

    def _each(self, change: Change, what: str) -> None:
        """Apply the change to each reading, and leave out those that contradict it."""
        assert self._readings is not None
        possible = {name: content for name, content in self._readings.items() if change(content, name)}
        if not possible:
            raise Unfollowable(what)
        if len(possible) < len(self._readings):
            (self._counts,) = possible
        self._readings = possible


def _blanks(name: str, size: int) -> bytes:
    """Return so many bytes of what Oracle fills holes with: blanks in text, zeros in bytes."""
    return bytes(size) if name == OCTETS else " ".encode(CODECS[name]) * (size // WIDTHS[name])


def _is_beyond_bmp(text: str) -> bool:
    return not text.isascii() and any(character > "\uffff" for character in text)
