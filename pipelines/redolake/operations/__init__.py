"""What a person starts by hand, each declared once in a file of its own.

An operation is a function of a Work (declared.py). `redolake.cli.operations` makes a command of it, `redolake.airflow.mend` a
choice in the form of `<name>_mend`, and `redolake.cockpit.actions` a button. A new one is a file here and a line in MENDS.
"""

from redolake.operations.declared import Operation, Option, Outcome, Parameter, Verdict, Work
from redolake.operations.drop_transaction import drop_transaction
from redolake.operations.fill_columns import fill_columns
from redolake.operations.quarantine import drop_quarantined, retry_quarantine
from redolake.operations.repair import repair
from redolake.operations.resume import resume
from redolake.operations.swap import swap

MENDS = {one.command: one for one in (resume, repair, retry_quarantine, drop_quarantined, fill_columns, swap, drop_transaction)}

__all__ = ["MENDS", "Operation", "Option", "Outcome", "Parameter", "Verdict", "Work"]
