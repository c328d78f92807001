"""Repair: read the rows that a comparison found AS OF the table's own position, and merge them in a commit that says why.

The apply lease is held meanwhile, so that the position stays: the rows are those that the table should have there, and later
changes come from the redo as always. So no row becomes older. Where undo no longer reaches the position, nothing is repaired.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from redolake.apply.verify.comparison import Comparison, Difference, Part
from redolake.config import Pipeline
from redolake.context import PipelineContext, Report, now, open_context, open_pipeline_source, open_to_read, owner, silent
from redolake.errors import RedolakeError, Terminal, Transient, one_line
from redolake.host import crash
from redolake.land import layout
from redolake.ledger import TableEntry
from redolake.reconcile.approvals import record_approval
from redolake.reconcile.lake_place import lake_place
from redolake.reconcile.ledger import last_batch, reconcile_ledger
from redolake.records.proofs import FoundRow, FoundRows, TableProof
from redolake.source import ConnectParams, read_redo_facts
from redolake.steps.proof.found_rows import read_found
from redolake.steps.proof.listed_keys import take_off_list
from redolake.steps.proof.table_to_compare import TableToCompare, describe, naming_plan_of, task_of
from redolake.steps.proof.verify import check_readable, entry_with_contents, proof_name, record_proof
from redolake.steps.shared.comparison_rows import comparison_place, folder_name, remove_left_rows
from redolake.steps.shared.decisions import check_reason
from redolake.steps.shared.leases import LeaseRenewer, take_apply_lease
from redolake.steps.shared.named_tables import named_table
from redolake.steps.shared.same_container import read_same_container
from redolake.steps.shared.scn_times import contents_time
from redolake.steps.shared.spark_session import Spark, spark_when_needed
from redolake.values.amounts import size
from redolake.values.canonical import WHOLE_HASH, HashPlan
from redolake.values.ora_codes import OUT_OF_REACH
from redolake.values.scn import ChainPosition, Scn
from redolake.values.table import TableId
from redolake.values.terms import RowCounts
from redolake.values.utc import beside

log = logging.getLogger(__name__)

SET_BACK = "TableSetBack"  # the code of a table that is held because another writer has changed its rows


@dataclass(frozen=True, slots=True)
class RepairedTable(RowCounts):
    """A repair of `rows` rows that were found, AS OF the table's applied SCN. `equal` says that they now are as in the source;
    `released` that the table was held because of them and is not any more. `source_bytes_read` were fetched from Oracle,
    `lake_bytes_read` is the size of the files that Spark has read to compare them again. `off_quarantine` are keys that were
    known to be wrong, and are not any more."""

    table: str
    applied_scn: int
    rows: int
    delta_version: int
    equal: bool
    released: bool
    seconds: float
    source_rows_read: int
    source_bytes_read: int
    lake_bytes_read: int | None
    by: str
    reason: str
    applied_at: str | None = None
    samples: tuple[Difference, ...] = ()
    off_quarantine: tuple[str, ...] = ()

    def __str__(self) -> str:
        where = f"AS OF SCN {self.applied_scn}{beside(self.applied_at)}, Delta version {self.delta_version}"
        verdict = "they are equal now" if self.equal else "some STILL DIFFER: verify the table again"
        listed = f"; {len(self.off_quarantine)} keys are not in quarantine any more" if self.off_quarantine else ""
        end = listed + ("; the table is not held any more" if self.released else "")
        return one_line(
            f"{self.table}: {self.rows} rows that differed were read again: {self.counts_text}; {verdict}{end}, {where}"
        )

    @property
    def lines(self) -> tuple[str, str]:
        """What was done, and what it has read."""
        lake = "" if self.lake_bytes_read is None else f"; Delta files of {size(self.lake_bytes_read)} were searched"
        read = f"{self.source_rows_read} rows, {size(self.source_bytes_read)} were fetched from Oracle{lake}"
        return str(self), f"{read}, in {self.seconds:g} s"

    @property
    def without_samples(self) -> RepairedTable:
        """The same without values, which terminals and logs need not show."""
        return replace(self, samples=())


@dataclass(frozen=True, slots=True)
class RowsToRepair:
    """The rows that a repair would read again AS OF the table's applied SCN, and what names them."""

    table: str
    rows: int
    cause: str
    applied_scn: int | None

    def __str__(self) -> str:
        return one_line(f"{self.table}: would read {self.rows} rows again AS OF SCN {self.applied_scn}, of {self.cause}")


