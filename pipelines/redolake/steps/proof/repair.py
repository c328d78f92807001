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
from functools import partial, reduce
from typing import Any, TypeVar

from redolake.apply.verify.comparison import Difference, Part
from redolake.context import Run, reader, step
from redolake.errors import RedolakeError, Terminal, Transient, in_shell, one_line, plain_lines
from redolake.host import crash
from redolake.ledger import TableEntry
from redolake.reconcile.approvals import record_approval
from redolake.reconcile.lake_place import lake_place
from redolake.reconcile.ledger import last_batch, reconcile_ledger
from redolake.records.proofs import FoundRow, FoundRows, TableProof
from redolake.source import Source, read_redo_facts
from redolake.steps.proof.compare_table import Compared
from redolake.steps.proof.found_rows import read_found
from redolake.steps.proof.listed_keys import take_off_list
from redolake.steps.proof.table_to_compare import TableToCompare, describe, naming_plan_of, task_of
from redolake.steps.proof.verify import check_readable, entry_with_contents, record_proof, table_proof
from redolake.steps.shared.comparison_rows import comparison_place, folder_name, remove_left_rows, remove_rows
from redolake.steps.shared.leases import LeaseRenewer, apply_lease_renewed
from redolake.steps.shared.named_tables import named_table
from redolake.steps.shared.same_container import read_same_container
from redolake.steps.shared.scn_times import contents_time
from redolake.values.amounts import size
from redolake.values.canonical import WHOLE_HASH, HashPlan
from redolake.values.ora_codes import OUT_OF_REACH
from redolake.values.scn import ChainPosition, Scn
from redolake.values.table import TableId
from redolake.values.terms import RowCounts
from redolake.values.utc import beside

log = logging.getLogger(__name__)

SET_BACK = "TableSetBack"  # the code of a table that is held because another writer has changed its rows
KEYS_AT_ONCE = 50_000  # of one commit
BY_HAND = "keys that a person named"
STILL_DIFFER = "some of the rows that were read again STILL DIFFER: run it again, or verify the table"
# What parts of a reading have each for itself.
SUMMED = (
    "rows", "inserted", "updated", "deleted", "seconds", "source_rows_read", "source_bytes_read", "lake_bytes_read", "samples",
    "off_quarantine",
)  # fmt: skip

