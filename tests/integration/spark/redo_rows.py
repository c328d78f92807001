"""Redo rows of a table SHOP.T (ID, V) with real SQL text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def insert(key: int, value: str) -> str:
    return f"""insert into "SHOP"."T"("ID","V") values ('{key}','{value}');"""


def update(key: int, before: str, after: str) -> str:
    return f"""update "SHOP"."T" set "V" = '{after}' where "ID" = '{key}' and "V" = '{before}';"""


def move(key: int, to: int, value: str) -> str:
    return f"""update "SHOP"."T" set "ID" = '{to}' where "ID" = '{key}' and "V" = '{value}';"""


def delete(key: int, value: str) -> str:
    return f"""delete from "SHOP"."T" where "ID" = '{key}' and "V" = '{value}';"""


def partial(key: int, sets: str, **before: str) -> str:
    """Return an UPDATE with logging of the primary key: WHERE has the key, and the old values of the columns in SET."""
    old_values = "".join(f""" and "{name}" = '{value}'""" for name, value in before.items())
    return f"""update "SHOP"."T" set {sets} where "ID" = '{key}'{old_values};"""


def change(ordinal: int, scn: int, code: int, sql: str, row_id: str = "AAA", **more: Any) -> dict[str, Any]:
    return {
        **control(ordinal, scn, code),
        "seg_owner": "SHOP",
        "table_name": "T",
        "object_id": 100,
        "row_id": row_id,
        "sql_redo": sql,
        **more,
    }


def control(ordinal: int, scn: int, code: int, xid: str = "1.2.3") -> dict[str, Any]:
    fixed = {"slice": 0, "thread": 1, "rs_id": f"{ordinal:06d}", "xid": xid, "con_id": 3, "con_name": "FREEPDB1", "status": 0}
    return {**fixed, "ordinal": ordinal, "scn": scn, "operation_code": code, "rollback": False}


def committed(ordinal: int, scn: int, *statements: tuple[int, str] | tuple[int, str, str], **more: Any) -> list[dict[str, Any]]:
    """Return one transaction: its changes at `scn`, its commit at `scn` + 1."""
    xid = f"1.2.{ordinal}"
    rows = [
        change(ordinal + n, scn, s[0], s[1], s[2] if len(s) > 2 else f"R{ordinal + n}", xid=xid, **more)
        for n, s in enumerate(statements)
    ]
    return [*rows, control(ordinal + len(rows), scn + 1, 7, xid)]


def of_table(rows: list[dict[str, Any]], name: str, object_id: int) -> list[dict[str, Any]]:
    named = {"table_name": name, "object_id": object_id}
    return [
        {**row, **named, "sql_redo": row["sql_redo"].replace('"T"', f'"{name}"')} if row.get("sql_redo") else row
        for row in rows
    ]


def with_sql(rows: Sequence[Mapping[str, Any]], key_only: bool = False) -> list[dict[str, Any]]:
    """Render the model's row images as LogMiner does, with supplemental logging of ALL columns or of the primary key."""
    return [{**row, "sql_redo": None if row["sql_redo"] is None else redo_sql(row, key_only)} for row in rows]


def redo_sql(row: Mapping[str, Any], key_only: bool = False) -> str:
    images = json.loads(row["sql_redo"])
    before, after = images.get("o"), images.get("n")
    name = f'"{row["seg_owner"]}"."{row["table_name"]}"'
    if row["rollback"]:
        return {
            1: f"""insert into {name}("ID","V") values ('1','x');""",
            2: f"delete from {name};",
            3: f"""update {name} set "V" = 'x';""",
        }[row["operation_code"]]
    if before is None:
        return f'insert into {name}("ID","V") values ({literal(after["1"])},{literal(after["2"])});'
    shown = [(i, c) for i, c in (("1", "ID"), ("2", "V")) if not key_only or i == "1" or after is None or after[i] != before[i]]
    where = " and ".join(f'"{column}" = {literal(before[i])}' for i, column in shown)
    if after is None:
        return f"delete from {name} where {where};"
    sets = ", ".join(f'"{column}" = {literal(after[i])}' for i, column in (("1", "ID"), ("2", "V")) if after[i] != before[i])
    return f"update {name} set {sets or chr(34) + 'V' + chr(34) + ' = ' + literal(after['2'])} where {where};"


def literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
