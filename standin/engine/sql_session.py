"""Executes SQL for a client: chooses what a statement is, compiles it once, and runs it once per row of binds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from standin.binds import BoundSql, scan_binds, statement_kind
from standin.composites import oid_of
from standin.engine.ddl.statement import run_ddl
from standin.engine.dml.dml import DmlPlan, Touched
from standin.engine.dml.parallel_dml import in_parallel
from standin.engine.dml.plans import compile_dml
from standin.engine.expressions.frame import Frame, NotCompilable
from standin.engine.expressions.known_types import SPATIAL
from standin.engine.plsql.block import run_block
from standin.engine.plsql.package_types import all_package_types
from standin.engine.queries.query import compile_query, subquery_compiler
from standin.engine.sessions import distributed
from standin.engine.sessions.session import EngineSession
from standin.engine.sessions.table_locks import lock_table
from standin.engine.storage.locks import Stale
from standin.engine.text.tokens import Cursor
from standin.engine.transactions.transaction import BranchId
from standin.engine.types.dates import NO_YEAR
from standin.interface import Called, Done, OraError, Rows
from standin.model import SqlType

_OF_NUMBERS = frozenset({1438})  # larger than the column's precision


def overflow(error: ArithmeticError) -> OraError:
    """Return Oracle's error for a number, or a date, that is too large; Python has one class for both."""
    of_a_date = isinstance(error, OverflowError) and any(word in str(error) for word in ("date", "days", "C int"))
    return OraError(1841, NO_YEAR) if of_a_date else OraError(1426, "numeric overflow")