@dataclass(frozen=True, slots=True)
class Chosen:
    """The rows to read again, and why. `covers` is the newest Delta version whose rows were all compared; None for rows that a
    person has named."""

    rows: tuple[FoundRow, ...]
    cause: str
    covers: int | None = None


def look_up_rows(pipeline: Pipeline, table_name: str, keys: Sequence[Mapping[str, str]] = ()) -> RowsToRepair:
    """Return what a repair would read again. Raises Terminal as `repair_table` does."""
    with open_to_read(pipeline) as context:
        entry = entry_with_contents(context, named_table(context, table_name))
        if keys:
            rows, cause = len(keys), "keys that a person named"
        else:
            found = found_by_proofs(context, entry)
            rows, cause = len(found.rows), found.cause
        return RowsToRepair(str(entry.table), rows, cause, entry.complete_to_scn)


@crash.writer
def repair_table(
    pipeline: Pipeline,
    table_name: str,
    *,
    reason: str,
    by: str = "",
    keys: Sequence[Mapping[str, str]] = (),
    cause: str = "keys that a person named",
    up_to: ChainPosition | None = None,
    source: ConnectParams | None = None,
    spark: Any = None,
    report: Report = silent,
    opens: Callable[[], Any] | None = None,
) -> RepairedTable:
    """Repair the rows that the last comparisons found, or those with the given keys, and compare them again. `cause` says who
    named the keys. With `up_to` they are all whose rows have changed since the table's position, which becomes that one, and
    the table is not held any more.

    Raises Terminal where there is nothing to repair, or where only a new snapshot can."""
    check_reason("a repair", reason)
    started = time.monotonic()
    with (
        open_context(pipeline) as context,
        comparison_place(pipeline) as place,
        spark_when_needed(pipeline, spark, opens) as opened,
        apply_lease_renewed(pipeline) as writer,
    ):
        table = named_table(context, table_name)
        reconcile_ledger(context)
        remove_left_rows(context)
        entry, token = entry_to_repair(context, table, up_to), folder_name(place)
        try:
            with open_pipeline_source(pipeline, source, pipeline.source.container) as oracle:
                read_same_container(context, oracle)
                oracle.use_container(None)
                check_readable(entry, read_redo_facts(oracle, entry.complete_to_scn), context.name)
                one = describe(context, source, oracle, entry, token, report)
                work = Work(one, whole_plan(one), opened, writer, by or owner(), reason.strip(), up_to is not None)
                done = work.repair(rows_to_repair(context, entry, work, keys, cause))
        finally:
            context.landing.files.remove(layout.verify_folder(token))
        if up_to is not None and done.equal:
            with context.ledger.at_once():
                context.ledger.record_complete_to(table, Scn(up_to.scn), up_to.resetlogs_id, done.delta_version)
                done = replace(done, released=context.ledger.release(table))
        return replace(done, seconds=round(time.monotonic() - started, 3), applied_at=contents_time(context, entry))


def entry_to_repair(context: PipelineContext, table: TableId, up_to: ChainPosition | None) -> TableEntry:
    """Return the table's entry, as it is to be where its position advances. Raise Transient if a batch has ended since that was
    chosen."""
    entry = entry_with_contents(context, table)
    if up_to is None:
        return entry
    last = last_batch(context)
    if last is None or last.end_position.plus(-1) != up_to:
        raise Transient("a batch has ended meanwhile", cure="run it again", table=table)
    return replace(entry, complete_to_scn=Scn(up_to.scn), resetlogs_id=up_to.resetlogs_id)


@dataclass(frozen=True, slots=True)
class Writer:
    """The writer of the pipeline's tables: `check` raises once another one has taken the lease."""

    token: int
    check: Callable[[], None]


@contextmanager
def apply_lease_renewed(pipeline: Pipeline) -> Iterator[Writer]:
    """Hold the apply lease, however long the block runs."""
    with open_context(pipeline) as own:  # a ledger of its own, which another thread renews with
        lease = take_apply_lease(own)
        renewer = LeaseRenewer(own.ledger, lease, lambda: None)
        try:
            yield Writer(lease.token, renewer.check)
        finally:
            renewer.end()
            own.ledger.release_lease(lease)


