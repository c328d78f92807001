"""The modules that decide about rows, and the tests that must notice when one of them decides otherwise."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Deciders:
    """Some modules and their tests. With `in_spark` these share a Spark session (by_unit_tests).

    Of some modules, one group tries the functions that build Spark's expressions, and another one the others.
    """

    files: tuple[str, ...]
    tests: tuple[str, ...]
    in_spark: bool = False
    functions: tuple[str, ...] = ()
    other_functions: tuple[str, ...] = ()

    def tries(self, function: str) -> bool:
        return function in self.functions if self.functions else function not in self.other_functions


def _of(room: str, *names: str) -> tuple[str, ...]:
    return tuple(f"pipelines/redolake/{room}/{name}.py" for name in names)


COUNTED_BY_SPARK = ("account_rows", "first_problems")
NAMED_BY_SPARK = ("with_rows", "_text", "_text_of")

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
        _of("assemble", "row_accounting"),
        ("tests/unit/assemble/test_row_accounting.py", "tests/unit/assemble/test_row_accounting_parts.py"),
        other_functions=COUNTED_BY_SPARK,
    ),
    "MERGE": Deciders(
        _of("apply/delta", "merge"), ("tests/unit/apply/delta/test_merge_sql.py",), functions=("merge_sql", "same_row")
    ),
    "row counts": Deciders(
        _of("assemble", "row_accounting"),
        ("tests/unit/assemble/test_row_counts.py",),
        in_spark=True,
        functions=COUNTED_BY_SPARK,
    ),
    "undo": Deciders(_of("assemble", "undo"), ("tests/unit/assemble/test_undo.py",), in_spark=True),
    "index rows": Deciders(
        _of("apply/net", "index_rows"), ("tests/unit/apply/net/test_index_rows.py",), other_functions=NAMED_BY_SPARK
    ),
    "index rows in Spark": Deciders(
        _of("apply/net", "index_rows"),
        ("tests/unit/apply/net/test_rows_by_key.py",),
        in_spark=True,
        functions=NAMED_BY_SPARK,
    ),
    "missing columns": Deciders(
        _of("apply/net", "missing_columns"), ("tests/unit/apply/net/test_filled_columns.py",), in_spark=True
    ),
    "null keys": Deciders(
        _of("apply/delivery", "nullable_key"),
        ("tests/unit/apply/delivery/test_rows_known_by_value.py",),
        in_spark=True,
        functions=("of_whole_rows", "count_equal_rows", "all_equal", "_finding"),
    ),
    "net change": Deciders(_of("apply/net", "net_change"), ("tests/unit/apply/net/test_net_change.py",), in_spark=True),
}
