"""CLOB, NCLOB and BLOB: read again by key, or assembled from the redo, as XMLTYPE can be.

Where they are read again, decoding says that a change names the column, and gives no value: the redo may contain a part only.
Where they are assembled, INSERT and UPDATE give the value from which the pieces in other rows continue. For an XMLTYPE they say
at most that it is NULL.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from redolake.decode.datatypes import character, raw
from redolake.decode.datatypes.family import Cast, Family
from redolake.decode.forms import Form
from redolake.errors import ConfigurationError, Finding
from redolake.values.datatypes import DOCUMENTS, LARGE_OBJECTS, LARGE_TEXTS
from redolake.values.table import REPLACE, OracleType, TypeRule


def target(oracle_type: OracleType, rule: TypeRule) -> pa.DataType:
    if rule is not None and not (rule == REPLACE and oracle_type.name in LARGE_TEXTS):
        raise ConfigurationError([Finding(str(oracle_type), f"rule {rule!r} does not suit a large object", "leave it out")])
    return pa.binary() if oracle_type.name == "BLOB" else pa.string()


def no_values(values: pa.Array, target_type: pa.DataType, *_: object) -> Cast:
    return Cast(pa.nulls(len(values), target_type))


def locators(values: pa.Array, target_type: pa.DataType, *_: object) -> Cast:
    """Refuse internal bytes: they begin with a locator, and may be nothing else."""
    refused = dict.fromkeys(np.flatnonzero(values.is_valid()).tolist(), "is in internal bytes, which show a locator")
    return Cast(pa.nulls(len(values), target_type), refused)


def assembled_family(oracle_type: OracleType) -> Family:
    """Return the family of a large object whose values in INSERT and UPDATE count."""
    return _DOCUMENT if oracle_type.name in DOCUMENTS else _BYTES if oracle_type.name == "BLOB" else _TEXT


FAMILY = Family(LARGE_OBJECTS, frozenset(Form), target, no_values, no_values, is_decoded=False)
_TEXT = Family(LARGE_OBJECTS - {"BLOB"}, character.FORMS | {Form.EMPTY_LOB}, target, character.cast, locators)
_BYTES = Family(frozenset({"BLOB"}), frozenset({Form.HEX, Form.EMPTY_LOB}), target, raw.cast, locators)
_DOCUMENT = Family(DOCUMENTS, frozenset({Form.XML}), target, no_values, locators)
