"""`close-gap`: give tables what a declared gap lacks, from logs that were restored since."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from redolake.operations.declared import AnyTables, Logs, Option, Outcome, Verdict, operation
from redolake.values.scn import check_scn

if TYPE_CHECKING:
    from redolake.context import Run

InGap = Annotated[
    int | None, Option("An SCN in the declared gap. Default: the only one that tables lack.", "SCN", check=check_scn)
]


@operation("close-gap", reason="Stored with the repair and in the Delta commits.", decides=True, connects=True)
def close_gap(run: Run, tables: AnyTables = (), scn: InGap = None, logs: Logs = ()) -> Outcome:
    """Close a declared gap from logs that were restored since: mine it, and read the rows again that it changes, AS OF each
    table's position.

    It stops while logs are missing, and ends as differing where a table stays as it is.
    """
    from redolake import steps

    found = steps.close_gap(run, scn, tables or None, logs=logs)
    stays = Verdict.DIFFERS if any(table.why_not for table in found.tables) else Verdict.DONE
    return Outcome(found, tuple(filter(None, found.lines)), Verdict.STOPPED if found.missing else stays)
