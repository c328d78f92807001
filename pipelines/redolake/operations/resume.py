"""`resume`: let held tables go on, and answer the DDL that holds them."""

from __future__ import annotations

from typing import Annotated

from redolake.operations.declared import Option, Outcome, Tables, Work, operation

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


@operation(
    "resume",
    reason="Stored with the decision; a DDL choice needs it.",
    at_once=True,
    final="ddl",
)
def resume(work: Work, tables: Tables, ddl: Ddl = None) -> Outcome:
    """Release held tables; the next run continues each from its own position.

    A table whose cause is still there is held again, and nothing is lost. If the cause stays in the redo, as an unsupported
    DDL does, read the table again instead.
    """
    from redolake import steps

    if not work.execute:
        found = [steps.look_up_held(work.pipeline, table, ddl) for table in tables]
        lines = tuple(f"{one.table}: {one.text}" for one in found)
        return Outcome(found, lines, shown={one.table: one.address for one in found})
    if ddl:
        shown = work.shown or {}
        resumed = tuple(
            steps.approve_ddl(
                work.pipeline, table, ddl, reason=work.reason, by=work.by, address=shown.get(table)
            ).table
            for table in tables
        )  # fmt: skip
    else:
        resumed = steps.resume_tables(work.pipeline, tables, by=work.by, reason=work.reason)
    return Outcome({"resumed": resumed}, tuple(f"{table}: continues with the next run" for table in resumed))
