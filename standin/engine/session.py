"""One client session: what a statement is, its cached plan, its transaction, and the settings it runs under."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from standin.binds import BoundSql, scan_binds, statement_kind
from standin.engine import environment
from standin.engine.block import run_block
from standin.engine.catalog import ViewRows, ViewSource, find_view
from standin.engine.ddl import run_ddl
from standin.engine.dml import DmlPlan, Stale, Touched, compile_dml
from standin.engine.expressions import Compiler
from standin.engine.frame import EMPTY_SCOPE, Frame, NotCompilable
from standin.engine.parallel import ParallelSetting, in_parallel
from standin.engine.parse import identifier, parse_as_written
from standin.engine.privileges import may, sees_view
from standin.engine.query import QueryPlan, compile_query, subquery_compiler
from standin.engine.storage import TableStore
from standin.engine.tokens import Cursor
from standin.engine.transactions import Transaction
from standin.interface import Called, Done, OraError, Rows
from standin.model import User

if TYPE_CHECKING:
    from standin.engine.instance import Database


class EngineSession:
    """Implements interface.Session; `state` belongs to packages such as DBMS_LOGMNR."""

    def __init__(self, database: Database, number: int, user: str, container: int, thread: int) -> None:
        self.database: Database = database
        self.number: int = number
        self.serial: int = 1000 + number
        self.user: str = user
        self.container: int = container
        self.thread: int = thread
        self.schema: str = user
        self.program: str = ""
        self.machine: str = ""
        self.service: str = ""
        self.module: str = ""
        self.action: str = ""
        self.client_id: str = ""
        self.logon_at = database.clock.second()
        self.state: dict[str, object] = {}
        self.nls: dict[str, str] = dict(environment.NLS_DEFAULTS)
        self.settings: dict[str, str] = {}
        self.transaction: Transaction | None = None
        self.savepoint_before_start: set[str] = set()
        self.waiting_for: Transaction | None = None
        self.cancelled = self.killed = False
        self.parallel = ParallelSetting()
        self._sequence_values: dict[tuple[int, str, str], int] = {}

    @property
    def in_transaction(self) -> bool:
        return self.transaction is not None

    @property
    def threads(self) -> set[int]:
        """The redo threads it may write to: its own, and those of the servers its transaction has."""
        servers = self.transaction.servers.values() if self.transaction is not None else ()
        return {self.thread, *(server.thread for server in servers)}

    @property
    def account(self) -> User:
        return self.database.state.users[self.user]

    def execute(
        self, sql: str, rows: Sequence[Sequence[Any]], *, batch_errors: bool = False, describe_only: bool = False
    ) -> Rows | Done | Called:
        self.cancelled = False
        if self.killed:
            raise OraError(28, "your session has been killed")
        try:
            return self._run(sql, rows, batch_errors, describe_only)
        except ArithmeticError:
            raise OraError(1426, "numeric overflow") from None

    def _run(self, sql: str, rows: Sequence[Sequence[Any]], batch_errors: bool, describe_only: bool) -> Rows | Done | Called:
        kind = statement_kind(sql)
        if kind == "query":
            return self._query(self.database.bound(sql), rows[0] if rows else (), describe_only)
        if kind == "dml":
            return Done() if describe_only else self._dml(self.database.bound(sql), rows, batch_errors)
        if describe_only:
            return Done()
        if kind == "plsql":
            return self._block(sql, rows)
        with self.database.lock:
            if kind == "ddl":
                run_ddl(self, sql)
            elif kind == "commit":
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
                    self.database.redo.seen()
                    plan = self.database.plan(self, bound.text, lambda: compile_query(self, bound.text))
                    batches = iter(()) if describe_only else plan.open(self, self.frame(binds))
                    return Rows(plan.columns, self._mapped(batches))
            except Stale:
                continue

    def _mapped(self, batches: Iterator[Any]) -> Iterator[Any]:
        try:
            yield from batches
        except ArithmeticError:
            raise OraError(1426, "numeric overflow") from None

    def _compile_dml(self, text: str) -> DmlPlan:
        return compile_dml(self, parse_as_written(text), subquery_compiler(self))

    def _dml(self, bound: BoundSql, rows: Sequence[Sequence[Any]], batch_errors: bool) -> Done:
        done = Done()
        text, database = _without_into(bound), self.database
        for number, values in enumerate(rows or ((),)):
            try:
                with database.lock:
                    database.await_redo(self)
                    plan = database.plan(self, text, lambda: self._compile_dml(text))
                    touched = self._run_dml(plan, text, values)
            except OraError as error:
                if not rows or (len(rows) == 1 and not batch_errors):
                    raise
                error.position = number
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
        return done

    def _run_dml(self, plan: DmlPlan, text: str, binds: Sequence[Any]) -> Touched:
        """One statement: all of it, or nothing but its redo."""
        self.check_cancelled()
        mark = len(self.transaction.undo) if self.transaction is not None else 0
        while True:
            try:
                with in_parallel(self, plan, text):
                    return plan.run(self, self.frame(binds))
            except Stale:
                plan = self.database.plan(self, text, lambda: self._compile_dml(text))
            except (OraError, NotCompilable, ArithmeticError) as error:
                if self.transaction is not None:
                    self.database.transactions.rollback_to(self.transaction, mark)
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
            self.database.transactions.rollback_to_savepoint(self, cursor.name())
        else:
            self.rollback()

    def _other(self, cursor: Cursor) -> None:
        if cursor.accept("SAVEPOINT"):
            self.database.transactions.savepoint(self, cursor.name())
        elif not (cursor.accept("SET", "TRANSACTION") or cursor.accept("SET", "ROLE")):
            if cursor.is_next("LOCK") or cursor.is_next("EXPLAIN"):
                raise OraError(3001, f"unimplemented feature: {cursor.next.value}")
            raise OraError(900, "invalid SQL statement")

    def frame(self, binds: Sequence[Any]) -> Frame:
        return Frame(self, binds)

    def evaluate(self, text: str, value_of: Callable[[str], Any]) -> Any:
        """An expression of a PL/SQL block that is plain SQL."""
        bound = scan_binds(f"select {text} from dual")
        tree = parse_as_written(bound.text)
        try:
            compiled = Compiler(EMPTY_SCOPE).compile(tree.expressions[0])
        except NotCompilable as error:
            raise OraError(3001, f"unimplemented feature: {error} in PL/SQL") from None
        return compiled.run((), self.frame([value_of(name) for name in bound.names]))

    def commit(self) -> None:
        with self.database.lock:
            self.savepoint_before_start.clear()
            if self.transaction is not None:
                self.database.await_redo(self)
                self.database.transactions.commit(self.transaction)

    def rollback(self) -> None:
        with self.database.lock:
            self.savepoint_before_start.clear()
            if self.transaction is not None:
                self.database.transactions.rollback(self.transaction)

    def set_info(self, *, module: str | None = None, action: str | None = None, client_id: str | None = None) -> None:
        self.module = self.module if module is None else module
        self.action = self.action if action is None else action
        self.client_id = self.client_id if client_id is None else client_id

    def set_current_schema(self, schema: str) -> None:
        if schema not in self.database.state.users:
            raise OraError(1435, "user does not exist")
        self.schema = schema

    def set_nls(self, name: str, value: str) -> None:
        if name not in environment.NLS_DEFAULTS:
            raise OraError(922, "missing or invalid option")
        self.nls[name] = environment.checked_nls(name, value)

    def context(self, space: str, key: str) -> str | None:
        return environment.context(self, space, key)

    def cancel(self) -> None:
        self.cancelled = True
        with self.database.lock:
            self.database.changed.notify_all()

    def check_cancelled(self) -> None:
        if self.killed:
            raise OraError(28, "your session has been killed")
        if self.cancelled:
            self.cancelled = False
            raise OraError(1013, "user requested cancel of current operation")

    def close(self) -> None:
        self.rollback()
        with self.database.lock:
            self.database.sessions.pop(self.number, None)
            self.state.clear()

    def find_relation(self, owner: str | None, name: str) -> TableStore | ViewSource | None:
        """A table of the schema in this container, or a view; whatever the user may do with it."""
        store = self.database.stores.get((self.container, owner or self.schema, name))
        return store if store is not None else find_view(owner, name)

    def resolve(self, owner: str | None, name: str) -> TableStore | ViewSource | None:
        """None is DUAL. What the user may not see is not there (ORA-00942)."""
        found = self.find_relation(owner, name)
        if isinstance(found, TableStore):
            table = found.definition
            if may(self.account, "SELECT", table) or any(g == f"{table.owner}.{table.name}" for _, g in self.account.grants):
                return found
        elif found is not None and sees_view(self.account, found):
            return found
        elif found is None and name == "DUAL" and owner in (None, "SYS"):
            return None
        raise OraError(942, "table or view does not exist")

    def table(self, node: exp.Expression) -> TableStore:
        """The table that DML names."""
        return self.table_named(identifier(node.args.get("db")) or self.schema, identifier(node.this))

    def table_named(self, owner: str, name: str) -> TableStore:
        store = self.database.stores.get((self.container, owner, name))
        if store is None:
            if find_view(None if owner == self.schema else owner, name) is not None:
                raise OraError(1031, "insufficient privileges")
            raise OraError(942, "table or view does not exist")
        return store

    def view_rows(self, view: ViewSource, referenced: frozenset[str]) -> ViewRows:
        return view.rows(self, referenced)

    def sequence_value(self, owner: str | None, name: str, step: bool) -> int:
        key = (self.container, owner or self.schema, name)
        sequence = self.database.sequences.get(key)
        if sequence is None:
            raise OraError(2289, "sequence does not exist")
        if step:
            sequence[0] += sequence[1]
            self._sequence_values[key] = sequence[0]
        elif key not in self._sequence_values:
            raise OraError(8002, f"sequence {name}.CURRVAL is not yet defined in this session")
        return self._sequence_values[key]


def _without_into(bound: BoundSql) -> str:
    """The text before INTO of RETURNING .. INTO: its binds are outputs, and sqlglot knows no list of them."""
    if bound.returning_from is None:
        return bound.text
    before = bound.text[: bound.text.index(f":b{bound.returning_from}")].rstrip()
    return before[: -len("INTO")]


__all__ = ["EngineSession", "QueryPlan"]
