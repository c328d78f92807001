"""BOOLEAN of release 23ai. LogMiner shows no row of a table that has one, so only snapshots, rows that are read again
and OpenLogReplicator's messages contain it.
"""

from __future__ import annotations

import pyarrow as pa

from redolake.decode.datatypes.family import Cast, Family, cast_each, refuse_rule
from redolake.decode.forms import Form
from redolake.values.redo import Encoding
from redolake.values.table import OracleType, TypeRule

_TEXTS = {"TRUE": True, "FALSE": False}
_BYTES = {b"\x01": True, b"\x00": False}


def target(oracle_type: OracleType, rule: TypeRule) -> pa.DataType:
    if rule is not None:
        raise refuse_rule(oracle_type, rule, "leave the rule out")
    return pa.bool_()


def cast(texts: pa.StringArray, target: pa.DataType, _rule: TypeRule = None) -> Cast:
    return cast_each(texts, lambda text: _is_known(_TEXTS, text), target)


def internal(raw: pa.BinaryArray, target: pa.DataType, _encoding: Encoding, _rule: TypeRule = None) -> Cast:
    return cast_each(raw, lambda value: _is_known(_BYTES, value), target)


def _is_known(values: dict[str, bool] | dict[bytes, bool], given: str | bytes) -> bool:
    if given not in values:
        raise ValueError("is neither true nor false")
    return values[given]  # type: ignore[index]


FAMILY = Family(frozenset({"BOOLEAN"}), frozenset({Form.TEXT}), target, cast, internal)
