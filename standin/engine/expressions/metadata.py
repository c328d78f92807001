"""DBMS_METADATA.GET_DDL of tables, with the transforms that leave out storage and segments.

The statement has the columns, keys, checks and supplemental log groups. Partitions, comments and indexes are left out; Oracle
shows those under transforms and object types of their own, or in the segment's attributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from standin.engine.expressions.frame import Frame
from standin.engine.sessions.names import resolve
from standin.engine.sessions.procedures import Parameter, procedures
from standin.engine.sessions.session import EngineSession
from standin.engine.storage.storage import TableStore
from standin.interface import OraError
from standin.model import Constraint, LogGroup, SqlType, TableColumn, TableDef

SESSION_TRANSFORM = -1
_KEYS = {"P": "PRIMARY KEY", "U": "UNIQUE"}
_SIZED = ("VARCHAR2", "CHAR", "NVARCHAR2", "NCHAR", "RAW", "UROWID")


def get_ddl(frame: Frame, kind: Any, name: Any, owner: Any = None) -> str:
    """Return the CREATE statement of a table; ORA-31603 if the session sees no table of that name."""
    wanted = str(owner or frame.session.schema)
    if str(kind).upper() != "TABLE":
        raise OraError(3001, f"unimplemented feature: DBMS_METADATA.GET_DDL of {kind}")
    try:
        found = resolve(frame.session, wanted, str(name))
    except OraError:
        found = None
    if not isinstance(found, TableStore):
        raise OraError(31603, f'object "{name}" of type {kind} not found in schema "{wanted}"')
    return _create_table(found.definition, frame.session.database.state.tables.values())


def _create_table(table: TableDef, others: Iterable[TableDef]) -> str:
    keys = {(t.owner, key.name): t for t in others if t.con_id == table.con_id for key in t.constraints}
    parts = [_column(column) for column in table.shown]
    parts += [_constraint(c, keys) for c in table.constraints if not _is_not_null(c)]
    parts += [_log_group(group) for group in table.log_groups]
    listed = ", \n\t".join(parts)
    tail = " ORGANIZATION INDEX" if table.iot else ""
    return f'\n  CREATE TABLE "{table.owner}"."{table.name}" \n   (\t{listed}\n   ){tail} '


def _column(column: TableColumn) -> str:
    text = f'"{column.name}" {type_text(column.type)}'
    if column.virtual is not None:
        return f"{text} GENERATED ALWAYS AS ({column.virtual}) VIRTUAL "
    if column.identity:
        text += f" GENERATED {column.identity} AS IDENTITY"
    elif column.default is not None:
        text += f" DEFAULT {'ON NULL ' if column.default_on_null else ''}{column.default}"
    return text if column.nullable else f"{text} NOT NULL ENABLE"


def type_text(kind: SqlType) -> str:
    """Return a type as DBMS_METADATA spells it: NUMBER(9,0), VARCHAR2(40 CHAR), TIMESTAMP (3)."""
    if kind.name == "NUMBER" and (kind.precision is not None or kind.scale is not None):
        return f"NUMBER({'*' if kind.precision is None else kind.precision},{kind.scale or 0})"
    if kind.name == "FLOAT" and kind.precision is not None:
        return f"FLOAT({kind.precision})"
    if kind.name in _SIZED:
        if kind.name.startswith("N"):
            return f"{kind.name}({kind.chars})"
        return f"{kind.name}({kind.chars} CHAR)" if kind.chars and kind.chars != kind.length else f"{kind.name}({kind.length})"
    if kind.name.startswith("TIMESTAMP"):
        head, _, tail = kind.name.partition(" ")
        return f"{head} ({6 if kind.scale is None else kind.scale})" + (f" {tail}" if tail else "")
    if kind.name == "INTERVAL YEAR TO MONTH":
        return f"INTERVAL YEAR ({kind.precision}) TO MONTH"
    if kind.name == "INTERVAL DAY TO SECOND":
        return f"INTERVAL DAY ({kind.precision}) TO SECOND ({kind.scale})"
    return f'"{kind.owner}"."{kind.name}"' if kind.owner else kind.name


def _is_not_null(constraint: Constraint) -> bool:
    return constraint.kind == "C" and (constraint.check or "").upper().endswith("IS NOT NULL")


def _constraint(constraint: Constraint, keys: Mapping[tuple[str, str], TableDef]) -> str:
    name = "" if constraint.name.startswith("SYS_C") else f'CONSTRAINT "{constraint.name}" '
    listed = ", ".join(f'"{column}"' for column in constraint.columns)
    state = "ENABLE" if constraint.enabled else "DISABLE"
    if constraint.kind in _KEYS:
        return f" {name}{_KEYS[constraint.kind]} ({listed})\n  USING INDEX  {state}"
    if constraint.references is not None:
        parent = keys[constraint.references]
        key = next(k for k in parent.constraints if k.name == constraint.references[1])
        referenced = ", ".join(f'"{column}"' for column in key.columns)
        rule = "" if constraint.on_delete == "NO ACTION" else f" ON DELETE {constraint.on_delete}"
        return f' {name}FOREIGN KEY ({listed})\n\t  REFERENCES "{parent.owner}"."{parent.name}" ({referenced}){rule} {state}'
    return f" {name}CHECK ({constraint.check}) {state}"


def _log_group(group: LogGroup) -> str:
    if group.kind == "USER LOG GROUP":
        listed = ", ".join(f'"{column}"' for column in group.columns)
        return f' SUPPLEMENTAL LOG GROUP "{group.name}" ({listed})' + (" ALWAYS" if group.always else "")
    return f" SUPPLEMENTAL LOG DATA ({group.kind.removesuffix(' LOGGING').removesuffix(' COLUMN')}) COLUMNS"


def _set_transform_param(session: EngineSession, transform_handle: Any, name: Any, value: Any = None) -> None:
    """Accept a transform of the session. Storage and segments, which most of them leave out, are never shown here."""
    if transform_handle != SESSION_TRANSFORM:
        raise OraError(3001, "unimplemented feature: transforms of DBMS_METADATA.OPEN")


def register() -> None:
    procedures.constant("DBMS_METADATA.SESSION_TRANSFORM", SESSION_TRANSFORM)
    parameters: list[Parameter | str] = ["transform_handle", "name", Parameter("value", None)]
    procedures.register("DBMS_METADATA.SET_TRANSFORM_PARAM", _set_transform_param, parameters, public=True)