class SqlSession(EngineSession):
    """Implements interface.Session."""

    def execute(
        self, sql: str, rows: Sequence[Sequence[Any]], *, batch_errors: bool = False, describe_only: bool = False
    ) -> Rows | Done | Called:
        self.cancelled = False
        if self.killed:
            raise OraError(28, "your session has been killed")
        if self.database.statements is not None:
            self.database.statements.setdefault(self.service.upper(), Counter())[sql] += 1
        try:
            return self._run(sql, rows, batch_errors, describe_only)
        except ArithmeticError as error:
            raise overflow(error) from None

    def parse(self, sql: str) -> None:
        kind = statement_kind(sql)
        _check_names(kind, sql)
        if kind == "dml":
            text = _without_into(scan_binds(sql))
            with self.database.lock:
                self.database.plans.of(self, text, lambda: self._compile_dml(text))

    def begin_branch(self, branch: BranchId, flags: int) -> None:
        with self.database.lock:
            distributed.begin(self, branch, flags)

    def end_branch(self, branch: BranchId | None) -> None:
        with self.database.lock:
            distributed.end(self, branch)

    def change_branch(self, operation: int, branch: BranchId | None, *, one_phase: bool) -> int:
        with self.database.lock:
            return int(distributed.change(self, operation, branch, one_phase=one_phase))

    def type_of(self, oid: bytes) -> SqlType:
        with self.database.lock:
            kinds = [found.structure for found in self.database.state.objects.values() if found.con_id == self.container]
            found = next((kind for kind in [*kinds, *SPATIAL.values()] if kind is not None and oid_of(kind) == oid), None)
            declared = (kind for con_id, kind in all_package_types(self.database) if con_id == self.container)
            found = found or next((kind for kind in declared if oid_of(kind) == oid), None)
        if found is None:
            raise OraError(21700, "object does not exist or is marked for delete")
        return found

    def _run(self, sql: str, rows: Sequence[Sequence[Any]], batch_errors: bool, describe_only: bool) -> Rows | Done | Called:
        kind = statement_kind(sql)
        _check_names(kind, sql)
        if kind == "query":
            return self._query(scan_binds(sql), rows[0] if rows else (), describe_only)
        if kind == "dml":
            return Done() if describe_only else self._dml(scan_binds(sql), rows, batch_errors)
        if describe_only:
            return Done()
        if kind == "plsql":
            return self._block(sql, rows)
        with self.database.lock:
            if kind == "ddl":
                self.has_warning = False
                run_ddl(self, sql)
                return Done(has_warning=self.has_warning)
            if kind == "commit":
                self.commit()
            elif kind == "rollback":
                self._rollback_statement(Cursor(sql))
            else:
                self._other(Cursor(sql))
        return Done()

    def _query(self, bound: BoundSql, binds: Sequence[Any], describe_only: bool) -> Rows:
        while True:
            try:
                with self.database.lock:
                    self.database.redo.stop_sharing_scn()
                    plan = self.database.plans.of(
                        self, bound.text, lambda: compile_query(self, bound.text), lambda found: found.stands(self)
                    )
                    if describe_only:
                        return Rows(plan.columns, iter(()))
                    frame = Frame(self, binds)
                    return Rows(plan.columns_for(frame), self._with_oracle_errors(plan.open(self, frame)))
            except Stale:
                continue

    def _with_oracle_errors(self, batches: Iterator[Any]) -> Iterator[Any]:
        try:
            yield from batches
        except ArithmeticError as error:
            raise overflow(error) from None

    def _compile_dml(self, text: str) -> DmlPlan:
        return compile_dml(self, text, subquery_compiler(self, correlated=True))

    def _dml(self, bound: BoundSql, rows: Sequence[Sequence[Any]], batch_errors: bool) -> Done:
        done = Done()
        text, database = _without_into(bound), self.database
        for number, values in enumerate(rows or ((),)):
            try:
                with database.lock:
                    database.await_redo(self)
                    plan = database.plans.of(self, text, lambda: self._compile_dml(text))
                    touched = self._run_dml(plan, text, values)
            except OraError as error:
                if not rows or (len(rows) == 1 and not batch_errors):
                    raise
                error.position, error.counts = number, done.counts
                if not batch_errors:
                    raise
                done.failures.append((number, error))
                done.counts.append(0)
                if bound.returning_from is not None:
                    done.returning.append([[] for _ in bound.names[bound.returning_from :]])
                continue
            done.counts.append(touched.count)
            done.rowid = touched.rowid or done.rowid
            if bound.returning_from is not None:
                done.returning.append(touched.returning)
        # Seen by the driver's tests of Oracle: a NUMBER that is too large comes before a duplicate key of an earlier row.
        done.failures.sort(key=lambda failure: failure[1].code not in _OF_NUMBERS)
        return done

    def _run_dml(self, plan: DmlPlan, text: str, binds: Sequence[Any]) -> Touched:
        """Run one statement; when it fails, take its changes back. Their redo stays, as Oracle's does."""
        self.check_cancelled()
        mark = len(self.transaction.undo) if self.transaction is not None else 0
        while True:
            try:
                with in_parallel(self, plan, text):
                    return plan.run(self, Frame(self, binds))
            except Stale:
                plan = self.database.plans.of(self, text, lambda: self._compile_dml(text))
            except (OraError, NotCompilable, ArithmeticError) as error:
                if self.transaction is not None:
                    self.database.rollback.to_mark(self.transaction, mark)
                if isinstance(error, NotCompilable):
                    raise OraError(3001, f"unimplemented feature: {error}") from None
                raise

    def _block(self, sql: str, rows: Sequence[Sequence[Any]]) -> Called:
        names = scan_binds(sql).distinct
        called = Called()
        for values in rows or ((),):
            called = run_block(self, sql, names, values)
        return called

    def _rollback_statement(self, cursor: Cursor) -> None:
        cursor.expect("ROLLBACK")
        cursor.accept("WORK")
        if cursor.accept("TO"):
            cursor.accept("SAVEPOINT")
            self.database.rollback.to_savepoint(self, cursor.name())
            self.database.changed.notify_all()
        else:
            self.rollback()

    def _other(self, cursor: Cursor) -> None:
        if cursor.accept("SAVEPOINT"):
            self.database.rollback.set_savepoint(self, cursor.name())
        elif cursor.accept("LOCK"):
            lock_table(self, cursor)
        elif not (cursor.accept("SET", "TRANSACTION") or cursor.accept("SET", "ROLE")):
            if cursor.is_next("EXPLAIN"):
                raise OraError(3001, f"unimplemented feature: {cursor.next.value}")
            raise OraError(900, "invalid SQL statement")


def _check_names(kind: str, sql: str) -> None:
    if kind in ("query", "dml") and scan_binds(sql).has_reserved_name:
        raise OraError(1745, "invalid host/bind variable name")


def _without_into(bound: BoundSql) -> str:
    """Return the text without INTO of RETURNING .. INTO: its binds are outputs, which sqlglot cannot parse as a list."""
    if bound.returning_from is None:
        return bound.text
    before = bound.text[: bound.text.index(f":b{bound.returning_from}")].rstrip()
    return before[: -len("INTO")]
