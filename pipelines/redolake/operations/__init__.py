"""What a person starts by hand, each declared once in a file of its own.

An operation is a function of a Run (declared.py). `redolake.cli.operations` makes a command of it, `redolake.airflow.forms` a
form and a task, and `redolake.cockpit.actions` a button. A new one is a file here, and a line in MENDS: those are choices in
the form of `<name>_mend`.
"""

from redolake.operations.backfill import backfill
from redolake.operations.close_gap import close_gap
from redolake.operations.declared import Operation, Option, Outcome, Parameter, Verdict
from redolake.operations.drop_transaction import drop_transaction
from redolake.operations.fill_columns import fill_columns
from redolake.operations.history import prune_histories, rebuild_history
from redolake.operations.mend import mend
from redolake.operations.migrate import migrate
from redolake.operations.quarantine import drop_quarantined, retry_quarantine
from redolake.operations.recover import recover
from redolake.operations.remine import remine
from redolake.operations.repair import repair
from redolake.operations.resume import resume
from redolake.operations.swap import swap
from redolake.operations.upkeep import optimize, prune
from redolake.operations.verify import verify

MENDS = {
    one.command: one
    for one in (
        resume, mend, repair, retry_quarantine, drop_quarantined, fill_columns, swap, close_gap, rebuild_history,
        prune_histories, remine, drop_transaction,
    )
}  # fmt: skip
OPERATIONS = MENDS | {one.command: one for one in (backfill, recover, verify, prune, optimize, migrate)}

__all__ = ["MENDS", "OPERATIONS", "Operation", "Option", "Outcome", "Parameter", "Verdict"]
