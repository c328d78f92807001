"""Text that is not valid UTF-8, although its column says so. A client of the database's own character set can store any bytes:
CESU-8, of old clients in an AL32UTF8 database, or Latin-1. Oracle returns them as they are.

Arrow finds such a text in no time, once per batch. Redo is landed with each byte that is no character as a mark, U+10FE80 to
U+10FEFF, so that everything later is valid; each byte of a mark that the text itself contains becomes a mark too.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

NOT_VALID = "has bytes that are no characters"  # in every reason for which such a text is refused
BY_SERVER = f"{NOT_VALID}: the server replaced them by U+FFFD, which the database's character set does not have"
UNICODE = frozenset({"AL32UTF8", "UTF8", "UTFE", "AL24UTFFSS", "AL16UTF16"})
_FIRST = 0x10FE00  # plus the byte
_OWN_MARK = re.compile("[\U0010fe80-\U0010feff]")
_IN_OCTETS = re.compile(rb"\xf4\x8f([\xba\xbb])([\x80-\xbf])")
_MARKS = {0xDC00 + byte: _FIRST + byte for byte in range(0x80, 0x100)}
_PAIR = re.compile(rb"\xed[\xa0-\xaf][\x80-\xbf]\xed[\xb0-\xbf][\x80-\xbf]")
_HALF = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
_REPLACEMENT = "\ufffd".encode()
_FIRST_OCTET = 0xF4


def cure_of(column: str, table: object, *, by_server: bool = False) -> str:
    if by_server:
        return (
            f"declare `columns: {{{column}: replace}}` of {table}, or `invalid_text: replace`, which keeps U+FFFD; or correct "
            f"them in Oracle, or migrate the database to AL32UTF8; then run `redolake snapshot {table} --replace`"
        )
    return (
        f"declare `columns: {{{column}: replace}}` of {table} (surrogate pairs of CESU-8 become the character that they mean, "
        "other such bytes U+FFFD), or `binary` to keep the bytes, or `invalid_text: replace` for all columns but those of the "
        f"key; or correct the values in Oracle; then run `redolake snapshot {table} --replace`"
    )


def is_valid(texts: pa.Array) -> bool:
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def octets_in(texts: pa.Array) -> list[bytes | None]:
    found: list[bytes | None] = texts.cast(
        pa.large_binary() if pa.types.is_large_string(texts.type) else pa.binary()
    ).to_pylist()
    return found


def is_text(octets: bytes) -> bool:
    try:
        octets.decode()
    except UnicodeDecodeError:
        return False
    return True


def replace_bad_bytes(octets: bytes) -> str:
    """Return the text with CESU-8's surrogate pairs as the character they mean, and U+FFFD for all else that is none."""
    joined = _PAIR.sub(lambda pair: _of_units(pair[0]), octets)
    return _HALF.sub(_REPLACEMENT, joined).decode(errors="replace")


def _of_units(pair: bytes) -> bytes:
    return pair.decode("utf-8", "surrogatepass").encode("utf-16-le", "surrogatepass").decode("utf-16-le").encode()


def with_marks(texts: pa.Array, *, own_marks: bool = True) -> pa.Array:
    """Return the texts with a mark for each byte that is no character. Without `own_marks`, marks in them stay as they are."""
    if is_valid(texts) and not (own_marks and may_have_marks(texts)):
        return texts
    return pa.array([None if t is None else mark(t, own_marks=own_marks) for t in octets_in(texts)], texts.type)


def mark(octets: bytes, *, own_marks: bool = True) -> str:
    text = octets.decode("utf-8", "surrogateescape")
    if text.isascii():
        return text
    if own_marks:
        text = _OWN_MARK.sub(lambda own: "".join(chr(_FIRST + byte) for byte in own[0].encode()), text)
    return text.translate(_MARKS)


def octets_of(text: str) -> bytes:
    """Return the bytes of a text with marks."""
    return _IN_OCTETS.sub(lambda m: bytes([0x80 + ((m[1][0] - 0xBA) << 6) + m[2][0] - 0x80]), text.encode())


def has_marks(text: str) -> bool:
    return _OWN_MARK.search(text) is not None


def rows_replaced_by_server(texts: pa.Array) -> list[int]:
    """Return the numbers of the texts that contain U+FFFD."""
    found = pc.match_substring(texts, "\ufffd").fill_null(False)
    return [int(row) for row in np.flatnonzero(found.to_numpy(zero_copy_only=False))]


def marked_rows(texts: pa.Array) -> list[int]:
    """Return the numbers of the texts with marks."""
    if not may_have_marks(texts):
        return []
    found = pc.match_substring_regex(texts, "[\\x{10FE80}-\\x{10FEFF}]").fill_null(False)
    return [int(row) for row in np.flatnonzero(found.to_numpy(zero_copy_only=False))]


def may_have_marks(texts: pa.Array) -> bool:
    """Return whether the byte with which a mark begins occurs in the array's buffer, which slices share."""
    data = texts.buffers()[2]
    return data is not None and bool((np.frombuffer(data, np.uint8) == _FIRST_OCTET).any())
