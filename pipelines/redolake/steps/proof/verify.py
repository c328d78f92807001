"""Compare each Delta table with the source AS OF its applied SCN, cell by cell."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from redolake.apply.verify.comparison import Difference
from redolake.context import Run, now, reader, step
from redolake.errors import (
    OF_THE_LAKE,
    ConfigurationError,
    Finding,
    RedolakeError,
    RedoLost,
    SparkExhausted,
    SparkLost,
    Terminal,
    Transient,
    plain_lines,
)
from redolake.host import crash
from redolake.host.progress import Progress
from redolake.land import layout
from redolake.ledger import TableEntry
from redolake.ledger.reading import LedgerReading
from redolake.reconcile.dropped_transactions import DropReport, read_open_drops
from redolake.reconcile.ledger import reconcile_ledger
from redolake.reconcile.settling import check_settled
from redolake.reconcile.table_state import proofs_of
from redolake.reconcile.table_versions import dropped_tables
from redolake.records.codec import to_body
from redolake.records.proofs import FoundRows, TableProof
from redolake.records.shown_facts import ProofFact
from redolake.source import read_redo_facts
from redolake.steps.proof.compare_table import Compared, Method, compare_in_lake, compare_its_history
from redolake.steps.proof.hash_chunks import with_unfinished
from redolake.steps.proof.table_to_compare import describe
from redolake.steps.shared.comparison_rows import comparison_place, folder_name, remove_left_rows
from redolake.steps.shared.named_tables import named_tables
from redolake.steps.shared.same_container import read_same_container
from redolake.steps.shared.scn_times import contents_time
from redolake.steps.shared.status import DeclaredGapReport, open_gaps
from redolake.values.redo import RedoFacts
from redolake.values.scn import Scn
from redolake.values.table import TableId
from redolake.values.utc import beside
from redolake.window import incarnation_at
from redolake.window.recovery_options import newest

PROOFS_SHOWN = 20  # of each table


@dataclass(frozen=True, slots=True)
class NotCompared:
    """A table that could not be compared; `error` is that of a RedolakeError.as_dict()."""

    table: str
    error: Mapping[str, Any]
    may_pass: bool  # a repeat may succeed without anybody's doing

    def __str__(self) -> str:
        return "\n".join(self.lines)

    @property
    def lines(self) -> tuple[str, ...]:
        what = f"{self.table}: NOT COMPARED, {self.error['code']}: {self.error['what']}"
        return plain_lines((what, *((f"  do this: {self.error['cure']}",) if self.error["cure"] else ())))


@dataclass(frozen=True, slots=True)
class Verification:
    """`equal` says that all tables were compared and are equal. `declared_gaps` and `dropped` are those that some of the tables
    still lack. `left` are tables that are due and were not begun, because the time was up. `samples` are the
    first differences of each table."""

    equal: bool
    tables: tuple[TableProof, ...]
    declared_gaps: tuple[DeclaredGapReport, ...]
    dropped: tuple[DropReport, ...]
    not_compared: tuple[NotCompared, ...] = ()
    left: tuple[str, ...] = ()
    samples: Mapping[str, tuple[Difference, ...]] = field(default_factory=dict)


@step
def verify_tables(
    run: Run, tables: Sequence[str] | None = None, *, method: Method = "auto", sample: float | None = None, due: bool = False
) -> Verification:
    """Compare the tables one after the other, by default all, and report each result at once. A table that cannot be compared
    does not stop the others, also where Spark ends with it: another session is opened then. `sample` is the share of each
    table's buckets that is compared. With `due`, the tables whose last comparison of all rows is older than `verify.every`, for
    as long as `verify.budget` says."""
    found: list[TableProof | NotCompared] = []
    samples = dict[str, tuple[Difference, ...]]()
    reconcile_ledger(run)  # the comparison is AS OF the SCN it knows
    gone = dropped_tables(run)
    there = [table.id for table in run.pipeline.tables if table.id not in gone]
    ids = named_tables(run, tables) if tables else there
    if due:
        ids = choose_due(ids, last_proofs(run.ledger.reading()), now(), run.pipeline.verify.every)
    ends, left = deadline(run.pipeline.verify.budget) if due else None, list[TableId]()
    with run.oracle(run.pipeline.source.container) as oracle:
        read_same_container(run, oracle)
    remove_left_rows(run)
    with comparison_place(run) as place:
        for number, table in enumerate(ids):
            if ends is not None and number and time.monotonic() >= ends:
                left = ids[number:]
                run.report(f"the time is up: {len(left)} tables are due and left for the next time")
                break
            found.append(compare_or_explain(run, table, place, method, sample, samples))
            run.report(Progress(str(found[-1]), "comparing tables", len(found), len(ids)))
    names = {str(table) for table in ids}
    return Verification(
        equal=all(isinstance(one, TableProof) and one.equal for one in found),
        tables=tuple(one for one in found if isinstance(one, TableProof)),
        declared_gaps=tuple(gap for gap in open_gaps(run, run.ledger.reading()) if names & set(gap.tables)),
        dropped=tuple(drop for drop in read_open_drops(run) if names & set(drop.lacking)),
        not_compared=tuple(one for one in found if isinstance(one, NotCompared)),
        left=tuple(map(str, left)),
        samples=samples,
    )


def deadline(budget: timedelta | None) -> float | None:
    return None if budget is None else time.monotonic() + budget.total_seconds()


def last_proofs(reading: LedgerReading) -> dict[TableId, datetime]:
    """Return when each table was last compared as a whole, whatever the result was."""
    found = {}
    for table in reading.facts.get("proofs", {}):
        whole = (p.when for p in proofs_of(reading, table) if p.error is None and p.share == 1)
        if (at := next(whole, None)) is not None:
            found[TableId.parse(table)] = at
    return found


def choose_due(
    tables: Sequence[TableId], proved: Mapping[TableId, datetime], at: datetime, every: timedelta | None
) -> list[TableId]:
    """Return the tables whose last comparison is older than `every`: those never compared first, then the oldest."""
    if every is None:
        raise ConfigurationError(
            [Finding("verify.every", "is not set, so no table is due", "set it, e.g. `verify: {every: 7d}`")]
        )
    never = datetime.min.replace(tzinfo=UTC)
    return sorted((t for t in tables if proved.get(t, never) + every <= at), key=lambda table: proved.get(table, never))


def compare_or_explain(
    context: Run,
    table: TableId,
    place: int,
    method: Method,
    sample: float | None,
    samples: dict[str, tuple[Difference, ...]],
) -> TableProof | NotCompared:
    """Compare the table and record the result, and its first differences in `samples`."""
    try:
        proof, rows, samples[str(table)] = compare_table(context, table, place, method, sample)
    except OF_THE_LAKE:  # every further table would meet the same
        raise
    except (SparkLost, SparkExhausted) as error:
        context.spark.replace()
        found = NotCompared(str(table), with_cure(error, table).as_dict(), may_pass=True)
    except RedolakeError as error:
        found = NotCompared(str(table), error.as_dict(), isinstance(error, Transient))
    else:
        record_proof(context, proof, rows)
        return proof
    at, why = now(), f"{found.error['code']}: {found.error['what']}"
    record_proof(context, TableProof(found.table, proof_name(at), at.isoformat(timespec="seconds"), error=why), None)
    return found


def with_cure(error: SparkLost | SparkExhausted, table: TableId) -> RedolakeError:
    """Return the error of a table with which Spark has ended. It may be too large for Spark, and then ends it again."""
    cure = (
        f"run `redolake verify {table}` once more; where Spark ends again, give its driver more memory (`spark.driver.memory` "
        "under `spark.conf`, or of the Connect server)"
    )
    return type(error)(error.what, cure=cure, table=table)


@crash.writer
def compare_table(
    context: Run, table: TableId, place: int, method: Method, sample: float | None
) -> tuple[TableProof, FoundRows | None, tuple[Difference, ...]]:
    """Compare the table AS OF the SCN that the ledger knows now with the Delta version of that SCN. Return the rows that differ
    too, and the first differences.

    The rows that were read from the source are removed again."""
    entry, started = entry_with_contents(context, table), time.monotonic()
    if method != "rows" and sample is None:
        entry = with_unfinished(context, entry)
    token, at = folder_name(place), contents_time(context, entry)
    try:
        # A connection for each table: a comparison takes long, and firewalls cut idle connections.
        with context.connect() as oracle:
            check_readable(entry, read_redo_facts(oracle, entry.complete_to_scn), context.name)
            context.report(f"reading {table} AS OF SCN {entry.complete_to_scn}{beside(at)}")
            one = describe(context, oracle, entry, token)
            compared = compare_in_lake(one, method, sample)
            history = compare_its_history(one, compared)
    finally:
        context.landing.files.remove(layout.verify_folder(token))
    present = entry_with_contents(context, table)
    if (present.snapshot_scn, present.resetlogs_id) != (entry.snapshot_scn, entry.resetlogs_id):
        raise Transient("the table was loaded again while it was compared", cure="verify it again", table=table)
    if compared.comparison.complete_to != entry.complete_to_scn:
        at = contents_time(context, replace(entry, complete_to_scn=Scn(compared.comparison.complete_to)))
    comparison = compared.comparison
    seconds = round(time.monotonic() - started, 3)
    found = replace(
        table_proof(compared, entry.resetlogs_id), scn_at=at, seconds=seconds, names_all=comparison.names_all, history=history
    )
    rows = FoundRows(str(table), "", one.version.key, comparison.found) if not found.equal else None
    return found, rows, comparison.samples


@reader
def list_proofs(context: Run, tables: Sequence[str] | None = None, most: int = PROOFS_SHOWN) -> list[TableProof]:
    """Return the newest results of comparisons of each table, the newest first."""
    ids = named_tables(context, tables, past=True)
    found = [proof for table in ids for proof in context.landing.proofs.newest(table, most)]
    return sorted(found, key=lambda proof: proof.at, reverse=True)


def entry_with_contents(context: Run, table: TableId) -> TableEntry:
    """Return the table's entry. Raise Terminal for a table without contents."""
    entry = context.ledger.table(table)
    if entry is None or entry.complete_to_scn is None or entry.delta_version is None:
        raise Terminal("the table has no contents yet", cure=f"run `redolake snapshot {table}`", table=table)
    check_settled(context, entry)
    return entry


