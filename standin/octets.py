"""Bytes of text that are no characters. Oracle stores what UTL_RAW.CAST_TO_VARCHAR2 or an old client gives it, and returns it
to clients of the same character set as it is.

Python's text has each such byte as U+DC80 to U+DCFF; of the halves of surrogate pairs that stand alone, as UNISTR can make
them, the others stay what they are.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence

import pyarrow as pa

_ERRORS = "standin.octets"


def _octets(error: UnicodeError) -> tuple[bytes, int]:
    assert isinstance(error, UnicodeEncodeError)
    found = error.object[error.start : error.end]
    parts = (bytes([ord(c) - 0xDC00]) if "\udc80" <= c <= "\udcff" else c.encode("utf-8", "surrogatepass") for c in found)
    return b"".join(parts), error.end


codecs.register_error(_ERRORS, _octets)


def octets_of(text: str) -> bytes:
    return text.encode("utf-8", _ERRORS)


# Python's codecs of the character sets that a database can be given here.
CODECS = {
    "US7ASCII": "ascii", "WE8ISO8859P1": "latin-1", "WE8ISO8859P15": "iso8859-15", "WE8MSWIN1252": "cp1252",
    "EE8MSWIN1250": "cp1250", "CL8MSWIN1251": "cp1251", "JA16SJIS": "cp932", "ZHS16GBK": "gbk",
}  # fmt: skip


def octets_in(text: str, characterset: str) -> bytes:
    """Return the bytes of a text in a database of this character set."""
    return text.encode(CODECS[characterset], "replace") if characterset in CODECS else octets_of(text)


class Converted(str):
    """What CONVERT makes of a text: the bytes that it has in another character set."""

    __slots__ = ()


def text_of(octets: bytes) -> str:
    return octets.decode("utf-8", "surrogateescape")


def text_array(values: Sequence[str | None], *, national: bool = False) -> pa.Array:
    """Return texts as Arrow, with their bytes as they are. Those of the national character set are read by `units_of`."""
    try:
        return pa.array(values, pa.string())
    except UnicodeEncodeError:
        errors = "surrogatepass" if national else _ERRORS
        return pa.array([None if v is None else v.encode("utf-8", errors) for v in values], pa.binary()).view(pa.string())


def units_of(octets: bytes) -> bytes:
    """Return text of the national character set in UTF-16, half surrogate pairs too."""
    return octets.decode("utf-8", "surrogatepass").encode("utf-16-be", "surrogatepass")
