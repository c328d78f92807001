"""`python -m demo sql`: a small SQL prompt on the source of a kept demo, over the unmodified driver."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO

import oracledb
from rich.console import Console
from rich.table import Table
from rich.text import Text

PROMPT, GOES_ON = "SQL> ", "  2  "
SHOWN_ROWS = 50
HELP = "End a statement with `;`. Each one that changes rows is committed. `exit` or Ctrl-D ends."


DDL_WAITS = "ALTER SESSION SET DDL_LOCK_TIMEOUT = 10"  # for the rows that the workload has locked


def run_statements(connection: Any, statements: Iterable[str], console: Console) -> bool:
    """Run each statement, print its rows or what it changed, and return whether all succeeded. An error does not end it."""
    with connection.cursor() as cursor:
        cursor.execute(DDL_WAITS)
    succeeded = True
    for statement in statements:
        try:
            print_result(connection, statement, console)
        except oracledb.Error as error:
            console.print(str(error), style="red", markup=False, highlight=False)
            succeeded = False
    return succeeded


def print_result(connection: Any, statement: str, console: Console) -> None:
    """Run one statement, commit it, and print its first rows or the number of those that it changed."""
    with connection.cursor() as cursor:
        cursor.prefetchrows = cursor.arraysize = SHOWN_ROWS
        cursor.execute(statement, fetch_decimals=True)
        if cursor.description is not None:
            console.print(table_of([column[0] for column in cursor.description], cursor.fetchmany(SHOWN_ROWS)))
            return
        verb = statement.split(maxsplit=1)[0].upper()
        changed = f"{cursor.rowcount} row{'' if cursor.rowcount == 1 else 's'}: " if verb in DML else ""
        connection.commit()
    console.print(f"{changed}{verb} committed", markup=False, highlight=False)


DML = ("INSERT", "UPDATE", "DELETE", "MERGE")


def table_of(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    """Return rows as they are read; an Oracle NULL is empty."""
    table = Table(box=None, pad_edge=False)
    for name in names:
        table.add_column(Text(name), overflow="fold")
    for row in rows:
        table.add_row(*(Text(shown(value)) for value in row))
    return table


def shown(value: Any) -> str:
    return "" if value is None else value.hex().upper() if isinstance(value, bytes) else str(value)


def typed_statements(lines: TextIO = sys.stdin) -> Iterator[str]:
    """Yield the statements that a person types: each ends with `;`, on one line or more."""
    interactive = lines.isatty()
    parts: list[str] = []
    while True:
        try:
            line = input(GOES_ON if parts else PROMPT) if interactive else next(lines)
        except (EOFError, StopIteration):
            return
        if not parts and line.strip().rstrip(";").lower() in ("exit", "quit"):
            return
        parts.append(line.strip())
        text = " ".join(part for part in parts if part)
        if not text:
            parts.clear()
        elif text.endswith(";"):
            parts.clear()
            yield text.rstrip("; ")