Keys = Sequence[Mapping[str, str]]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReadAgain(RowCounts):
    """Rows of a table that are read again AS OF `applied_scn`, its position, because of `cause`; then what became of them.

    `changes` rows of redo name the `rows`, if a range of redo does; those of `unknown` changes are not known, the first
    `why_unknown`. With `columns` only these are read, of all rows, and `again` are those that the table had before. `why_not`
    says why the table stays as it is, or which rows do. `equal`: they are as in the source now. `released`: the table was held
    because of them and is not any more. `off_quarantine` are keys that were known to be wrong, and are not any more.
    `source_bytes_read` were fetched from Oracle, `lake_bytes_read` is the size of the files that Spark has read to compare."""

    table: str
    applied_scn: int | None = None
    rows: int | None = 0
    cause: str = ""
    changes: int = 0
    unknown: int = 0
    why_unknown: str = ""
    why_not: str = ""
    columns: tuple[str, ...] = ()
    again: tuple[str, ...] = ()
    equal: bool = False
    delta_version: int | None = None
    released: bool = False
    off_quarantine: tuple[str, ...] = ()
    by: str = ""
    reason: str = ""
    applied_at: str | None = None
    seconds: float = 0.0
    source_rows_read: int = 0
    source_bytes_read: int = 0
    lake_bytes_read: int = 0
    samples: tuple[Difference, ...] = ()

    def __str__(self) -> str:
        is_done = self.equal or self.delta_version is not None
        if self.why_not and not is_done:
            return one_line(f"{self.table}: stays as it is: {self.why_not}")
        what = f"{self.table}: {self.what} AS OF its position, SCN {self.applied_scn}{beside(self.applied_at)}"
        if self.delta_version is not None:
            what += f", in Delta version {self.delta_version}"
        if self.columns or not is_done:
            return one_line(what)
        listed = f"; {len(self.off_quarantine)} keys are not in quarantine any more" if self.off_quarantine else ""
        end = listed + ("; the table is not held any more" if self.released else "")
        return one_line(f"{what}: {self.counts_text}; {self.why_not or 'they are equal now'}{end}")

    @property
    def what(self) -> str:
        if self.columns:
            shown = ", ".join(f"{name} (computed again)" if name in self.again else name for name in self.columns)
            return f"{shown}: read with the key of {'all' if self.rows is None else self.rows} rows"
        if self.changes:
            return f"{self.changes} change(s) of {self.rows} key(s), whose rows are read again"
        rows = "the rows" if self.rows is None else f"{self.rows} row(s)"
        return f"{rows} of {self.cause}, read again"

    @property
    def lines(self) -> tuple[str, ...]:
        """What was done, and what it has read."""
        left = f"  not known: the rows of {self.unknown} change(s), which are left out: {self.why_unknown}"
        lake = f"; Delta files of {size(self.lake_bytes_read)} were searched" if self.lake_bytes_read else ""
        read = f"{self.source_rows_read} rows, {size(self.source_bytes_read)} were fetched from Oracle{lake}"
        on = f"it goes on with the next run; prove it after that: `redolake verify {in_shell(self.table)}`"
        more = (
            *[left] * bool(self.unknown),
            *[on] * bool(self.columns and self.delta_version is not None),
            *[f"{read}, in {self.seconds:g} s"] * bool(self.seconds),
        )
        return str(self), *plain_lines(more)

    @property
    def without_samples(self) -> ReadAgain:
        """The same without values, which terminals and logs need not show."""
        return replace(self, samples=())

    def with_more(self, later: ReadAgain) -> ReadAgain:
        """Return what became of the rows of both."""
        both: dict[str, Any] = {name: getattr(self, name) + getattr(later, name) for name in SUMMED}
        is_equal, why = self.equal and later.equal, self.why_not or later.why_not
        return replace(later, **both, equal=is_equal, why_not=why, released=self.released or later.released)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The rows to read again, and why. `covers` is the newest Delta version whose rows were all compared; None for rows that a
    person, or a range of redo, has named."""

    rows: tuple[FoundRow, ...]
    cause: str
    covers: int | None = None


@reader
def look_up_rows(context: Run, table_name: str, keys: Keys | None = None) -> ReadAgain:
    """Return what a repair would read again. Raises Terminal as `repair_table` does."""
    entry = entry_with_contents(context, named_table(context, table_name))
    found = Chosen((), BY_HAND) if keys else found_by_proofs(context, entry)
    return ReadAgain(str(entry.table), entry.complete_to_scn, len(keys or found.rows), found.cause)


@step
def repair_table(run: Run, table_name: str, keys: Keys | None = None) -> ReadAgain:
    """Repair the rows that the last comparisons found, or those with the given keys, and compare them again.

    Raises Terminal where there is nothing to repair, or where only a new snapshot can."""
    by, reason = run.decision("a repair")
    asked = ReadAgain(table_name, cause=BY_HAND, by=by, reason=reason)
    return read_again(run, asked, keys or None)


def read_again(run: Run, asked: ReadAgain, keys: Keys | None, up_to: ChainPosition | None = None) -> ReadAgain:
    """Read the rows with the keys again, or without any those that the last comparisons found, and compare them. With `up_to`
    they are all whose rows have changed since the table's position, which becomes that one, and the table is not held any
    more.

    Raises Terminal where there is nothing to repair, or where only a new snapshot can."""
    if keys is None:
        return read_part(run, asked, None, up_to)
    parts = [keys[start : start + KEYS_AT_ONCE] for start in range(0, len(keys), KEYS_AT_ONCE)]
    made = [read_part(run, asked, part, up_to) for part in parts]
    return reduce(ReadAgain.with_more, made) if made else replace(asked, equal=True)


@crash.writer
def read_part(run: Run, asked: ReadAgain, keys: Keys | None, up_to: ChainPosition | None) -> ReadAgain:
    started = time.monotonic()
    entry_of = entry_with_contents if up_to is None else partial(advanced_entry, up_to=up_to)
    with apply_lease_renewed(run) as lease, open_at_position(run, asked.table, entry_of, to_compare) as one:
        entry = one.entry
        work = Work(one, whole_plan(one), lease, asked, up_to is not None)
        chosen = found_by_proofs(run, entry) if keys is None else Chosen(rows_of_keys(work, keys), asked.cause)
        done = work.repair(chosen)
        if up_to is not None and done.equal:
            with run.ledger.at_once():
                run.ledger.record_complete_to(entry.table, Scn(up_to.scn), up_to.resetlogs_id, done.delta_version)
                done = replace(done, released=run.ledger.release(entry.table))
        return replace(done, seconds=round(time.monotonic() - started, 3), applied_at=contents_time(run, entry))


def to_compare(run: Run, oracle: Source, entry: TableEntry, token: str) -> TableToCompare:
    return describe(run, oracle, entry, token)


@contextmanager
def open_at_position(
    run: Run,
    table_name: str,
    entry_of: Callable[[Run, TableId], TableEntry],
    described: Callable[[Run, Source, TableEntry, str], T],
) -> Iterator[T]:
    """Yield what `described` makes of a table whose rows can be read AS OF its position, into files of a folder of the landing,
    which is removed at the end. Raises RedoLost where a RESETLOGS has undone the position."""
    run.look_again()
    with comparison_place(run) as place:
        reconcile_ledger(run)
        entry, token = entry_of(run, named_table(run, table_name)), folder_name(place)
        remove_left_rows(run)
        try:
            with run.oracle(run.pipeline.source.container) as oracle:
                read_same_container(run, oracle)
                oracle.use_container(None)
                check_readable(entry, read_redo_facts(oracle, entry.complete_to_scn), run.name)
                yield described(run, oracle, entry, token)
        finally:
            remove_rows(run, token)


@contextmanager
def within_reach(table: TableId, scn: int, cure: str) -> Iterator[None]:
    """Raise Terminal where undo no longer reaches the SCN."""
    try:
        yield
    except RedolakeError as error:
        if error.ora_code not in OUT_OF_REACH:
            raise
        what = f"the database can no longer show the rows AS OF SCN {scn}, the table's position: {error.what}"
        raise Terminal(what, cure=cure, table=table, ora_code=error.ora_code) from error


def advanced_entry(context: Run, table: TableId, up_to: ChainPosition) -> TableEntry:
    """Return the table's entry as it is to be where its position advances. Raise Transient if a batch has ended since that was
    chosen."""
    last = last_batch(context)
    if last is None or last.end_position.plus(-1) != up_to:
        raise Transient("a batch has ended meanwhile", cure="run it again", table=table)
    entry = entry_with_contents(context, table)
    return replace(entry, complete_to_scn=Scn(up_to.scn), resetlogs_id=up_to.resetlogs_id)


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
    lease: LeaseRenewer
    asked: ReadAgain
    advances: bool = False

    def repair(self, chosen: Chosen) -> ReadAgain:
        """Read the rows again, merge and compare them, and let a table that is held because of them go on."""
        from redolake.apply.verify.repair import RepairTask
        from redolake.job.repair import repair_rows

        one, table, context, asked = self.one, self.one.version.table, self.one.context, self.asked
        made = record_approval(
            context, "repair", table, int(one.scn), by=asked.by, policy=chosen.cause, reason=asked.reason,
            choice=f"{len(chosen.rows)} rows",
        )  # fmt: skip
        one.context.report(f"reading {len(chosen.rows)} rows of {table} AS OF SCN {one.scn}")
        cure = (
            "let apply bring the table to a newer SCN, then verify and repair it again; a held table that cannot advance is "
            f"read again by `redolake snapshot {table} --replace`"
        )
        with within_reach(table, one.scn, cure):
            path, digest = read_found(one, self.plan, chosen.rows)
        hashes = tuple(sorted({row.hash for row in chosen.rows}))
        compare = replace(
            task_of(one), files=(path,), digests={path: digest}, hashing=self.plan, part=Part(hashes), quarantine=None
        )
        metadata = {
            "pipeline": context.name, "table": str(table), "repair": made.name, "cause": chosen.cause, "by": asked.by,
            "reason": asked.reason, "scn": int(one.scn),
        }  # fmt: skip
        task = RepairTask(compare, chosen.rows, self.lease.token, chosen.covers, metadata, self.advances)
        one.context.report(f"repairing {table}")
        version, merged, again = repair_rows(context.spark.session(), task, lake_place(context), self.lease.check)
        log.info(
            "%s: %s repaired %s row(s) AS OF SCN %s in Delta version %s, because %s: %s",
            table, asked.by, len(chosen.rows), one.scn, version, chosen.cause, asked.reason,
        )  # fmt: skip
        right: tuple[str, ...] = ()
        if again.equal:
            right = take_off_list(one, self.plan, set(hashes), version, by=asked.by, why=asked.reason)
        released = again.equal and self.release(chosen)
        one.cost.lake_reads = 1
        compared = Compared(replace(again, delta_version=version), "keys", one.cost, share=0.0)
        rows = None if again.equal else FoundRows(str(table), "", one.version.key, again.found)
        record_proof(context, table_proof(compared, one.entry.resetlogs_id), rows)
        return replace(
            asked,
            table=str(table),
            applied_scn=int(one.scn),
            rows=len(chosen.rows),
            cause=chosen.cause,
            why_not="" if again.equal else STILL_DIFFER,
            equal=again.equal,
            delta_version=version,
            released=released,
            off_quarantine=right,
            source_rows_read=one.cost.source_rows,
            source_bytes_read=one.cost.source_bytes,
            lake_bytes_read=again.bytes or 0,
            samples=again.samples,
            **merged.counts,
        )

    def release(self, chosen: Chosen) -> bool:
        """Release a table that another writer's rows hold, once all of them are repaired. The next batch looks again."""
        context, entry = self.one.context, self.one.entry
        is_cured = entry.state == "held" and (entry.error or {}).get("code") == SET_BACK and chosen.covers is not None
        if is_cured:
            context.ledger.release(entry.table)
        return is_cured