def whole_plan(one: TableToCompare) -> HashPlan:
    """Return how the table's keys are hashed. Raise Terminal for a table whose rows cannot be named."""
    plan = naming_plan_of(one)
    if plan is None:
        raise Terminal(
            "single rows of the table cannot be repaired: its key has a column that Oracle and Spark do not hash alike, or a "
            "row without a key has no other column, and none that the lake has as Oracle does",
            cure=f"run `redolake snapshot {one.version.table} --replace`",
            table=one.version.table,
        )
    return replace(plan, digits=WHOLE_HASH)


@dataclass(frozen=True, slots=True)
class Work:
    one: TableToCompare
    plan: HashPlan
    spark: Spark
    writer: Writer
    by: str
    reason: str
    advances: bool = False

    def repair(self, chosen: Chosen) -> RepairedTable:
        """Read the rows again, merge and compare them, and let a table that is held because of them go on."""
        from redolake.apply.verify.repair import RepairTask
        from redolake.job.repair import repair_rows

        one, table, context = self.one, self.one.version.table, self.one.context
        made = record_approval(
            context, "repair", table, int(one.scn), by=self.by, policy=chosen.cause, reason=self.reason,
            choice=f"{len(chosen.rows)} rows",
        )  # fmt: skip
        one.report(f"reading {len(chosen.rows)} rows of {table} AS OF SCN {one.scn}")
        path, digest = self.read(chosen.rows)
        hashes = tuple(sorted({row.hash for row in chosen.rows}))
        compare = replace(
            task_of(one), files=(path,), digests={path: digest}, hashing=self.plan, part=Part(hashes), quarantine=None
        )
        metadata = {
            "pipeline": context.name, "table": str(table), "repair": made.name, "cause": chosen.cause, "by": self.by,
            "reason": self.reason, "scn": int(one.scn),
        }  # fmt: skip
        task = RepairTask(compare, chosen.rows, self.writer.token, chosen.covers, metadata, self.advances)
        one.report(f"repairing {table}")
        commit, again = repair_rows(self.spark.session(), task, lake_place(context), self.writer.check)
        log.info(
            "%s: %s repaired %s row(s) AS OF SCN %s in Delta version %s, because %s: %s",
            table, self.by, len(chosen.rows), one.scn, commit.delta_version, chosen.cause, self.reason,
        )  # fmt: skip
        right = self.take_off_list(hashes, commit.delta_version) if again.equal else ()
        released = again.equal and self.release(chosen)
        self.record(again, commit.delta_version)
        return RepairedTable(
            str(table), int(one.scn), len(chosen.rows), commit.delta_version, again.equal, released, 0.0,
            one.cost.source_rows, one.cost.source_bytes, again.bytes, self.by, self.reason,
            samples=again.samples, off_quarantine=right, **commit.merged.counts,
        )  # fmt: skip

    def take_off_list(self, hashes: tuple[str, ...], delta_version: int) -> tuple[str, ...]:
        if not self.plan.key:
            return ()
        return take_off_list(self.one, self.plan, self.spark, set(hashes), delta_version, by=self.by, why=self.reason)

    def read(self, rows: Sequence[FoundRow]) -> tuple[str, Any]:
        try:
            return read_found(self.one, self.spark, self.plan, rows)
        except RedolakeError as error:
            if error.ora_code not in OUT_OF_REACH:
                raise
            raise Terminal(
                f"the database can no longer show the rows AS OF SCN {self.one.scn}, the table's position: {error.what}",
                cure="let apply bring the table to a newer SCN, then verify and repair it again; a held table that cannot "
                f"advance is read again by `redolake snapshot {self.one.version.table} --replace`",
                table=self.one.version.table,
                ora_code=error.ora_code,
            ) from error

    def release(self, chosen: Chosen) -> bool:
        """Release a table that another writer's rows hold, once all of them are repaired. The next batch looks again."""
        context, entry = self.one.context, self.one.entry
        is_cured = entry.state == "held" and (entry.error or {}).get("code") == SET_BACK and chosen.covers is not None
        if is_cured:
            context.ledger.release(entry.table)
        return is_cured

    def record(self, again: Comparison, delta_version: int) -> None:
        """Record the comparison of the repaired rows as a proof of these alone."""
        at = now()
        proof = TableProof(
            table=str(again.table),
            name=proof_name(at),
            at=at.isoformat(timespec="seconds"),
            scn=again.complete_to,
            resetlogs_id=self.one.entry.resetlogs_id,
            delta_version=delta_version,
            method="keys",
            share=0.0,
            source_rows=again.source_rows,
            delta_rows=again.delta_rows,
            missing_rows=again.missing_rows,
            extra_rows=again.extra_rows,
            differing_cells=again.differing_cells,
            source_rows_read=self.one.cost.source_rows,
            source_bytes_read=self.one.cost.source_bytes,
            lake_bytes_read=again.bytes,
            found=len(again.found),
            names_all=again.names_all,
        )
        rows = None if again.equal else FoundRows(str(again.table), proof.name, self.one.version.key, again.found)
        record_proof(self.one.context, again.table, proof, rows)


