"""Count what steps open, read and ask: the ledger, its corrections from the landing, the source, its dictionary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from redolake.ledger import store
from redolake.reconcile import ledger
from redolake.source import dictionary
from redolake.source.session import OracleSession

COUNTED: dict[str, tuple[Any, str]] = {
    "ledgers opened": (store, "version_of"),  # the first question of each
    "reconciled": (ledger, "check_positions"),  # the end of each
    "connections": (OracleSession, "__init__"),
    "queries": (OracleSession, "query_text"),
    "dictionary readings": (dictionary, "_read_all"),
}


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Yield the counts of the block so far, by what is counted."""
    counts = Counter[str]()

    def counting(name: str, function: Any) -> Any:
        def count(*args: Any, **kwargs: Any) -> Any:
            counts[name] += 1
            return function(*args, **kwargs)

        return count

    with ExitStack() as stack:
        for name, (owner, attribute) in COUNTED.items():
            stack.enter_context(mock.patch.object(owner, attribute, counting(name, getattr(owner, attribute))))
        yield counts
