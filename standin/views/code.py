"""Dictionary views of views, triggers, synonyms, stored code and sequences."""

from __future__ import annotations

import re
from collections.abc import Iterator

from standin.engine.database.database import Database
from standin.model import SchemaObject
from standin.views.registration import ViewRow, dictionary_views

_FIRES = re.compile(r"\s*(BEFORE|AFTER|INSTEAD\s+OF|FOR)\s+(.*?)\s+ON\s", re.IGNORECASE | re.DOTALL)
_WHEN = re.compile(r"\bWHEN\s*\((.*)\)\s*\Z", re.IGNORECASE | re.DOTALL)
_BODY = re.compile(r"\b(DECLARE|BEGIN|CALL|COMPOUND)\b", re.IGNORECASE)


def objects_of(database: Database, kind: str) -> Iterator[SchemaObject]:
    return (found for found in database.state.objects.values() if found.kind == kind)


def views(database: Database) -> Iterator[ViewRow]:
    for found in objects_of(database, "VIEW"):
        text = found.text
        yield ViewRow(found.con_id, found.owner, None, (found.owner, found.name, len(text), text, text[:4000], "N"))


def triggers(database: Database) -> Iterator[ViewRow]:
    for found in objects_of(database, "TRIGGER"):
        assert found.target is not None
        begins = _BODY.search(found.text)
        head = found.text if begins is None else found.text[: begins.start()]
        body = "" if begins is None else found.text[begins.start() :]
        fires, when = _FIRES.match(head), _WHEN.search(head)
        time, events = ("", "") if fires is None else (" ".join(fires[1].upper().split()), fires[2])
        by_row = "EACH ROW" in " ".join(head.upper().split())
        kind = time if time == "INSTEAD OF" else f"{time} {'EACH ROW' if by_row else 'STATEMENT'}"
        shown = " OR ".join(re.findall(r"INSERT|UPDATE|DELETE", events.upper()))
        yield ViewRow(
            found.con_id, found.owner, None,
            (found.owner, found.name, "COMPOUND" if time == "FOR" else kind, shown, found.target[0], "TABLE", found.target[1],
            "REFERENCING NEW AS NEW OLD AS OLD", None if when is None else when[1],
            "ENABLED" if found.enabled else "DISABLED", f"{found.name} {head.strip()}", "PL/SQL", body),
        )  # fmt: skip


def sequences(database: Database) -> Iterator[ViewRow]:
    for (con_id, owner, name), one in database.sequences.items():
        last = one.start if one.reserved is None else min(max(one.reserved, one.low), one.high + 1)
        flags = ("Y" if one.cycle else "N", "Y" if one.order else "N")
        yield ViewRow(con_id, owner, None, (owner, name, one.low, one.high, one.step, *flags, one.cache, last, "N", "N"))


def synonyms(database: Database) -> Iterator[ViewRow]:
    for found in objects_of(database, "SYNONYM"):
        assert found.target is not None
        yield ViewRow(found.con_id, found.owner, None, (found.owner, found.name, *found.target, None, found.con_id))


def source(database: Database) -> Iterator[ViewRow]:
    for kind in ("FUNCTION", "PACKAGE", "PACKAGE BODY", "PROCEDURE", "TRIGGER"):
        for found in objects_of(database, kind):
            for number, line in enumerate(f"{kind} {found.name} {found.text}".splitlines(keepends=True), 1):
                yield ViewRow(found.con_id, found.owner, None, (found.owner, found.name, kind, number, line, found.con_id))


def register() -> None:
    dictionary_views(
        "SYNONYMS",
        """OWNER VARCHAR2(128), SYNONYM_NAME VARCHAR2(128), TABLE_OWNER VARCHAR2(128), TABLE_NAME VARCHAR2(128),
        DB_LINK VARCHAR2(128), ORIGIN_CON_ID NUMBER""",
        synonyms,
    )
    dictionary_views(
        "SOURCE",
        """OWNER VARCHAR2(128), NAME VARCHAR2(128), TYPE VARCHAR2(12), LINE NUMBER, TEXT VARCHAR2(4000),
        ORIGIN_CON_ID NUMBER""",
        source,
    )
    dictionary_views(
        "VIEWS",
        """OWNER VARCHAR2(128), VIEW_NAME VARCHAR2(128), TEXT_LENGTH NUMBER, TEXT LONG, TEXT_VC VARCHAR2(4000),
        READ_ONLY VARCHAR2(1)""",
        views,
    )
    dictionary_views(
        "TRIGGERS",
        """OWNER VARCHAR2(128), TRIGGER_NAME VARCHAR2(128), TRIGGER_TYPE VARCHAR2(16), TRIGGERING_EVENT VARCHAR2(246),
        TABLE_OWNER VARCHAR2(128), BASE_OBJECT_TYPE VARCHAR2(18), TABLE_NAME VARCHAR2(128), REFERENCING_NAMES VARCHAR2(422),
        WHEN_CLAUSE VARCHAR2(4000), STATUS VARCHAR2(8), DESCRIPTION VARCHAR2(4000), ACTION_TYPE VARCHAR2(11),
        TRIGGER_BODY LONG""",
        triggers,
    )
    columns = """OWNER VARCHAR2(128), SEQUENCE_NAME VARCHAR2(128), MIN_VALUE NUMBER, MAX_VALUE NUMBER, INCREMENT_BY NUMBER,
        CYCLE_FLAG VARCHAR2(1), ORDER_FLAG VARCHAR2(1), CACHE_SIZE NUMBER, LAST_NUMBER NUMBER, SESSION_FLAG VARCHAR2(1),
        KEEP_VALUE VARCHAR2(1)"""
    dictionary_views("SEQUENCES", columns.replace("OWNER", "SEQUENCE_OWNER", 1), sequences)