def rows_to_repair(
    context: PipelineContext, entry: TableEntry, work: Work, keys: Sequence[Mapping[str, str]], cause: str
) -> Chosen:
    if keys:
        return Chosen(rows_of_keys(work, keys), cause)
    return found_by_proofs(context, entry)


def found_by_proofs(context: PipelineContext, entry: TableEntry) -> Chosen:
    return rows_of_proofs(entry, open_proofs(context, entry), lambda name: context.landing.proofs.found_rows(entry.table, name))


def rows_of_keys(work: Work, keys: Sequence[Mapping[str, str]]) -> tuple[FoundRow, ...]:
    """Return the rows with these keys, by column name. Raise Terminal for a key that is not the table's."""
    from redolake.job.repair import name_keys

    one = work.one
    names = [one.version.column(i).name for i in one.version.key if i] if work.plan.key else []
    for given in keys:
        if sorted(given) != sorted(names) or not names:
            wanted = ", ".join(names) or "no key of columns: leave --key out"
            raise Terminal(f"{', '.join(given)} is not the table's key", cure=f"its key is {wanted}", table=one.version.table)
    texts = tuple(tuple(given[name] for name in names) for given in keys)
    return name_keys(work.spark.session(), replace(task_of(one), hashing=work.plan), texts)


def open_proofs(context: PipelineContext, entry: TableEntry) -> list[TableProof]:
    """Return the newest comparison of the whole table, and what samples and repairs have found since, the newest first. A
    repair after which its rows were equal ends the list too."""
    found = []
    for name in reversed(context.landing.proofs.names(entry.table)):
        proof = context.landing.proofs.read(entry.table, name)
        if proof is None or proof.error is not None:
            continue
        found.append(proof)
        if proof.share == 1 or (proof.method == "keys" and proof.is_equal):
            break
    return found


def rows_of_proofs(entry: TableEntry, proofs: Sequence[TableProof], rows_of: Callable[[str], FoundRows | None]) -> Chosen:
    """Return the rows that the comparisons found. Raise Terminal where they found none, or cannot name all."""
    table = entry.table
    again = f"run `redolake verify {table}`, then repair again"
    if not proofs:
        raise Terminal("the table was not compared yet", cure=again, table=table)
    loaded = int(entry.snapshot_scn or 0)
    if any(proof.resetlogs_id != entry.resetlogs_id or (proof.scn or 0) < loaded for proof in proofs):
        raise Terminal("the table was loaded again since it was compared", cure=again, table=table)
    differing = [proof for proof in proofs if not proof.is_equal]
    if not differing:
        raise Terminal("the last comparison found no row that differs", cure=again, table=table)
    if not all(proof.names_all for proof in differing):
        raise Terminal(
            "more rows differ than are named one by one, or they cannot be named",
            cure=f"run `redolake snapshot {table} --replace`",
            table=table,
        )
    found = [named for proof in differing if (named := rows_of(proof.name)) is not None]
    rows = tuple(dict.fromkeys(row for named in found for row in named.rows))
    whole = [proof.delta_version for proof in proofs if proof.share == 1 and proof.delta_version is not None]
    names = ", ".join(proof.name for proof in differing)
    return Chosen(rows, f"comparison {names}", max(whole, default=None))
