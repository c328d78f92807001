"""The modules with Spark are shared out so that each worker has one group, and none works alone in the end."""

from __future__ import annotations

from tests.workers import GROUPS, group_of, next_module

CONNECT, SPARK = ([f"{prefix}one.py" if prefix.endswith("/") else prefix for prefix in group][:4] for group in GROUPS.values())
OTHERS = ["tests/integration/test_olr.py", "tests/unit/test_words.py"]


def play(seconds: dict[str, int], workers: int = 2) -> list[list[str]]:
    """Return which modules each worker runs, each taking its next one when it has ended the last."""
    waiting, begun = [*seconds], {}
    ran: list[list[str]] = [[] for _ in range(workers)]
    ends = [0] * workers
    while waiting:
        worker = ends.index(min(ends))
        module = next_module(waiting, begun, worker)
        if group_of(module) in GROUPS:
            begun.setdefault(group_of(module), worker)
        waiting.remove(module)
        ran[worker].append(module)
        ends[worker] += seconds[module]
    return ran


def test_each_worker_gets_one_group_then_the_other_modules_in_their_order() -> None:
    assert play(dict.fromkeys([*CONNECT, *SPARK, *OTHERS], 1)) == [[*CONNECT, OTHERS[0]], [*SPARK, OTHERS[1]]]
    assert play(dict.fromkeys([*CONNECT, *SPARK, *OTHERS], 1), 3)[2] == [*OTHERS, SPARK[-1]]


def test_a_worker_with_nothing_else_to_do_takes_the_last_modules_of_the_others_group() -> None:
    long = {**dict.fromkeys(CONNECT, 1), **dict.fromkeys(SPARK, 6), **dict.fromkeys(OTHERS, 1)}
    assert play(long) == [[*CONNECT, *OTHERS, SPARK[3], SPARK[2]], SPARK[:2]]


def test_one_worker_runs_them_all() -> None:
    assert sorted(play(dict.fromkeys([*CONNECT, *SPARK, *OTHERS], 1), 1)[0]) == sorted([*CONNECT, *SPARK, *OTHERS])
