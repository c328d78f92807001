"""Prove the whole chain on a user's own database: create tables in a scratch schema, replicate them, compare, drop them.

It uses a pipeline of its own in a temporary folder, so that the user's pipeline, landing, lake and ledger are not touched.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from redolake import __version__
from redolake.config import LedgerSettings, Pipeline, Table
from redolake.context import Run
from redolake.errors import LogOverdue, RedolakeError, SourceRefused, Terminal
from redolake.records.proofs import TableProof
from redolake.source import ConnectParams, Source, read_database, read_encoding
from redolake.source.facts import PRIMARY, read_current_scn
from redolake.source.quoting import quote
from redolake.source.scratch import Refused, Rows, ScratchSchema, Step
from redolake.source.selftest_cases import CASES, Case
from redolake.steps.proof.verify import verify_tables
from redolake.steps.run import run_pipeline, take_snapshot
from redolake.steps.shared.status import read_status
from redolake.steps.snapshots.begin import check_source
from redolake.values.table import TableId

POLL_SECONDS = 5.0
ARCHIVE_LOGS = "ALTER SYSTEM ARCHIVE LOG CURRENT"

Outcome = Literal["proved", "differs", "held", "refused", "not tried", "not compared"]


@dataclass(frozen=True, slots=True)
class Answer:
    """`proved`: the Delta table equals the source. `held` and `refused`: Redolake stopped the table, and lost nothing."""

    question: str
    table: str
    outcome: Outcome
    detail: str


@dataclass(frozen=True, slots=True)
class SelftestReport:
    """What a user can send: it contains no rows, names of the user's own, addresses or passwords."""

    redolake: str
    oracle: str
    is_cdb: bool
    role: str
    character_set: str
    parameters: dict[str, str]
    windows: int
    answers: tuple[Answer, ...]

    @property
    def proved(self) -> bool:
        return all(answer.outcome == "proved" for answer in self.answers)


def run_selftest(
    run: Run,
    scratch: ConnectParams,
    *,
    cases: Sequence[Case] = CASES,
    dba: ConnectParams | None = None,
    wait_minutes: float = 30,
) -> SelftestReport:
    """Try every case and return the answers. The scratch tables and the temporary folder are removed, whatever happens.

    Changes reach Delta once their redo is archived: `dba`, a user of the root with ALTER SYSTEM, archives it at once; otherwise
    the step waits for the database to do so. Raises LogOverdue after `wait_minutes`.
    """
    with tempfile.TemporaryDirectory(prefix="redolake-selftest-") as folder, ScratchSchema(scratch) as schema:
        schema.check_absent(case.table for case in cases)
        try:
            with run.spark:
                return Trial(run, schema, Path(folder)).run(cases, dba, wait_minutes)
        finally:
            run.report("dropping the scratch tables")
            for case in cases:
                schema.drop(case.table)


