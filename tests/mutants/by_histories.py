"""Try mutants that build Spark's expressions: Spark assembles generated histories with each, in one session, and the result is
compared with the reference's.

The histories are played once, and tried as played, with undo rows rearranged, and damaged.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given, seed, settings

from tests.mutants.mutated import Mutant, Mutated, choose, put_in_place

if TYPE_CHECKING:
    from tests.references.gathered_histories import Played

HISTORIES = 40


def try_on_histories(modules: Sequence[Mutated], report: Callable[[Mutant, bool], None], only: str = "") -> None:
    """Try all mutants, or those whose name contains `only`. The product must not be imported yet."""
    put_in_place(modules)
    from pipelines.apply.spark.session import open_session
    from tests.fixtures.spark import QUIET
    from tests.references.gathered_histories import damaged, gather, rearranged

    whole = played(HISTORIES)
    histories = [*whole, *(form(one, n) for form in (rearranged, damaged) for n, one in enumerate(whole))]
    spark = open_session("local", "local[2]", QUIET)
    with tempfile.TemporaryDirectory() as folder:
        gathered = gather(Path(folder), histories)
        assert not gathered.differing(spark), "the histories are red without any mutant"
        for mutant in (mutant for module in modules for mutant in module.mutants if only in str(mutant)):
            if changes_case(mutant):
                continue
            choose(mutant)
            try:
                is_red = bool(gathered.differing(spark))
            except Exception:  # a mutant may fail anywhere: in Python, in Spark's analysis, in its job
                is_red = True
            report(mutant, is_red)
    spark.stop()


def changes_case(mutant: Mutant) -> bool:
    """Return whether only the case of names is changed, which Spark ignores."""
    old, _, new = mutant.change.casefold().partition(" -> ")
    return old == new


def played(number: int) -> list[Played]:
    from tests.generated.histories import History, histories, hunt
    from tests.references.gathered_histories import Played
    from tests.references.reference_copy import ReferenceCopy, play_into_reference

    settings.register_profile("mutants", deadline=None)
    settings.load_profile("mutants")
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
