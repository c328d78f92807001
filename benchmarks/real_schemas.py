"""Run published schemas' own scripts on the stand-in, and print which tables doctor would accept.

`python -m benchmarks.real_schemas FOLDER...`: each folder is one schema. Its *.sql files run in the order of their names, each
in a session of a user of the folder's name. Scripts that these name with @ are looked for by their name, in subfolders.
NAME.answers has what is typed at the questions of NAME.sql. The folders are not part of this project.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path

import oracledb

from pipelines.decode.datatypes import why_refused
from pipelines.dictionary_table import DictionaryTable
from pipelines.source import ConnectParams, open_source, read_tables
from pipelines.source.capture_findings import ConfiguredTable, capture_findings, key_findings
from pipelines.table import ALL_COLUMNS, PRIMARY, ColumnChoice, TableId
from standin.serve import StandIn, standin
from standin.sqlplus import run_script

PDB = "FREEPDB1"
CREATES_TABLE = re.compile(r"\s*CREATE\s+(?:GLOBAL\s+TEMPORARY\s+)?TABLE\s", re.IGNORECASE)
DETAIL = re.compile(r"\"[^\"]*\"|'[^']*'|\d{2,}")


@dataclass
class Outcome:
    """One schema: its tables, why some are refused, and the statements that the stand-in refused."""

    wanted: int = 0
    tables: int = 0
    with_key: int = 0
    reasons: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))  # table -> reasons
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)  # (statement's first words, error)

    @property
    def as_is(self) -> int:
        return self.tables - self.with_key - len(self.reasons)


def run_scripts(oracle: StandIn, folder: Path, outcome: Outcome) -> None:
    """Create the schema's user, and run its scripts as SQL*Plus would."""
    user = folder.name.upper()
    with oracle.connect("SYSTEM", dsn=oracle.pdb_dsn) as system, system.cursor() as cursor:
        cursor.execute(f'CREATE USER {user} IDENTIFIED BY "oracle" QUOTA UNLIMITED ON users')
        cursor.execute(f"GRANT DBA TO {user}")
        cursor.execute(f"GRANT EXECUTE ANY TYPE TO {oracle.capture_user}")
    for script in sorted(folder.glob("*.sql")):
        typed = folder / f"{script.stem}.answers"  # one a line
        answers = chain(typed.read_text().split() if typed.exists() else (), (str(number) for number in count()))
        with oracle.connect(user, password="oracle") as connection, connection.cursor() as cursor:

            def execute(sql: str, cursor: oracledb.Cursor = cursor) -> None:
                outcome.wanted += bool(CREATES_TABLE.match(sql))
                try:
                    cursor.execute(sql)
                except oracledb.Error as error:
                    first = " ".join(sql.split()[:3]).upper()
                    what = first if CREATES_TABLE.match(sql) else first.rpartition(" ")[0]
                    outcome.refused[what, str(error).splitlines()[0]] += 1

            run_script(text_of(script), execute, answers, (oracledb.Error,), lambda name: named_script(folder, name))
            connection.commit()


def text_of(script: Path) -> str:
    return script.read_text(encoding="utf-8", errors="replace")


def named_script(folder: Path, name: str) -> str | None:
    """Return the script that another one names; the folder before its name may be a variable of an installer."""
    wanted = Path(name).with_suffix(".sql").name
    found = next((path for path in sorted(folder.glob("*/**/*.sql")) if path.name == wanted), None)
    return None if found is None else text_of(found)


def reasons_of(table: DictionaryTable, choice: ColumnChoice) -> Iterator[str]:
    """Yield why the table is refused, apart from its key."""
    keyless = {finding.what for finding in key_findings(table, PRIMARY)}
    for finding in capture_findings(table, ConfiguredTable(table.table, choice=choice), why_refused):
        if finding.severity == "error" and finding.what not in keyless:
            yield finding.what


def judge(oracle: StandIn, owner: str, outcome: Outcome, choice: ColumnChoice) -> None:
    with oracle.connect("SYSTEM", dsn=oracle.pdb_dsn) as system, system.cursor() as cursor:
        rows = cursor.execute("SELECT table_name FROM dba_tables WHERE owner = :1 ORDER BY table_name", [owner]).fetchall()
    ids = [TableId(owner, name) for (name,) in rows]
    params = ConnectParams(oracle.capture_user, oracle.passwords[oracle.capture_user], oracle.root_dsn)
    with open_source(params) as source:
        found = read_tables(source, ids, PDB)
    outcome.tables = len(found)
    for table in found.values():
        reasons = set(reasons_of(table, choice))
        if reasons:
            outcome.reasons[table.table.name] = reasons
        elif any(finding.severity == "error" for finding in key_findings(table, PRIMARY)):
            outcome.with_key += 1


def show(outcomes: dict[str, Outcome]) -> None:
    out = sys.stdout.write
    out("| Schema | CREATE TABLE | Created | As is | With `key` | Refused | Why |\n|---|---|---|---|---|---|---|\n")
    for name, outcome in outcomes.items():
        why = Counter(DETAIL.sub("..", reason) for reasons in outcome.reasons.values() for reason in reasons)
        said = "; ".join(f"{reason} ({number})" for reason, number in why.most_common())
        figures = (outcome.wanted, outcome.tables, outcome.as_is, outcome.with_key, len(outcome.reasons))
        out(f"| {name} | {' | '.join(map(str, figures))} | {said} |\n")
    out("\n")
    for name, outcome in outcomes.items():
        out(f"{name}: {outcome.refused.total()} statements refused\n")
        for (statement, error), number in outcome.refused.most_common(40):
            out(f"  {number:4} {statement}: {error[:150]}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--reread", action="store_true", help="read large objects and unsupported columns again")
    chosen = parser.parse_args()
    choice = ColumnChoice(large_objects="reread", unsupported="reread") if chosen.reread else ALL_COLUMNS
    outcomes: dict[str, Outcome] = {}
    with standin(log_bytes=64 * 1024 * 1024, background=False) as oracle:
        for folder in chosen.folders:
            outcome = outcomes[folder.name] = Outcome()
            run_scripts(oracle, folder, outcome)
            judge(oracle, folder.name.upper(), outcome, choice)
    show(outcomes)


if __name__ == "__main__":
    main()
