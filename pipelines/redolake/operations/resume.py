"""`resume`: let held tables go on, and answer the DDL that holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from redolake.errors import ConfigurationError, Finding, plain_lines
from redolake.operations.declared import Option, Outcome, Tables, operation

if TYPE_CHECKING:
    from redolake.context import Run

Ddl = Annotated[
    str | None,
    Option(
        "Treat the DDL that holds the tables in this way, once.",
        "DDL",
        choices={
            "ignore": "it changes neither columns, key nor rows",
            "follow": "do the same in Delta, to its rows or its column",
            "keep": "leave the rows in Delta as they are",
        },
    ),
]


NewHistory = Annotated[bool, Option("Let the tables' histories, which are gone, begin again with the rows of now.")]


@operation(
    "resume",
    reason="Stored with the decision; --ddl and --new-history need it.",
    decides=lambda chosen: bool(chosen["new_history"]),
    at_once=True,
    final="ddl",
)
def resume(run: Run, tables: Tables, ddl: Ddl = None, new_history: NewHistory = False) -> Outcome:
    """Release held tables; the next run continues each from its own position.

    A table whose cause is still there is held again, and nothing is lost. If the cause stays in the redo, as an unsupported
    DDL does, read the table again instead.
    """
    from redolake import steps

    if ddl and new_history:
        raise ConfigurationError([Finding("resume", "--ddl and --new-history exclude each other", "answer the DDL first")])
    if not run.execute:
        found = steps.look_up_held(run.pipeline, tables, ddl)
        lines = plain_lines(f"{one.table}: {one.text}" for one in found)
        return Outcome(found, lines, shown={one.table: one.address for one in found})
    if ddl:
        shown = run.shown or {}
        resumed = tuple(steps.approve_ddl(run, table, ddl, address=shown.get(table)).table for table in tables)
    else:
        resumed = steps.resume_tables(run, tables, new_history=new_history)
    return Outcome({"resumed": resumed}, tuple(f"{table}: continues with the next run" for table in resumed))
