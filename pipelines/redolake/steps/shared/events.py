"""What happened in a pipeline, from the ledger: the rows that the next Spark job appends to the lake's log (job/events.py).

The log says up to when it has been written. What the ledger has since then is written, with what hosts whose clocks differ may
have recorded late: what is there already is left out by its id.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any

from redolake.apply.lake_tables import read_log
from redolake.context import Run, now
from redolake.errors import FormatTooNew, LakeDamaged, LakeUnavailable, LedgerDamaged
from redolake.host.filesystem import storage_errors
from redolake.ledger.batch_stats import table_stats
from redolake.reconcile.table_state import proofs_in
from redolake.records.codec import from_body, to_body
from redolake.records.shown_facts import FailureFact, ProofFact, SnapshotFact
from redolake.values.events import commits_of, log_folder

Event = Mapping[str, Any]

CLOCKS_DIFFER = timedelta(minutes=5)  # at most, between the hosts that write the ledger
ROUNDED = timedelta(milliseconds=1)  # more than a time loses as the number of a commit
FIRST = timedelta(days=1)  # a log begins with the last day
MOST = 10_000  # events of one job that are newer than the log


def due_events(run: Run) -> tuple[Event, ...]:
    """Return the events that the lake's log may lack, the oldest first; none where `keep.events` is not set. A log, or a fact
    of the ledger, that cannot be read is recorded, as a log that cannot be written."""
    keep = run.pipeline.keep.events
    if keep is None:
        if run.ledger.fact("events") is not None:
            record_failure(run, "")
        return ()
    try:
        log = read_log(log_folder(run.pipeline.lake))
        return events_since(run, keep, None if log is None else log.txns().get(commits_of(run.name)))
    except (LakeDamaged, LedgerDamaged, FormatTooNew) as error:
        record_failure(run, error.what)
    except storage_errors() as error:
        record_failure(run, str(error))
    return ()


def events_since(run: Run, keep: timedelta, last: int | None) -> tuple[Event, ...]:
    """Return the events since the newest one in the log, of which `last` is the number."""
    at = now()
    written = at - FIRST if last is None else min(at, datetime.fromtimestamp(last / 1_000_000, UTC))
    since = max(written - CLOCKS_DIFFER, at - keep)
    every = chain(of_windows(run, since), of_batches(run, since), of_tables(run), of_people(run, since))
    found = [one for one in every if since <= time_of(one) <= at]
    found.sort(key=lambda one: (one["happened_at"], one["id"]))
    # Those up to the newest one that is written are no step forward, however many they are.
    late = sum(time_of(one) <= written + ROUNDED for one in found)
    return tuple(found[: late + MOST])


def time_of(event: Event) -> datetime:
    return datetime.fromisoformat(event["happened_at"])


def record_failure(run: Run, failed: str) -> None:
    """Record why the log could not be written or read; empty where it could."""
    if not failed:
        run.ledger.record_facts({}, forget=("events",))
        return
    before = run.ledger.fact("events")
    since = now().isoformat() if before is None else from_body(FailureFact, before, "the last failure of the log").since
    cure = (
        "put right what it names: a later batch writes what is missing, from the ledger. If nobody needs what the log has, "
        f"remove the folder {log_folder(run.pipeline.lake)}: it begins again"
    )
    fact = FailureFact(LakeUnavailable.__name__, f"the lake's log is not written: {failed}", cure, since)
    run.ledger.record_fact("events", to_body(fact))


def event(run: Run, kind: str, name: str, at: datetime, **more: Any) -> Event:
    when = at.astimezone(UTC).isoformat()
    return {"id": f"{run.name}/{kind}/{name}", "happened_at": when, "pipeline": run.name, "kind": kind, **more}


def of_windows(run: Run, since: datetime) -> Iterator[Event]:
    for row in run.ledger.windows_since(since):
        if row.landed_at is not None:
            scns = {"from_scn": row.start_scn, "last_scn": row.end_scn - 1}
            yield event(run, "window", row.name, row.landed_at, **scns, row_count=row.row_count, seconds=row.mine_seconds)
    if (loss := run.ledger.loss()) is not None:
        code, what = loss.error["code"], loss.error["what"]
        yield event(run, "loss", loss.since.isoformat(), loss.since, from_scn=loss.position["scn"], reason=code, text=what)


def of_batches(run: Run, since: datetime) -> Iterator[Event]:
    for batch in run.ledger.batches_since(since):
        result = batch.result or {}
        scns = {"from_scn": int(batch.scns.start), "last_scn": int(batch.scns.end) - 1}
        spent, stats = result.get("seconds", {}), table_stats(batch, timedelta())
        rows, seconds = sum(one.size for one in stats.values()), spent.get("assemble", 0) + spent.get("apply", 0)
        yield event(run, "batch", batch.name, batch.changed_at, **scns, row_count=rows, seconds=float(seconds))
        for table, one in stats.items():
            counts = {"row_count": one.size, **one.counts, "seconds": float(one.seconds)}
            said = {"reason": result.get("changes", {}).get(table, {}).get("state"), "text": ddl_text(one.ddl)}
            yield event(
                run, "table", f"{batch.name}/{table}", batch.changed_at, table_name=table, **scns, **counts, **said
            )  # fmt: skip


def ddl_text(ddl: Mapping[str, int]) -> str | None:
    return ", ".join(f"{kind} {number}" for kind, number in ddl.items()) or None


def of_tables(run: Run) -> Iterator[Event]:
    """Yield the holds, the newest snapshots and the last proofs of tables. A hold has no time in its name, which a rebuilt
    ledger does not know: of two at one SCN a person has resumed the table in between."""
    held = [entry for entry in run.ledger.tables("held") if entry.held_at is not None]
    releases = [one for kind in ("resume", "approve DDL") for one in run.ledger.decisions(kind)] if held else []
    resumed = Counter(str(one.body.get("table")) for one in releases)
    for entry in held:
        code, what, last_scn = entry.hold.get("code", ""), entry.hold.get("what", ""), entry.complete_to_scn
        name, at = f"{entry.table}/{last_scn}/{code}/{resumed[str(entry.table)]}", entry.held_at or now()
        yield event(run, "hold", name, at, table_name=str(entry.table), last_scn=last_scn, reason=code, text=what)
    facts = run.ledger.shown_facts(("snapshot", "proofs"))
    for table, found in facts["snapshot"].items():
        fact = from_body(SnapshotFact, found.body, f"the snapshot of {table}")
        if fact.state == "loaded":
            loaded = {"last_scn": fact.scn, "row_count": fact.rows, "seconds": fact.seconds}
            yield event(run, "snapshot", f"{table}/{fact.scn}", found.at, table_name=table, **loaded)
    for table, found in facts["proofs"].items():
        for proof in proofs_in(found.body, table):
            said = {"reason": proof_word(proof), "text": proof_text(proof)}
            name = f"{table}/{proof.at}"
            yield event(run, "proof", name, proof.when, table_name=table, last_scn=proof.scn, row_count=proof.rows, **said)


def proof_word(proof: ProofFact) -> str:
    return "differs" if proof.error is None and not proof.equal else proof.word.lower()


def proof_text(proof: ProofFact) -> str | None:
    if proof.error is not None:
        return proof.error
    texts = []
    if not proof.has_equal_rows:
        texts.append(
            f"{proof.missing_rows} missing rows, {proof.extra_rows} extra rows, {proof.differing_cells} differing cells"
        )
    if (history := proof.history) is not None and not history.is_equal:
        texts.append(f"its history: {history.missing_rows} missing rows, {history.extra_rows} extra rows")
    return "; ".join(texts) or None


def of_people(run: Run, since: datetime) -> Iterator[Event]:
    """Yield the decisions. A rebuilt ledger numbers them again: their names are made of what was decided."""
    for one in run.ledger.decisions(since=since):
        said = f"{one.kind}{json.dumps(one.body, sort_keys=True, default=str)}"
        name = f"{one.at.isoformat(timespec='seconds')}/{hashlib.sha256(said.encode()).hexdigest()[:16]}"
        more = {"table_name": one.body.get("table"), "who": one.who, "reason": one.body.get("reason"), "text": one.kind}
        texts = {field: value for field, value in more.items() if isinstance(value, str)}
        yield event(run, "decision", name, one.at, **texts)
