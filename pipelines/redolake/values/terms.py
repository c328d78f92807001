"""What can become of a row: one table, which results, metrics, the page and texts read.

A new term is a line here, its field (of ChangeCounts, or of the row account in `records/batches/manifest.py`; and of
ReportedCounts, where it `is_reported`), and the place that counts it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal

# `table` terms are rows of the Delta table: several changes of one row in a batch are one. `read` terms are change rows, and
# add up to those that came in. `applied` terms say something else of the applied changes.
Counts = Literal["table", "read", "applied"]
Colour = Literal["applied", "undone", "open", "before", "held"]


@dataclass(frozen=True)
class Term:
    """`name` is its key in manifests and in the ledger, `label` is for people, `metric` its `kind` among the rows of a batch;
    empty where it has no sample. What batches report of each table `is_reported`. `colour` is that of its rows on the page."""

    name: str
    counts: Counts
    label: str = ""
    help: str = ""
    is_reported: bool = False
    metric: str = ""
    colour: Colour | None = None

    @cached_property
    def text(self) -> str:
        return self.label or self.name.replace("_", " ")


TERMS = (
    Term("inserted", "table", is_reported=True, metric="inserted"),
    Term("updated", "table", is_reported=True, metric="updated"),
    Term("deleted", "table", is_reported=True, metric="deleted"),
    Term("applied", "read", metric="applied", colour="applied"),
    Term(
        "filtered", "read", help="changes after which the row filter leaves the row out", is_reported=True, metric="filtered",
        colour="before",
    ),
    Term("masked", "applied", help="applied changes with masked columns", is_reported=True, metric="masked"),
    Term(
        "quarantined", "read", "in quarantine", "changes in the table's quarantine, each there once", is_reported=True,
        metric="quarantined", colour="held",
    ),
    Term(
        "nulled", "applied", "NULL by rule", "values of applied changes that are NULL by rule", is_reported=True,
        metric="null_by_rule",
    ),
    Term("left_out", "read", colour="before"),
    Term("undone", "read", colour="undone"),
    Term("rolled_back", "read", colour="undone"),
    Term("carried_out", "read", "still open", colour="open"),
    Term("before_position", "read", "before the snapshot", colour="before"),
    Term("held", "read", metric="held", colour="held"),
    Term("dropped", "read", colour="held"),
)  # fmt: skip
CAME_IN = ("landed", "carried_in")  # the account's rows, of which each becomes one of these
OF_ACCOUNT = tuple(term for term in TERMS if term.counts == "read")
REPORTED = tuple(term for term in TERMS if term.is_reported)


def came_in(account: Mapping[str, int]) -> int:
    return sum(account.get(name, 0) for name in CAME_IN)


def account_text(account: Mapping[str, int] | None) -> str:
    """Return the terms that add up to an account's change rows, such as `12 applied, 3 held`; empty where there is none yet."""
    return ", ".join(
        f"{account[term.name]} {term.text}" for term in OF_ACCOUNT if account is not None and account.get(term.name)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCounts:
    """The rows of a Delta table that one or more commits changed."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    @classmethod
    def sums(cls, parts: Iterable[Any]) -> dict[str, Any]:
        """Return the sums of the parts' counts, by name."""
        known = list(parts)
        return {field.name: sum(getattr(part, field.name) for part in known) for field in fields(cls)}

    @property
    def counts(self) -> dict[str, Any]:
        return RowCounts.sums([self])

    @property
    def changed(self) -> int:
        return self.inserted + self.updated + self.deleted

    @property
    def counts_text(self) -> str:
        return ", ".join(f"{rows} {name}" for name, rows in self.counts.items())

    @property
    def short_text(self) -> str:
        return f"+{self.inserted} ~{self.updated} -{self.deleted}"

    def __add__(self, other: RowCounts) -> RowCounts:
        return RowCounts(**RowCounts.sums([self, other]))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeCounts(RowCounts):
    """And what else is counted of applied changes: `masked` are those of a version with masks, `nulled` the values in them that
    are NULL by rule."""

    masked: int = 0
    nulled: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedCounts(ChangeCounts):
    """A count for each of REPORTED."""

    filtered: int = 0
    quarantined: int = 0
