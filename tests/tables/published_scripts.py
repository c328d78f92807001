"""Folders of published scripts, run on the stand-in as SQL*Plus runs them.

A folder is one schema. Its *.sql run in the order of their names, each in a new session of the user APP, who has the role DBA.
What they call with @ or @@ lies in its subfolders. NAME.answers has what is typed at the questions of NAME.sql, one answer
a line; beyond these, and without that file, numbers are typed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import Any

import oracledb

from standin.serve import StandIn
from standin.sqlplus import run_script

CREATES_TABLE = re.compile(r"\s*CREATE\s+(?:GLOBAL\s+TEMPORARY\s+)?TABLE\s", re.IGNORECASE)
USER, PASSWORD = "APP", "oracle"
TABLES = "SELECT owner, COUNT(*) FROM dba_tables GROUP BY owner"


@dataclass(slots=True)
class Installed:
    """A schema after its scripts. `owners` are the users who own a new table; `refused` counts statements and their errors."""

    owners: list[str] = field(default_factory=list)
    creates: int = 0
    not_created: int = 0
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)


def schemas_below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*") if any(path.glob("*.sql")))


def install(oracle: StandIn, folder: Path) -> Installed:
    """Create the user APP, and run the folder's scripts."""
    done = Installed()
    with oracle.connect("SYSTEM", dsn=oracle.pdb_dsn) as system, system.cursor() as cursor:
        before = dict(cursor.execute(TABLES).fetchall())
        cursor.execute(f'CREATE USER {USER} IDENTIFIED BY "{PASSWORD}" QUOTA UNLIMITED ON users')
        cursor.execute(f"GRANT DBA TO {USER}")
        for script in sorted(folder.glob("*.sql")):
            _run(oracle, script, done)
        after = dict(cursor.execute(TABLES).fetchall())
        done.owners = sorted(owner for owner, tables in after.items() if tables > before.get(owner, 0))
        cursor.execute(f"GRANT EXECUTE ANY TYPE TO {oracle.capture_user}")
    return done


def _run(oracle: StandIn, script: Path, done: Installed) -> None:
    typed = script.with_suffix(".answers")
    answers = chain(typed.read_text().splitlines() if typed.exists() else (), map(str, count()))
    with ExitStack() as sessions:

        def connect(name: str, password: str) -> Callable[[str], object]:
            system = name.upper() in ("SYS", "SYSTEM")
            mode = oracledb.AUTH_MODE_SYSDBA if name.upper() == "SYS" else oracledb.AUTH_MODE_DEFAULT
            secret = oracle.passwords[name.upper()] if system else password
            connection = sessions.enter_context(_committed(oracle, name, password=secret, mode=mode))
            cursor = sessions.enter_context(connection.cursor())

            def execute(sql: str) -> object:
                creates = bool(CREATES_TABLE.match(sql))
                done.creates += creates
                try:
                    return cursor.execute(sql)
                except oracledb.Error as error:
                    done.not_created += creates
                    done.refused[_shown(sql), str(error).splitlines()[0]] += 1
                    raise

            return execute

        run_script(text_of(script), connect(USER, PASSWORD), answers, (oracledb.Error,), _reader(script.parent), connect)


@contextmanager
def _committed(oracle: StandIn, user: str, **arguments: Any) -> Iterator[oracledb.Connection]:
    with oracle.connect(user, dsn=oracle.pdb_dsn, **arguments) as connection:
        yield connection
        connection.commit()


def _shown(sql: str) -> str:
    first = " ".join(sql.split()[:3]).upper()
    return first if CREATES_TABLE.match(sql) else first.rpartition(" ")[0]


def _reader(folder: Path) -> Callable[[str], str | None]:
    def read(path: str) -> str | None:
        found = folder / path
        return text_of(found) if found.is_file() else None

    return read


def text_of(script: Path) -> str:
    return script.read_text(encoding="utf-8-sig", errors="replace")
