"""`tx drop`: never apply an open transaction."""

from __future__ import annotations

from typing import Annotated

from redolake.errors import ConfigurationError, Finding
from redolake.operations.declared import Option, Outcome, Work, operation

Xid = Annotated[
    str | None, Option("As `tx list` shows it. Without it, the open ones are listed.", "Transaction", positional=True)
]
Container = Annotated[int | None, Option("Needed only if the xid is open in several containers.")]


@operation("tx drop", reason="Stored with the decision.", final=True)
def drop_transaction(work: Work, xid: Xid = None, container: Container = None) -> Outcome:
    """Never apply an open transaction, however it ends. Shows what that costs.

    If the transaction commits, its tables lack its changes until a snapshot reads them again.
    """
    from redolake import steps

    if xid is None and work.execute:
        raise ConfigurationError([Finding("tx drop", "no transaction is named", "`redolake tx list` shows the open ones")])
    if xid is None:
        listed = steps.list_transactions(work.pipeline)
        lines = tuple(map(str, listed.open))
        return Outcome(listed, (f"{len(lines)} open transactions", *lines))
    cost = steps.look_up_transaction(work.pipeline, xid, container)
    if not work.execute:
        return Outcome(cost, tuple(cost.text.splitlines()), shown=cost.start_scn)
    made = steps.drop_transaction(
        work.pipeline, xid, cost.con_id, reason=work.reason, by=work.by,
        start_scn=cost.start_scn if work.shown is None else work.shown,
    )  # fmt: skip
    return Outcome(made, (f"Transaction {xid} is dropped; the next batch leaves out its rows.",))
