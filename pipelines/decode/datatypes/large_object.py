"""CLOB, NCLOB and BLOB: their values are not decoded from redo, which may contain parts of them only, but read again by key.

Decoding says that a change names the column, and gives no value.
"""

from __future__ import annotations

import pyarrow as pa

from pipelines.decode.datatypes.family import Cast, Family
from pipelines.decode.forms import Form
from pipelines.errors import ConfigurationError, Finding
from pipelines.table import OracleType, TypeRule


def target(oracle_type: OracleType, rule: TypeRule) -> pa.DataType:
    if rule is not None:
        raise ConfigurationError([Finding(str(oracle_type), f"rule {rule!r} does not suit a large object", "leave it out")])
    return pa.binary() if oracle_type.name == "BLOB" else pa.string()


def no_values(values: pa.Array, target_type: pa.DataType, *_: object) -> Cast:
    return Cast(pa.nulls(len(values), target_type))


FAMILY = Family(frozenset({"CLOB", "NCLOB", "BLOB"}), frozenset(Form), target, no_values, no_values, is_decoded=False)