def found_by_proofs(context: Run, entry: TableEntry) -> Chosen:
    return rows_of_proofs(entry, open_proofs(context, entry), lambda name: context.landing.proofs.found_rows(entry.table, name))


def rows_of_keys(work: Work, keys: Keys) -> tuple[FoundRow, ...]:
    """Return the rows with these keys, by column name. Raise Terminal for a key that is not the table's."""
    from redolake.job.repair import name_keys

    one = work.one
    names = [one.version.column(i).name for i in one.version.key if i] if work.plan.key else []
    for given in keys:
        if sorted(given) != sorted(names) or not names:
            wanted = ", ".join(names) or "no key of columns: leave --key out"
            raise Terminal(f"{', '.join(given)} is not the table's key", cure=f"its key is {wanted}", table=one.version.table)
    texts = tuple(tuple(given[name] for name in names) for given in keys)
    return name_keys(one.context.spark.session(), replace(task_of(one), hashing=work.plan), texts)


def open_proofs(context: Run, entry: TableEntry) -> list[TableProof]:
    """Return the newest comparison of the whole table, and what samples and repairs have found since, the newest first. A
    repair after which its rows were equal ends the list too."""
    found = []
    for name in reversed(context.landing.proofs.names(entry.table)):
        proof = context.landing.proofs.read(entry.table, name)
        if proof is None or proof.error is not None:
            continue
        found.append(proof)
        if proof.share == 1 or (proof.method == "keys" and proof.has_equal_rows):
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
    differing = [proof for proof in proofs if not proof.has_equal_rows]
    if not differing:
        raise Terminal("the last comparison found no row that differs", cure=again, table=table)
    if not all(proof.names_all for proof in differing):
        raise Terminal(
            "more rows differ than are named one by one, or they cannot be named",
            cure=f"run `redolake snapshot {table} --replace`",
            table=table,
        )
    rows = dict[FoundRow, None]()
    for proof in differing:
        named = rows_of(proof.name)
        if named is None or len(named.rows) < max(proof.found, 1):
            what = f"the rows that comparison {proof.name} found are not in the landing any more"
            raise Terminal(what, cure=again, table=table)
        rows.update(dict.fromkeys(named.rows))
    whole = [proof.delta_version for proof in proofs if proof.share == 1 and proof.delta_version is not None]
    names = ", ".join(proof.name for proof in differing)
    return Chosen(tuple(rows), f"comparison {names}", max(whole, default=None))
