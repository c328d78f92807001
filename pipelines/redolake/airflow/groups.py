"""Group what a task is mapped over: Airflow starts at most `[core] max_map_length` instances of a task, by default 1,024.

A pipeline may have more tables than that, and a long backlog more slices. While they are few, each is a group of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")
LABEL = 250  # characters of a name that Airflow's database takes; OWNER.NAME may have more


def most_instances() -> int:
    """Return how many instances of a mapped task Airflow starts."""
    from airflow.configuration import conf

    return max(1, int(conf.getint("core", "max_map_length", fallback=1024)))


def group_evenly(items: Sequence[T], most: int | None = None) -> list[list[T]]:
    """Return the items, in their order, in at most `most` groups whose sizes differ by one at most."""
    groups = min(len(items), most_instances() if most is None else most)
    edges = [len(items) * number // groups for number in range(groups + 1)] if groups else [0]
    return [list(items[start:end]) for start, end in pairwise(edges)]


def group_label(names: Sequence[str]) -> str:
    """Return the name of an instance in Airflow's lists."""
    first, *others = names
    more = f" and {len(others)} more" if others else ""
    return f"{first[: LABEL - len(more)]}{more}"
