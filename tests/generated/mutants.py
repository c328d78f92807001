"""Test the generated histories: break the matching of undo rows on purpose, and count the histories until a difference shows.

Run by hand or by `make soak`: `python -m tests.generated.mutants 40`. Exit code 1 when a mutant survives.
The histories are played once. Spark then tries every mutant on all of them: as played, with undo rows rearranged, and damaged.

`python -m tests.generated.mutants 6 "oldest first" "undo rows stay"` breaks the pipeline itself in these ways, from the
redo to Delta. It prints what found the mutant: a Delta table that differs from Oracle, or the error that held a table.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import given, seed

from pipelines.apply.spark.session import open_session
from pipelines.assemble import undo
from pipelines.errors import RedolakeError
from tests.fixtures.spark import QUIET
from tests.generated.histories import History, histories, hunt, run_check
from tests.references.delta_copy import play_into_delta, several_abreast
from tests.references.gathered_histories import Played, damaged, differing, rearranged
from tests.references.reference_copy import ReferenceCopy, play_into_reference

# Each turns a text of pipelines/assemble/undo.py into another.
MUTANTS: dict[str, tuple[str, str]] = {
    "oldest first": (
        "level = F.when(~inverted, F.when(rollback, running + 1).otherwise(running))",
        'level = F.when(~inverted, F.sum(F.abs(step)).over(Window.partitionBy(*ROW, "rollback").orderBy(*ROW_KEY)))',
    ),
    "ROW_ID ignored": ('"object_id", "row_id")', '"object_id")'),
    "inverse operation ignored": ('partner["operation_code"] != _inverse(F.col("operation_code"))', "F.lit(False)"),
    "undo first not handled": ("return pair & first", "return F.lit(False) & pair & first"),
    "running count off by one, at undo rows": ("running + 1", "running"),
    "running count off by one, in its frame": ("Window.unboundedPreceding, Window.currentRow", "Window.unboundedPreceding, -1"),
    "running count of each window by itself": ("Window.partitionBy(*ROW).order", 'Window.partitionBy(*ROW, "slice").order'),
    "undo rows stay": ("inverted | rollback | followed", "inverted | followed"),
    "undone changes stay": ("inverted | rollback | followed", "inverted | rollback"),
    "an undo row without a change let pass": ("F.when(nothing,", "F.when(F.lit(False),"),
}


def played(number: int) -> list[Played]:
    kept: list[Played] = []

    @hunt(number)
    @seed(1)
    @given(history=histories(ReferenceCopy.KILLED))
    def one(history: History) -> None:
        with play_into_reference(history) as copy:
            pass
        kept.append(Played(copy.raw, copy.begun))

    one()
    return kept


@contextmanager
def mutated(old: str, new: str) -> Iterator[None]:
    source = Path(undo.__file__ or "").read_text()
    assert old in source, f"undo.py has changed, no such text: {old}"
    there: dict[str, Any] = {"__name__": "mutant"}
    exec(compile(source.replace(old, new), "mutant", "exec"), there)
    with mock.patch("pipelines.assemble.transactions.match_undo", there["match_undo"]):
        yield


def compared(number: int) -> int:
    """Try all mutants on the dispositions of rows; return how many survived."""
    whole = played(number)
    number = len(whole)
    forms = {"as played": whole}
    forms |= {form.__name__: [form(one, n) for n, one in enumerate(whole)] for form in (rearranged, damaged)}
    survivors = []
    spark = open_session("local", "local[2]", QUIET)
    for name, texts in {"as it is": ("", ""), **MUTANTS}.items():
        with mutated(*texts), tempfile.TemporaryDirectory() as folder:
            red = differing(spark, Path(folder) / "landed", [one for form in forms.values() for one in form])
        if bool(red) != (name in MUTANTS):
            survivors.append(name)
        found = (f"{form} {shown([n % number for n in red if n // number == at])}" for at, form in enumerate(forms))
        print(f"{name:40} {' '.join(found)}", flush=True)  # noqa: T201
    spark.stop()
    return len(survivors)


def into_delta(number: int, names: list[str]) -> int:
    """Try these mutants in the whole pipeline; return how many survived."""
    survivors = 0
    spark = open_session("local", "local[2]", QUIET)
    for name in names:
        found = None
        with mutated(*MUTANTS[name]):
            for count, history in enumerate(several_abreast(number, at=1)):
                found = found_in_delta(history, spark)
                if found is not None:
                    print(f"{name:40} by run {count + 1} of {history.abreast} histories: {found}", flush=True)  # noqa: T201
                    break
        survivors += found is None
        if found is None:
            print(f"{name:40} by nothing", flush=True)  # noqa: T201
    spark.stop()
    return survivors


def found_in_delta(history: History, spark: Any) -> str | None:
    def check(history: History) -> None:
        with play_into_delta(history, spark):
            pass

    try:
        run_check(history, check)
    except RedolakeError as held:
        return str(held)
    except AssertionError as differs:
        return str(differs)
    return None


def shown(red: list[int]) -> str:
    return f"after {red[0] + 1:2} ({len(red)})" if red else "never".ljust(13)


if __name__ == "__main__":
    chosen = sys.argv[2:]
    sys.exit(into_delta(int(sys.argv[1]), chosen) if chosen else compared(int(sys.argv[1])))
