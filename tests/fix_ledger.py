"""Let the ledgers of all tests share what SQLAlchemy has compiled.

Redolake has one ledger in a process. Each test has its own, whose engine would compile every statement again: a tenth of the
time of a pipeline.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest
from sqlalchemy import create_engine
from sqlalchemy.engine import Engine

from pipelines.ledger import store

_first: dict[str, Engine] = {}  # by kind of database


def create_sharing_engine(*arguments: Any, **settings: Any) -> Engine:
    engine = create_engine(*arguments, **settings)
    first = _first.setdefault(engine.dialect.name, engine)
    if first.dialect.server_version_info is not None:  # it has connected: compiled statements depend on the version
        engine.dialect, engine._compiled_cache = first.dialect, first._compiled_cache
    return engine


@contextmanager
def ledgers_share_compiled_statements() -> Iterator[None]:
    with mock.patch.object(store, "create_engine", create_sharing_engine):
        yield


@pytest.fixture(autouse=True, scope="session")
def _ledgers_share_compiled_statements() -> Iterator[None]:
    with ledgers_share_compiled_statements():
        yield