def check_readable(entry: TableEntry, facts: RedoFacts, pipeline: str) -> None:
    """Raise RedoLost if the table is complete to an SCN that a RESETLOGS undid.

    Oracle would refuse that SCN as a future one, or read another state at the same number.
    """
    assert entry.complete_to_scn is not None
    if entry.resetlogs_id is None:
        return
    there = incarnation_at(entry.complete_to_scn, facts)
    is_of_another = there is not None and there.resetlogs_id > entry.resetlogs_id
    if is_of_another or entry.complete_to_scn > newest(facts):
        raise RedoLost(
            f"the table is complete to SCN {entry.complete_to_scn} of incarnation {entry.resetlogs_id}, and the database "
            "was set back to before that: there is nothing to compare it with",
            cure=f"let {pipeline}_capture and {pipeline}_apply pass the RESETLOGS, then verify again; if they "
            f"stop, see `redolake recover -p {pipeline}` for the choices",
            table=entry.table,
        )


def table_proof(compared: Compared, resetlogs_id: int | None) -> TableProof:
    found, cost, at = compared.comparison, compared.cost, now()
    return TableProof(
        table=str(found.table),
        name=proof_name(at),
        at=at.isoformat(timespec="seconds"),
        scn=found.complete_to,
        resetlogs_id=resetlogs_id,
        delta_version=found.delta_version,
        source_rows=found.source_rows,
        delta_rows=found.delta_rows,
        missing_rows=found.missing_rows,
        extra_rows=found.extra_rows,
        differing_cells=found.differing_cells,
        quarantined_keys=found.quarantined,
        nulled=found.nulled,
        method=compared.method,
        buckets=compared.buckets,
        differing_buckets=compared.differing_buckets,
        share=compared.share,
        source_rows_read=cost.source_rows,
        source_bytes_read=cost.source_bytes,
        lake_bytes_read=None if found.bytes is None else found.bytes * cost.lake_reads,
        scns=compared.scns,
    )


def proof_name(at: datetime) -> str:
    return layout.proof_name(at, uuid.uuid4().hex[:8])


def record_proof(context: Run, proof: TableProof, rows: FoundRows | None) -> None:
    """Record a result as history in the landing, and for the page in the ledger."""
    table, named = TableId.parse(proof.table), None if rows is None else replace(rows, proof=proof.name)
    context.landing.proofs.write_proof(table, proof if named is None else replace(proof, found=len(named.rows)), named)
    context.ledger.record_proof(table, to_body(fact_of(proof)))


def fact_of(proof: TableProof) -> ProofFact:
    if proof.error is not None:
        return ProofFact(None, None, None, error=proof.error)
    return ProofFact(
        scn=proof.scn,
        delta_version=proof.delta_version,
        rows=proof.source_rows if proof.share == 1 else None,
        missing_rows=proof.missing_rows,
        extra_rows=proof.extra_rows,
        differing_cells=proof.differing_cells,
        share=proof.share,
        quarantined_keys=proof.quarantined_keys,
        nulled=sum(proof.nulled.values()),
        history=proof.history,
    )
