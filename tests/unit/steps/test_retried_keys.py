"""Which repairs a retry of keys in quarantine takes, where some of the keys are still refused."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from redolake.errors import ValueDoesNotFit
from redolake.steps.proof.quarantine import KEYS_AT_ONCE, MOST_REFUSED, repair_keys


@dataclass
class Repairs:
    """Repairs that are refused where a key is among the `refused` ones."""

    refused: Collection[str] = ()
    parts: list[Sequence[str]] = field(default_factory=list)

    def __call__(self, part: Sequence[str]) -> Any:
        self.parts.append(part)
        if set(part) & set(self.refused):
            raise ValueDoesNotFit("does not fit", cure="-")
        return SimpleNamespace(equal=True, applied_scn=7)


KEYS = [str(number) for number in range(1000)]


def test_the_few_keys_that_are_still_wrong_are_found_with_few_repairs() -> None:
    repairs = Repairs({"3", "500", "999"})
    right, left, scn = repair_keys(repairs, KEYS)

    assert (sorted(right, key=int), set(left), scn) == ([key for key in KEYS if key not in left], {"3", "500", "999"}, 7)
    assert len(repairs.parts) < 70


def test_a_retry_of_many_keys_that_nobody_has_corrected_ends() -> None:
    repairs = Repairs(KEYS)
    right, left, scn = repair_keys(repairs, KEYS)

    assert (right, len(left), scn) == ([], len(KEYS), None)
    assert len(repairs.parts) < 4 * MOST_REFUSED
    assert sum(why.startswith("not tried") for why in left.values()) == len(KEYS) - MOST_REFUSED


def test_more_keys_than_one_repair_reads_are_repaired_in_parts() -> None:
    repairs, many = Repairs(), [str(number) for number in range(KEYS_AT_ONCE + 1)]

    assert repair_keys(repairs, many) == (many, {}, 7)
    assert list(map(len, repairs.parts)) == [KEYS_AT_ONCE, 1]
