"""Run published schemas' own scripts on the stand-in, and print what `redolake init` proposes for all their tables.

`python -m benchmarks.real_schemas FOLDER...`: each folder is one schema, laid out as tests/tables/published_scripts.py says.
None of the folders is part of this project.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from pathlib import Path

from redolake import steps
from redolake.source import ConnectParams, open_source
from redolake.steps.setup.init import FirstPipeline, FoundTables
from standin.serve import StandIn, standin
from tests.tables.published_scripts import Installed, install

HEAD = ("Schema", "Tables", "Not created", "As is", "By a rule", "Refused", "Passed over", "Why")
PDB = "FREEPDB1"
DETAIL = re.compile(r"\"[^\"]*\"|'[^']*'|\d{2,}|: .*")


def proposed(oracle: StandIn, owners: list[str]) -> tuple[FoundTables, FirstPipeline]:
    params = ConnectParams(oracle.capture_user, oracle.passwords[oracle.capture_user], oracle.root_dsn)
    with open_source(params) as source:
        found = steps.find_tables(source, PDB, [f"{owner}.*" for owner in owners])
        made = steps.propose_pipeline(
            source,
            name="schema",
            connection="oracle",
            container=PDB,
            found=found,
            large_objects="reread",
            landing="/data/landing",
            lake="/data/lake",
        )
    return found, made


def row_of(name: str, done: Installed, found: FoundTables, made: FirstPipeline) -> str:
    """Return a schema's row of the table. A table that a pattern passes over is no refused one."""
    plain = sum(table.is_plain for table in made.captured)
    why = Counter(DETAIL.sub("", reason) for table in made.tables for reason in (table.refused or table.why[:1]))
    passed = Counter(found.left_out.values())
    said = "; ".join(f"{reason} ({number})" for reason, number in [*why.most_common(), *passed.most_common()])
    created = len(made.tables) + len(found.left_out)
    figures = (created, done.not_created, plain, len(made.captured) - plain, len(made.refused), len(found.left_out))
    return f"| {name} | {' | '.join(map(str, figures))} | {said} |\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    out = sys.stdout.write
    out(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}\n")
    errors: dict[str, Installed] = {}
    for folder in parser.parse_args().folders:
        with standin(log_bytes=64 * 1024 * 1024, background=False) as oracle:
            errors[folder.name] = done = install(oracle, folder)
            out(row_of(folder.name, done, *proposed(oracle, done.owners)))
    out("\n")
    for name, done in errors.items():
        out(f"{name}: {done.refused.total()} statements refused\n")
        for (statement, error), number in done.refused.most_common(40):
            out(f"  {number:4} {statement}: {error[:150]}\n")


if __name__ == "__main__":
    main()
