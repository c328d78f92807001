"""A schema of the user's own in which the self-test creates tables, changes them, and drops them at the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from redolake.errors import RedolakeError, Terminal
from redolake.source.connection import ConnectParams
from redolake.source.quoting import quote
from redolake.source.session import OracleSession
from redolake.values.ora_codes import NO_SUCH_TABLE


@dataclass(frozen=True, slots=True)
class Rows:
    """One array execution: `sql` with positional binds, and a tuple of values per row."""

    sql: str
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Refused:
    """A statement that Oracle must refuse with this ORA- number; it undoes only its own changes."""

    sql: str
    ora_code: int


Step = str | Rows | Refused


class ScratchSchema:
    """One session of the schema's owner. It commits only where a step is COMMIT, or DDL."""

    def __init__(self, params: ConnectParams) -> None:
        self._session = OracleSession(params)
        self.owner = self._session.user.strip('"')

    def __enter__(self) -> ScratchSchema:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()

    def check_absent(self, tables: Iterable[str]) -> None:
        """Raise Terminal if the schema already has one of the tables: it might be somebody's."""
        names = {row.table_name for row in self._session.query("own_tables")}
        if taken := sorted(names & set(tables)):
            raise Terminal(
                f"the scratch schema already has {', '.join(taken)}",
                cure="drop them if an earlier self-test left them, or use an empty schema",
                schema=self.owner,
            )

    def run(self, steps: Iterable[Step]) -> None:
        for step in steps:
            if isinstance(step, Refused):
                self._expect_refusal(step)
            elif isinstance(step, Rows):
                self._session.execute_many(step.sql, step.rows, "self-test")
            else:
                self._session.execute(step, "self-test")

    def _expect_refusal(self, step: Refused) -> None:
        try:
            self._session.execute(step.sql, "self-test")
        except RedolakeError as error:
            if error.ora_code == step.ora_code:
                return
            raise
        raise Terminal(f"Oracle accepted a statement that must fail with ORA-{step.ora_code:05}: {step.sql}")

    def let_read(self, table: str, reader: str) -> None:
        """Grant what a captured table needs to the user that Redolake connects as."""
        self.run([f"GRANT SELECT, FLASHBACK ON {quote(table)} TO {reader}"])

    def drop(self, table: str) -> None:
        """Drop a table; one that does not exist counts as dropped."""
        try:
            self.run([f"DROP TABLE {quote(table)} PURGE"])
        except RedolakeError as error:
            if error.ora_code != NO_SUCH_TABLE:
                raise
