"""Triggers: BEFORE INSERT FOR EACH ROW is executed, as far as blocks are; DML that would fire another one raises ORA-03001."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from standin.binds import scan_binds
from standin.engine.expressions.frame import Frame
from standin.engine.plsql.block import run_block
from standin.engine.sessions.session import EngineSession
from standin.engine.storage.storage import TableStore
from standin.interface import OraError

_NEW = r":NEW\s*\.\s*\"?(?P<column>\w+)\"?"
_SEQUENCE = r"(?:(?P<owner>\w+)\s*\.\s*)?\"?(?P<sequence>\w+)\"?\s*\.\s*NEXTVAL"
_ASSIGNS = rf"{_NEW}\s*:=\s*{_SEQUENCE}\s*;"
_SELECTS = rf"SELECT\s+{_SEQUENCE}\s+INTO\s+{_NEW}\s+FROM\s+(?:SYS\s*\.\s*)?DUAL\s*;"
_BODIES = [
    re.compile(rf"(?:DECLARE\s+)?BEGIN\s+{body}\s+END(?:\s+\w+)?\s*;?\s*", re.IGNORECASE)
    for body in (
        _ASSIGNS,
        _SELECTS,
        *(rf"IF\s+:NEW\s*\.\s*\"?\w+\"?\s+IS\s+NULL\s+THEN\s+{b}\s+END\s+IF\s*;" for b in (_ASSIGNS, _SELECTS)),
    )
]
_EVENT = re.compile(r"\b(INSERT|UPDATE|DELETE)\b(?:\s+OF\s+([\w\s,\"]+?))?(?=\s+OR\b|\s+ON\b)", re.IGNORECASE)
_OF_ROW = re.compile(r":\s*(NEW|OLD)\s*\.\s*\"?(\w+)\"?", re.IGNORECASE)
_EVENTS = re.compile(r"'[^']*'|\b(INSERTING|UPDATING|DELETING)\b", re.IGNORECASE)
_ENDS_TRANSACTION = re.compile(r"\b(COMMIT|ROLLBACK|SAVEPOINT|PRAGMA|WHEN\s*\()", re.IGNORECASE)
_WHEN = re.compile(r"\bWHEN\s*\(\s*NEW\s*\.\s*\"?\w+\"?\s+IS\s+NULL\s*\)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Trigger:
    """`events` are INSERT, UPDATE and DELETE, UPDATE with its columns; `numbers` the column and sequence it fills in; `block`
    another body, with NEW$COLUMN for :NEW.COLUMN."""

    events: dict[str, frozenset[str]]
    numbers: tuple[str, str | None, str] | None = None
    only_null: bool = False
    block: str | None = None


Triggers = list[_Trigger]


@lru_cache(maxsize=512)
def _parsed(text: str) -> _Trigger:
    body_at = re.search(r"\b(DECLARE|BEGIN|CALL)\b", text, re.IGNORECASE)
    head, body = (text[: body_at.start()], text[body_at.start() :]) if body_at else (text, "")
    events = {
        event.upper(): frozenset(name.strip().strip('"').upper() for name in (columns or "").split(",") if name.strip())
        for event, columns in _EVENT.findall(head)
    }
    of_row = re.search(r"\bBEFORE\b[\s\S]*\bFOR\s+EACH\s+ROW\b", head, re.IGNORECASE) is not None
    if not of_row or set(events) != {"INSERT"}:
        return _Trigger(events)
    body = _without_comments(body).strip()
    found = next((m for pattern in _BODIES if (m := pattern.fullmatch(body))), None)
    if found is None:
        runs = body and _ENDS_TRANSACTION.search(head + body) is None
        return _Trigger(events, block=_OF_ROW.sub(r":\1$\2", _EVENTS.sub(_is_event, body)) if runs else None)
    owner = found["owner"]
    only_null = _WHEN.search(head) is not None or re.search(r"\bIS\s+NULL\b", body, re.IGNORECASE) is not None
    return _Trigger(events, (found["column"].upper(), owner and owner.upper(), found["sequence"].upper()), only_null)


def _is_event(found: re.Match[str]) -> str:
    """Return the condition that a word such as INSERTING is in a trigger before an INSERT; a text stays."""
    if found[1] is None:
        return found[0]
    return "(1 = 1)" if found[1].upper() == "INSERTING" else "(1 = 0)"


def _without_comments(text: str) -> str:
    return re.sub(r"--[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)


def fire(session: EngineSession, store: TableStore, event: str, changed: frozenset[int] = frozenset()) -> Triggers:
    """Return the triggers that change the rows of an INSERT. Raise ORA-03001 for an enabled one that is not modelled."""
    table, found = store.definition, []
    for one in session.database.state.objects.values():
        if one.kind != "TRIGGER" or not one.enabled or (one.con_id, one.target) != (table.con_id, (table.owner, table.name)):
            continue
        trigger = _parsed(one.text)
        columns = trigger.events.get(event)
        if columns is None or (columns and not any(store.layout.names[at] in columns for at in changed)):
            continue
        if trigger.numbers is None and trigger.block is None:
            raise _not_modelled(f"{one.owner}.{one.name}")
        found.append(trigger)
    return found


def _not_modelled(name: str) -> OraError:
    return OraError(3001, f"unimplemented feature: the trigger {name} would fire")


def before_insert(
    session: EngineSession, store: TableStore, values: tuple[Any, ...], triggers: Triggers, frame: Frame
) -> tuple[Any, ...]:
    """Return the row as the triggers leave it."""
    row = list(values)
    for trigger in triggers:
        if trigger.numbers is None:
            _run(session, store, row, str(trigger.block), frame)
            continue
        column, owner, sequence = trigger.numbers
        at = store.layout.position[column]
        if row[at] is None or not trigger.only_null:
            value = session.sequence_value(owner or store.definition.owner, sequence, True)
            row[at] = store.layout.coercers[at](value, frame.nls)
    return tuple(row)


def _run(session: EngineSession, store: TableStore, row: list[Any], block: str, frame: Frame) -> None:
    """Run the body for a row, whose columns are its binds."""
    names, at = scan_binds(block).distinct, store.layout.position
    columns = [name.partition("$")[2] if name.startswith("NEW$") else None for name in names]
    try:
        done = run_block(session, block, names, [None if column is None else row[at[column]] for column in columns])
    except OraError as error:
        if error.code != 6550:
            raise
        raise _not_modelled(f"on {store.definition.owner}.{store.definition.name}") from None
    for column, direction, value in zip(columns, done.directions, done.values, strict=True):
        if column is not None and direction != "IN":
            row[at[column]] = None if value in (None, "") else store.layout.coercers[at[column]](value, frame.nls)
