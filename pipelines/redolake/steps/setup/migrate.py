"""Bring the ledger to the version of this Redolake, or say what is to be done."""

from __future__ import annotations

from dataclasses import dataclass

from redolake.config import Pipeline
from redolake.context import Run, ledger_url
from redolake.ledger import ledger_version
from redolake.ledger.migrate import Migration


@dataclass(frozen=True, slots=True)
class LedgerMigration:
    """`migrations` lead from `from_version`, None where there is no ledger yet, to `to_version`. `done`: they have run."""

    ledger: str  # its URL, without the password
    from_version: str | None
    to_version: str
    migrations: tuple[Migration, ...]
    done: bool

    @property
    def is_due(self) -> bool:
        return bool(self.migrations) and not self.done


def migrate_ledger(pipeline: Pipeline, *, check: bool = False) -> LedgerMigration:
    """Run the migrations that the pipeline's ledger lacks, or with `check` only return them. A ledger that does not exist yet
    is left to the first run."""
    found = ledger_version(ledger_url(pipeline))
    if found.pending and not check:
        with Run(pipeline):
            pass  # whoever opens it to write brings it to this version
    pending = tuple(found.pending)
    return LedgerMigration(found.ledger, found.found, found.known, pending, done=bool(pending) and not check)
