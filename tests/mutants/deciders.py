"""The modules that decide about rows, and the tests that must notice when one of them decides otherwise."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Deciders:
    """Some modules and their tests; without tests, the generated histories try the mutants (by_histories).

    Of some modules, one group tries the functions that build Spark's expressions, and another one the others.
    """

    files: tuple[str, ...]
    tests: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    other_functions: tuple[str, ...] = ()

    def tries(self, function: str) -> bool:
        return function in self.functions if self.functions else function not in self.other_functions


def _of(room: str, *names: str) -> tuple[str, ...]:
    return tuple(f"pipelines/{room}/{name}.py" for name in names)


COUNTED_BY_SPARK = ("account_rows", "first_problems")

GROUPS = {
    "window": Deciders(
        _of(
            "window",
            "gate",
            "log_state",
            "thread_logs",
            "incarnation",
            "plan",
            "missing",
            "loss",
            "container",
            "dictionary",
            "end",
        ),
        ("tests/unit/window",),
    ),
    "schema": Deciders(_of("schema", "derive", "versions", "type_change", "dictionary_conflict"), ("tests/unit/schema",)),
    "row accounting": Deciders(
        _of("assemble", "row_accounting"), ("tests/unit/assemble/test_row_accounting.py",), other_functions=COUNTED_BY_SPARK
    ),
    "MERGE": Deciders(
        _of("apply/delta", "merge"), ("tests/unit/apply/delta/test_merge_sql.py",), functions=("merge_sql", "same_row")
    ),
    "row counts": Deciders(_of("assemble", "row_accounting"), functions=COUNTED_BY_SPARK),
    "undo": Deciders(_of("assemble", "undo")),
}