class Trial:
    """One run of the self-test. The Run is the user's; only the source and Spark of its pipeline are used."""

    def __init__(self, run: Run, schema: ScratchSchema, folder: Path) -> None:
        self.given, self.schema, self.folder = run, schema, folder
        self.report = run.report
        self.answers: dict[str, Answer] = {}

    def run(self, cases: Sequence[Case], dba: ConnectParams | None, wait_minutes: float) -> SelftestReport:
        with self.given.connect() as oracle:
            database = read_database(oracle)
            if database.role != PRIMARY:
                raise SourceRefused(
                    f"the self-test creates tables, and the database is a {database.role}, in which nothing can be written",
                    cure="run it with a connection to the primary",
                )
            sets = read_encoding(oracle, self.given.configured.source.container)
            created = [case for case in cases if self.attempt(case, case.create)]
            for case in created:
                self.schema.let_read(case.table, quote(oracle.user.strip('"')))
            captured = self.accept_cases(created, oracle)
        if not captured:
            raise Terminal("no scratch table can be captured", cure="run `redolake doctor`: " + self.reasons())
        trial = Run(self.trial_pipeline(captured), self.given.source, self.given.spark, self.report)
        self.report(f"snapshot of {len(captured)} tables")
        take_snapshot(trial)
        changed = [case for case in captured if self.attempt(case, case.change)]
        with self.given.connect() as oracle:
            wanted = read_current_scn(oracle)
        if dba is not None:
            with ScratchSchema(dba) as root:
                root.run([ARCHIVE_LOGS])
        windows = self.catch_up(trial, wanted, wait_minutes)
        self.compare(trial, changed)
        return SelftestReport(
            redolake=__version__,
            oracle=database.version,
            is_cdb=database.is_cdb,
            role=database.role,
            character_set=sets.text,
            parameters=dict(database.parameters),
            windows=windows,
            answers=tuple(self.answers[case.table] for case in cases),
        )

    def answer(self, case: Case, outcome: Outcome, detail: str) -> None:
        self.answers[case.table] = Answer(case.question, case.table, outcome, detail)
        self.report(f"{case.table}: {outcome}")

    def reasons(self) -> str:
        return "; ".join(sorted({answer.detail for answer in self.answers.values()}))

    def attempt(self, case: Case, steps: Iterable[Step]) -> bool:
        """Run the steps and commit; record the answer if this database refuses one, as an older release may."""
        try:
            self.schema.run([*(for_table(step, case.table) for step in steps), "COMMIT"])
        except RedolakeError as error:
            self.schema.run(["ROLLBACK"])
            self.answer(case, "not tried", error.what)
            return False
        return True

    def accept_cases(self, cases: Sequence[Case], oracle: Source) -> list[Case]:
        """Return the cases that doctor accepts, and record its reasons for the others."""
        refused = check_source(self.trial_pipeline(cases), oracle, [self.id_of(case) for case in cases])
        for case in cases:
            if findings := refused.get(self.id_of(case)):
                self.answer(case, "refused", "; ".join(finding.what for finding in findings))
        return [case for case in cases if self.id_of(case) not in refused]

    def id_of(self, case: Case) -> TableId:
        return TableId(self.schema.owner, case.table)

    def trial_pipeline(self, cases: Sequence[Case]) -> Pipeline:
        tables = [Table.model_validate({"table": str(self.id_of(case)), **case.settings}) for case in cases]
        own = {
            "name": "selftest",
            "landing": str(self.folder / "landing"),
            "lake": str(self.folder / "lake"),
            "ledger": LedgerSettings(),
            "tables": tables,
        }
        return self.given.configured.model_copy(update=own)

    def catch_up(self, trial: Run, wanted: int, wait_minutes: float) -> int:
        """Replicate until every table is complete to the SCN `wanted` or held, and return the number of windows."""
        deadline = time.monotonic() + wait_minutes * 60
        windows = 0
        while True:
            done = run_pipeline(trial, until_caught_up=True)
            windows += done.windows
            behind = [table for table in done.tables if table.state == "live" and (table.complete_to_scn or 0) < wanted]
            if not behind:
                return windows
            if time.monotonic() > deadline:
                raise LogOverdue(
                    f"the redo of the last change, SCN {wanted}, was not archived within {wait_minutes:g} minutes",
                    cure="archive it (ALTER SYSTEM ARCHIVE LOG CURRENT in the root), or name a user that may: "
                    "--dba-connection ID",
                )
            self.report(f"waiting until the redo up to SCN {wanted} is archived: {done.reason}")
            time.sleep(POLL_SECONDS)

    def compare(self, trial: Run, cases: Sequence[Case]) -> None:
        """Record the answer of every case that was changed."""
        states = {table.table: table for table in read_status(trial).tables}
        live = [case for case in cases if states[str(self.id_of(case))].state == "live"]
        found: dict[str, TableProof] = {}
        why: dict[str, str] = {}
        if live:
            names = [str(self.id_of(case)) for case in live]
            verified = verify_tables(trial, names)
            found = {table.table: table for table in verified.tables}
            why = {table.table: f"{table.error['code']}: {table.error['what']}" for table in verified.not_compared}
        for case in cases:
            name = str(self.id_of(case))
            if name in found:
                self.answer(case, "proved" if found[name].equal else "differs", str(found[name]))
            elif name in why:
                self.answer(case, "not compared", why[name])
            else:
                self.answer(case, "held", f"{states[name].code}: {states[name].error}")


def for_table(step: Step, table: str) -> Step:
    """Return the step with the table's name in place of `{table}` and `{name}`."""
    if isinstance(step, str):
        return step.replace("{table}", quote(table)).replace("{name}", table)
    changed: Rows | Refused = replace(step, sql=step.sql.replace("{table}", quote(table)))
    return changed
