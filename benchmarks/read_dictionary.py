"""Measure what reading the dictionary costs: `python benchmarks/read_dictionary.py [--tables 200] [--in-schema 1000]`.

The stand-in has `--in-schema` tables, of which `--tables` are captured. The number of statements is that of any database; the
seconds are the stand-in's, whose dictionary views have no index.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from unittest import mock

from pipelines.source import ConnectParams, open_source, read_tables
from pipelines.source.probe import probe
from pipelines.source.session import OracleSession
from pipelines.table import TableId
from standin.serve import StandIn, standin

PDB = "FREEPDB1"


def with_tables(oracle: StandIn, number: int) -> list[TableId]:
    with oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        for n in range(number):
            columns = ", ".join(f"c{c} VARCHAR2(20)" for c in range(8))
            cursor.execute(f"CREATE TABLE t{n:05d} (id NUMBER(9) CONSTRAINT t{n:05d}_pk PRIMARY KEY, {columns})")
    return [TableId("SHOP", f"T{n:05d}") for n in range(number)]


def measured(what: str, run: Callable[[], object]) -> None:
    """Run once, and print the seconds and the number of statements sent."""
    sent: Counter[str] = Counter()
    query = OracleSession.query_text

    def counted(session: OracleSession, sql: str, *rest: object) -> object:
        sent[sql] += 1
        return query(session, sql, *rest)  # type: ignore[arg-type]

    with mock.patch.object(OracleSession, "query_text", counted):
        started = time.perf_counter()
        run()
        seconds = time.perf_counter() - started
    sys.stdout.write(f"{what:<32} {seconds:8.2f} s {sent.total():6} statements, {len(sent):4} different\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--in-schema", type=int, default=1000)
    chosen = parser.parse_args()
    with standin(log_bytes=64 * 1024 * 1024, background=False) as oracle:
        ids = with_tables(oracle, max(chosen.tables, chosen.in_schema))[: chosen.tables]
        params = ConnectParams(oracle.capture_user, oracle.passwords[oracle.capture_user], oracle.root_dsn)
        with open_source(params) as source:
            read_tables(source, ids[:1], PDB)  # connects to both containers
            sys.stdout.write(f"{len(ids)} of {chosen.in_schema} tables\n")
            measured("dictionary of one plan", lambda: read_tables(source, ids, PDB))
            measured("facts that doctor reads", lambda: probe(source, PDB, ids))


if __name__ == "__main__":
    main()
