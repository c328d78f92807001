"""VARCHAR2 and CHAR, NVARCHAR2 and NCHAR as text; CHAR and NCHAR keep their blank padding."""

from __future__ import annotations

import pyarrow as pa

from redolake.decode.datatypes.family import Cast, Family, cast_each, refuse_rule
from redolake.decode.forms import Form
from redolake.values.redo import Encoding
from redolake.values.table import BINARY, REPLACE, TEXT_RULES, OracleType, TypeRule
from redolake.values.valid_text import NOT_VALID, is_text, marked_rows, octets_in, octets_of, replace_bad_bytes

# Character set -> codec; the national ones are AL16UTF16 and UTF8. Only internal bytes need it: redo SQL comes through the
# driver as Unicode.
CODECS = {
    "AL32UTF8": "utf-8",
    "UTF8": "cesu-8",
    "AL16UTF16": "utf-16-be",
    "US7ASCII": "ascii",
    "WE8ISO8859P1": "iso8859-1",
    "WE8ISO8859P9": "iso8859-9",
    "WE8ISO8859P15": "iso8859-15",
    "EE8ISO8859P2": "iso8859-2",
    "CL8ISO8859P5": "iso8859-5",
    "WE8MSWIN1252": "cp1252",
    "EE8MSWIN1250": "cp1250",
    "CL8MSWIN1251": "cp1251",
    "EL8MSWIN1253": "cp1253",
    "TR8MSWIN1254": "cp1254",
    "IW8MSWIN1255": "cp1255",
    "AR8MSWIN1256": "cp1256",
    "BLT8MSWIN1257": "cp1257",
    "VN8MSWIN1258": "cp1258",
    "CL8KOI8R": "koi8-r",
    "JA16SJISTILDE": "cp932",
    "JA16EUC": "euc-jp",
    "ZHS16GBK": "gbk",
    "ZHS32GB18030": "gb18030",
    "ZHT16MSWIN950": "cp950",
    "KO16MSWIN949": "cp949",
}


def target(oracle_type: OracleType, rule: TypeRule) -> pa.DataType:
    if rule not in (None, "string", *TEXT_RULES):
        raise refuse_rule(oracle_type, rule, "leave the rule out, or write `replace` or `binary`")
    return pa.binary() if rule == BINARY else pa.string()


def cast(texts: pa.StringArray, target: pa.DataType, rule: TypeRule = None) -> Cast:
    """Return the texts; those with marks (valid_text.py) by rule."""
    rows = marked_rows(texts)
    if not rows:
        return Cast(texts.cast(target))
    octets = octets_in(texts)
    for row in rows:
        octets[row] = octets_of(texts[row].as_py())
    if target == pa.binary():
        return Cast(pa.array(octets, target))
    refused = (
        {} if rule == REPLACE else {row: f"is not text: it {NOT_VALID}" for row in rows if not is_text(octets[row] or b"")}
    )
    return Cast(pa.array([None if one is None else replace_bad_bytes(one) for one in octets], target), refused)


def internal(raw: pa.BinaryArray, target: pa.DataType, encoding: Encoding, rule: TypeRule = None) -> Cast:
    return _decode(raw, target, encoding.text, rule)


def internal_national(raw: pa.BinaryArray, target: pa.DataType, encoding: Encoding, rule: TypeRule = None) -> Cast:
    return _decode(raw, target, encoding.national, rule)


def _decode(raw: pa.BinaryArray, target: pa.DataType, charset: str, rule: TypeRule) -> Cast:
    codec = CODECS.get(charset)
    if codec is None:  # such rows hold their own table; all other redo comes as Unicode
        reason = f"is in the character set {charset}, which has no decoder; redo from before the table's last DDL can't be read"
        refused = dict.fromkeys((i for i, valid in enumerate(raw.is_valid().to_pylist()) if valid), reason)
        return Cast(pa.nulls(len(raw), target), refused)
    return cast_each(raw, lambda value: _by_rule(value, codec, rule), target)


def _by_rule(octets: bytes, codec: str, rule: TypeRule) -> str | bytes:
    """Return text, or with `binary` its bytes in UTF-8, as clients get them; bytes that are no characters only by rule."""
    if codec == "utf-8" and rule == BINARY:
        return octets
    try:
        text = decode_text(octets, codec)
    except ValueError:
        if rule != REPLACE:
            raise
        return replace_bad_bytes(octets) if codec in ("utf-8", "cesu-8") else octets.decode(codec, "replace")
    return text.encode() if rule == BINARY else text


def decode_text(raw: bytes, codec: str) -> str:
    try:
        if codec == "cesu-8":  # Oracle's UTF8 writes each half of a surrogate pair in three bytes
            return raw.decode("utf-8", "surrogatepass").encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        return raw.decode(codec)
    except UnicodeError as error:
        raise ValueError(f"is not text in {codec}: it {NOT_VALID}") from error


FORMS = frozenset({Form.TEXT, Form.UNISTR})
FAMILIES = (
    Family(frozenset({"VARCHAR2", "CHAR"}), FORMS, target, cast, internal),
    Family(frozenset({"NVARCHAR2", "NCHAR"}), FORMS, target, cast, internal_national),
)
