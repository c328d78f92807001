"""XMLTYPE, JSON, VECTOR, LONG, LONG RAW, extended strings, object types and VARRAYs: LogMiner does not show a row's change as
it is, so the whole row is read again.

XMLTYPE, JSON and VECTOR are text, as Oracle's own functions write it (source/snapshot.py). So are object types, SDO_GEOMETRY
among them, and VARRAYs: JSON of their attributes and elements. LONG RAW and an extended RAW are bytes.
"""

from __future__ import annotations

import pyarrow as pa

from redolake.decode.datatypes.family import Family, refuse_rule
from redolake.decode.datatypes.large_object import no_values
from redolake.decode.forms import Form
from redolake.values.datatypes import DATATYPES, LARGE_TEXTS, LARGE_TYPES, OCTETS, UNSHOWN
from redolake.values.table import REPLACE, OracleType, TypeRule


def target(oracle_type: OracleType, rule: TypeRule) -> pa.DataType:
    if rule is not None and not (rule == REPLACE and oracle_type.name in LARGE_TEXTS):
        raise refuse_rule(oracle_type, rule, "leave the rule out")
    return pa.binary() if oracle_type.name in OCTETS else pa.string()


NAMES = frozenset(name for name in UNSHOWN if name in LARGE_TYPES or DATATYPES[name].as_value is not None)
FAMILY = Family(NAMES, frozenset(Form), target, no_values, no_values, is_decoded=False)
