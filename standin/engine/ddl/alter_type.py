"""ALTER TYPE .. ADD ATTRIBUTE .. CASCADE: columns of the type, and of types that contain it, have the attribute too.

The redo has the statement's own DDL row only. Subtypes, object tables, and other changes of a type are not modelled.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from standin.engine.ddl.columns import append_column
from standin.engine.ddl.redo import write_ddl
from standin.engine.ddl.user_types import attributes, storage_columns
from standin.engine.expressions.known_types import found_type
from standin.engine.sessions.session import EngineSession
from standin.engine.storage.storage import TableStore
from standin.engine.text.tokens import Cursor
from standin.engine.types.values import Instance
from standin.interface import OraError
from standin.model import SqlType


def alter_type(session: EngineSession, cursor: Cursor) -> None:
    owner, name = cursor.qualified()
    old = found_type(session, owner, name)
    if old is None:
        raise OraError(4043, f"object {name} does not exist")
    if cursor.accept("COMPILE"):
        write_ddl(session, cursor.text)
        return
    stores = list(session.database.tables.stores.values())
    if not cursor.accept("ADD", "ATTRIBUTE") or any(store.definition.is_object_table for store in stores):
        raise OraError(3001, "unimplemented feature: ALTER TYPE")
    new = replace(old, parts=(*old.parts, *attributes(session, cursor)))
    if not cursor.accept("CASCADE"):
        raise OraError(2311, "cannot alter with COMPILE option a valid type with type or table dependents")
    cursor.skip_rest()
    for found in session.database.state.objects.values():
        if found.structure is not None:
            found.structure = _with(found.structure, old, new)
    for store in stores:
        _follow(session, store, old, new)
    write_ddl(session, cursor.text)


def _with(kind: SqlType, old: SqlType, new: SqlType) -> SqlType:
    """Return the type with `new` in place of `old`, in its parts too."""
    if kind == old:
        return new
    return replace(kind, parts=tuple((name, _with(part, old, new)) for name, part in kind.parts))


def _follow(session: EngineSession, store: TableStore, old: SqlType, new: SqlType) -> None:
    for at, column in enumerate(list(store.definition.columns)):
        kind = _with(column.type, old, new)
        if kind == column.type or column.part_of:
            continue
        stored = len(storage_columns(store.definition, column))
        column.type = kind
        for versions in store.rows.values():
            for version in versions:
                if version.values is not None and version.values[at] is not None:
                    shown = Instance.of(kind, _text(_grown(json.loads(version.values[at], parse_float=_Digits), kind)))
                    version.values = (*version.values[:at], shown, *version.values[at + 1 :])
        for part in storage_columns(store.definition, column)[stored:]:
            part.segment_id = store.definition.next_segment_id
            append_column(session, store, replace(part, name=f"SYS_NC{len(store.definition.columns) + 1:05d}$"), None)
        session.database.tables.refresh(store)


class _Digits(str):
    """A number as it is written."""


def _grown(value: Any, kind: SqlType) -> Any:
    """Return an instance with NULL in the attributes that it lacks."""
    if isinstance(value, list):
        return [_grown(element, kind.parts[0][1]) for element in value]
    if isinstance(value, dict):
        return {name: _grown(value.get(name), part) for name, part in kind.parts}
    return value


def _text(value: Any) -> str:
    if isinstance(value, _Digits):
        return str(value)
    if isinstance(value, list):
        return f"[{','.join(map(_text, value))}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{json.dumps(name)}:{_text(part)}' for name, part in value.items())}}}"
    return json.dumps(value, ensure_ascii=False)
