"""`migrate`: bring the ledger to the version of this Redolake."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from redolake.operations.declared import Outcome, Verdict, operation

if TYPE_CHECKING:
    from redolake.context import Run
    from redolake.steps.setup.migrate import LedgerMigration


@operation("migrate", at_once=True)
def migrate(run: Run) -> Outcome:
    """Bring the ledger's tables to the version of this Redolake, once nothing writes. The next run does the same.

    Pipelines that share the ledger's database are migrated together. A process that is killed leaves the tables as they were.
    Where it is only shown, it ends as differing if there are any migrations.
    """
    from redolake import steps

    found = steps.migrate_ledger(run.pipeline, check=not run.execute)
    verdict = Verdict.DIFFERS if found.is_due else Verdict.DONE
    return Outcome(found, tuple(lines_of(found)), verdict, is_all=not found.is_due)


def lines_of(found: LedgerMigration) -> Iterator[str]:
    if found.from_version is None:
        yield f"There is no ledger yet: the first run makes it, in version {found.to_version} ({found.ledger})"
    elif not found.migrations:
        yield f"The ledger has version {found.to_version}, which this Redolake needs ({found.ledger})"
    else:
        verb = "was migrated" if found.done else "is to be migrated"
        yield f"The ledger {verb} from version {found.from_version} to {found.to_version} ({found.ledger})"
        yield from (f"  {line.version} {line.what}" for line in found.migrations)
    if found.is_due:
        yield "  do this: `redolake migrate`, once nothing writes"
