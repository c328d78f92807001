"""The list of keys that are known to be wrong, of a table into whose place the rows of a copy come.

A copy has a list of its own, so after a swap the table's list is that one. What the copy has wrong is listed before its rows
are in place, and what it has right is taken off afterwards: a kill in between leaves a key listed that is right, never the
reverse.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from redolake.context import PipelineContext
from redolake.errors import QuarantineInTheWay
from redolake.ledger import TableEntry
from redolake.reconcile.quarantine import record_open_keys
from redolake.steps.shared.spark_session import Spark
from redolake.values.quarantine import Wrong


@dataclass(frozen=True, slots=True)
class CopiedList:
    """The copy at `path`, and the quarantine beside it."""

    path: str
    quarantine: str
    app_id: str


@dataclass(frozen=True, slots=True)
class SwappedLists:
    """The wrong keys of the live table, and those of the copy, both AS OF the SCN of the table."""

    context: PipelineContext
    spark: Spark
    entry: TableEntry
    copy: CopiedList
    scn: int
    live: Mapping[str, Wrong]
    copied: Mapping[str, Wrong]

    @property
    def target(self) -> str:
        return self.context.pipeline.target(self.entry.table)

    @property
    def quarantine(self) -> str:
        return self.context.pipeline.quarantine_path(self.entry.table)

    def add_wrong(self, *, is_undo: bool) -> None:
        """List what is wrong in the copy alone. Raise QuarantineInTheWay unless the copy is what an earlier swap has
        replaced."""
        from redolake.job.quarantine import Listed, list_again

        worse = {key: one for key, one in self.copied.items() if key not in self.live}
        if worse and not is_undo:
            raise QuarantineInTheWay(
                f"rows of {len(worse)} keys are right in the table and wrong in the copy, such as {min(worse)}: they were read "
                "again since the copy begins, and they are not in the redo",
                cure="make a copy that begins later",
                table=self.entry.table,
                scn=self.scn,
            )
        if worse:
            copy, live = Listed(self.copy.path, self.copy.quarantine), Listed(self.target, self.quarantine)
            list_again(self.spark.session(), copy, live, self.copy.app_id, worse, self.scn, self.entry.table)

    def take_off(self, delta_version: int, by: str, why: str) -> int:
        """Take off the list what is right in the copy. Return how many keys are wrong now."""
        from redolake.job.quarantine import record_decision

        better = sorted(self.live.keys() - self.copied.keys())
        if better:
            record_decision(
                self.spark.session(), self.quarantine, self.target, self.copy.app_id, "retried", better, self.scn, by=by,
                why=why, table=self.entry.table, delta_version=delta_version,
            )  # fmt: skip
        record_open_keys(self.context, self.entry.table, sum(one.state == "open" for one in self.copied.values()))
        return len(self.copied)


def read_lists(context: PipelineContext, spark: Spark, entry: TableEntry, copy: CopiedList) -> SwappedLists | None:
    """Return the lists of a table and of its copy; None where neither has ever had a key."""
    from redolake.job.lake import has_log
    from redolake.job.quarantine import read_wrong

    target, quarantine = context.pipeline.target(entry.table), context.pipeline.quarantine_path(entry.table)
    if not has_log(quarantine) and not has_log(copy.quarantine):
        return None
    scn = int(entry.complete_to_scn or 0)
    live = read_wrong(spark.session(), quarantine, target, copy.app_id, scn)
    copied = read_wrong(spark.session(), copy.quarantine, copy.path, copy.app_id, scn)
    return SwappedLists(context, spark, entry, copy, scn, live, copied)
