"""A database that the environment names, in place of the stand-in, for `python -m demo --oracle` and `pytest -m oracle`.

    REDOLAKE_ORACLE_DSN         the root's service, e.g. localhost:1521/FREE
    REDOLAKE_ORACLE_PDB_DSN     the service of the PDB, e.g. localhost:1521/FREEPDB1
    REDOLAKE_ORACLE_CONTAINER   the name of the PDB; default FREEPDB1
    REDOLAKE_ORACLE_PASSWORD    of SYSTEM, who creates and drops schemas and archives logs
    REDOLAKE_ORACLE_USER, REDOLAKE_ORACLE_USER_PASSWORD    Redolake's own user; default C##REDOLAKE with SYSTEM's password

The user must exist, with the grants that `redolake setup-sql` prints.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import oracledb

from redolake.errors import Terminal

PREFIX = "REDOLAKE_ORACLE_"
NEEDED = ("DSN", "PDB_DSN", "PASSWORD")
USER_EXISTS = 1920


@dataclass(frozen=True, slots=True)
class OwnDatabase:
    root_dsn: str
    pdb_dsn: str
    container: str
    user: str
    user_password: str = field(repr=False)
    dba_password: str = field(repr=False)

    def as_dba(self, statements: Sequence[str], dsn: str | None = None) -> list[Any]:
        """Run statements as SYSTEM, in the root or at another service, and return the last one's rows if it is a query.

        Raises Terminal with Oracle's code.
        """
        where = dsn or self.root_dsn
        try:
            with oracledb.connect(user="SYSTEM", password=self.dba_password, dsn=where) as connection:
                cursor = connection.cursor()
                for statement in statements:
                    cursor.execute(statement)
                return list(cursor) if cursor.description else []
        except oracledb.Error as error:
            cure = f"correct {PREFIX}DSN, {PREFIX}PDB_DSN or {PREFIX}PASSWORD, if it is for them"
            raise Terminal(f"{where}: {error}", cure=cure, ora_code=error.args[0].code) from error

    def archive_logs(self) -> None:
        self.as_dba(["ALTER SYSTEM ARCHIVE LOG CURRENT"])

    def current_scn(self) -> int:
        ((scn,),) = self.as_dba(["SELECT current_scn FROM v$database"])
        return int(scn)

    @contextmanager
    def schema(self, name: str, password: str) -> Iterator[None]:
        """Create an empty schema in the PDB, and drop it at the end. Raises Terminal if there is one of this name already."""
        grants = f"GRANT CREATE SESSION, CREATE TABLE, UNLIMITED TABLESPACE TO {name}"
        try:
            self.as_dba([f'CREATE USER {name} IDENTIFIED BY "{password}"', grants], self.pdb_dsn)
        except Terminal as error:
            if error.ora_code != USER_EXISTS:
                raise
            raise Terminal(
                f"{self.container} has a schema {name} already, which is not touched",
                cure=f"name another database; or, if an earlier demo left it there: DROP USER {name} CASCADE",
            ) from error
        try:
            yield
        finally:
            self.as_dba([f"DROP USER {name} CASCADE"], self.pdb_dsn)


def own_database(environ: Mapping[str, str]) -> OwnDatabase:
    """Return the database that the environment names. Raises Terminal if a variable is missing."""
    settings = {name.removeprefix(PREFIX): value for name, value in environ.items() if name.startswith(PREFIX) and value}
    if missing := [PREFIX + name for name in NEEDED if name not in settings]:
        raise Terminal(f"no database is named: {', '.join(missing)} missing", cure="see docs/how-to/try-a-real-oracle.md")
    return OwnDatabase(
        root_dsn=settings["DSN"],
        pdb_dsn=settings["PDB_DSN"],
        container=settings.get("CONTAINER", "FREEPDB1"),
        user=settings.get("USER", "C##REDOLAKE"),
        user_password=settings.get("USER_PASSWORD", settings["PASSWORD"]),
        dba_password=settings["PASSWORD"],
    )
