"""The supported Oracle types, one file per family: target type, cast of literals, cast of internal bytes.

Any other type is refused when a pipeline is validated, never at a row.
"""

from __future__ import annotations

import pyarrow as pa

from redolake.decode.datatypes import (
    binary_float,
    boolean,
    character,
    datetime,
    interval,
    large_object,
    number,
    raw,
    rowid,
    unshown,
    zoned,
)
from redolake.decode.datatypes.family import Cast, Family, Unfit
from redolake.errors import RedolakeError, SchemaConflict
from redolake.values.datatypes import DOCUMENTS
from redolake.values.mapping import OF_LAKE
from redolake.values.null_rule import own_rule
from redolake.values.table import ALL_COLUMNS, ColumnChoice, OracleType, TableId, TypeRule

__all__ = ["FAMILIES", "Cast", "Family", "Unfit", "family_of", "spark_ddl_type", "spark_name", "target_type", "why_refused"]

FAMILIES: tuple[Family, ...] = (
    number.FAMILY,
    binary_float.FAMILY,
    *character.FAMILIES,
    *datetime.FAMILIES,
    *zoned.FAMILIES,
    *interval.FAMILIES,
    raw.FAMILY,
    rowid.FAMILY,
    boolean.FAMILY,
    large_object.FAMILY,
    unshown.FAMILY,
)

# Why Oracle gives no way to capture a type.
REFUSED = {
    "BFILE": "the value is a file outside the database, of which the redo contains nothing",
    "NESTED TABLE": "its elements are rows of another table, and a change of one is no change of this table's row",
    "REF": "the redo does not contain it, and what it refers to is a row of another table",
}
_SPARK_NAMES = {
    pa.string(): "string",
    pa.binary(): "binary",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    datetime.TYPE: "timestamp_ntz",
    zoned.TYPE: "timestamp",
}
_BY_NAME = {name: family for family in FAMILIES for name in family.names}


def family_of(oracle_type: OracleType) -> Family:
    """Return the family of a type. Raises SchemaConflict for an unsupported one."""
    family = _BY_NAME.get(oracle_type.name)
    if family is None and oracle_type.name in REFUSED:
        why = REFUSED[oracle_type.name]
        raise SchemaConflict(
            f"type {oracle_type} is not supported: {why}",
            cure="leave the column out (`exclude_columns`), or leave the table out",
        )
    if family is None and "." in oracle_type.name:
        owner, _, name = oracle_type.name.partition(".")
        grant = f"GRANT EXECUTE ON {TableId(owner, name).in_sql}"
        raise SchemaConflict(f"a type that this user may not see; {grant} to the user of the connection", cure=grant)
    if family is None:
        known = ", ".join(_BY_NAME)
        cure = f"leave the table out for now; the supported types are {known}"
        raise SchemaConflict(f"type {oracle_type} is not supported", cure=cure)
    return family


def target_type(oracle_type: OracleType, rule: TypeRule = None) -> pa.DataType:
    """Return the target type of a column.

    Raises SchemaConflict for a type without a target type, ConfigurationError for a rule that does not suit the type.
    """
    return family_of(oracle_type).target(oracle_type, own_rule(rule))


def why_refused(oracle_type: OracleType, rule: TypeRule = None, choice: ColumnChoice = ALL_COLUMNS) -> str | None:
    """Return why a column of that type cannot be captured, or None. `choice` is that of the table."""
    if oracle_type.name in large_object.FAMILY.names and choice.large_objects not in ("reread", "redo"):
        return "large objects are captured with `large_objects: reread`, or `redo` where the table has a key of columns, only"
    is_assembled = choice.assembles and oracle_type.name in DOCUMENTS
    if oracle_type.name in unshown.NAMES and choice.unsupported != "reread" and not is_assembled:
        other = ", or `large_objects: redo`," if oracle_type.name in DOCUMENTS else ""
        return f"its changes are captured with `unsupported_columns: reread`{other} only"
    if oracle_type.name == "UROWID" and choice.unsupported == "exclude":
        return "LogMiner may show `Unsupported Type` in place of a value"
    try:
        target_type(oracle_type, rule)
    except RedolakeError as error:
        return error.what
    return None


def spark_ddl_type(oracle_type: OracleType, rule: TypeRule = None) -> str:
    """Return the target type of a column as Spark SQL; that of a column of the lake alone has it in its name."""
    if oracle_type.name.startswith(OF_LAKE):
        return oracle_type.name.removeprefix(OF_LAKE)
    return spark_name(target_type(oracle_type, rule))


def spark_name(arrow_type: pa.DataType) -> str:
    """Return the name of a target type in Spark SQL."""
    if pa.types.is_decimal(arrow_type):
        return f"decimal({arrow_type.precision},{arrow_type.scale})"
    return _SPARK_NAMES[arrow_type]
