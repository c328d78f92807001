"""What an attempt of a batch has done to a table. It stands in the user metadata of the attempt's commits, for the one that
goes on after it: a batch that was killed between a commit and its manifest has counted in vain otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from redolake.values.terms import ChangeCounts, RowCounts

Windows = Mapping[str, int]  # change rows by the start of the window in which they landed; CARRIED_IN are older


def sums(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return dict(Counter(one) + Counter(other))


@dataclass(frozen=True, slots=True)
class TableWork(ChangeCounts):
    """The counts of commit ranges. `changes` are all change rows of them, also those that were `filtered` or `quarantined`;
    the other counts are those of TableResult."""

    changes: Windows = field(default_factory=dict)
    filtered: Windows = field(default_factory=dict)
    quarantined: Windows = field(default_factory=dict)
    quarantined_keys: int | None = None
    ddl: Mapping[str, int] = field(default_factory=dict)
    first_commit_at: str | None = None
    last_commit_at: str | None = None

    @property
    def count(self) -> int:
        return sum(self.changes.values())

    def plus(self, later: TableWork) -> TableWork:
        """Return the counts of both; keys in quarantine are those after the later one, where it looked."""
        return TableWork(
            sums(self.changes, later.changes),
            sums(self.filtered, later.filtered),
            sums(self.quarantined, later.quarantined),
            self.quarantined_keys if later.quarantined_keys is None else later.quarantined_keys,
            sums(self.ddl, later.ddl),
            min((at for at in (self.first_commit_at, later.first_commit_at) if at is not None), default=None),
            max((at for at in (self.last_commit_at, later.last_commit_at) if at is not None), default=None),
            **ChangeCounts.sums([self, later]),
        )

    def with_rows(self, changed: RowCounts) -> TableWork:
        """Return the counts with rows that a commit changed."""
        return replace(self, **RowCounts.sums([self, changed]))


NO_WORK = TableWork()


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt of a batch of commits in [start, end), up to a commit. `work` lacks the rows that this commit changes, which
    Delta counts."""

    start: int
    end: int
    work: TableWork

    FORMAT: ClassVar[int] = 1

    def is_part_of(self, start: int, end: int) -> bool:
        """Return whether a batch of commits in [start, end) has all changes that the attempt had. It may have become larger."""
        return self.start == start and self.end <= end
