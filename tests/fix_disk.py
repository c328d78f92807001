"""Let nothing wait for the disk: no machine loses power in a test, and a transaction of the ledger would wait up to 25 ms.

A killed process loses nothing by it: the operating system has what was written.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from pipelines.ledger import store

DURABLE = store._on_sqlite_connect


def connect_without_waiting(connection: sqlite3.Connection, record: object) -> None:
    DURABLE(connection, record)
    do_not_wait(connection)


def do_not_wait(connection: object, _record: object = None) -> None:
    if isinstance(connection, sqlite3.Connection):
        connection.execute("PRAGMA synchronous = OFF")


def no_fsync(_: int) -> None:
    """Do nothing. A Mock would keep every call."""


@contextmanager
def nothing_waits_for_the_disk() -> Iterator[None]:
    in_ledger = mock.patch.object(store, "_on_sqlite_connect", connect_without_waiting)
    with in_ledger, mock.patch.object(os, "fsync", new=no_fsync):
        yield


@pytest.fixture(autouse=True, scope="session")
def _nothing_waits_for_the_disk() -> Iterator[None]:
    event.listen(Engine, "connect", do_not_wait)  # Airflow's database
    with nothing_waits_for_the_disk():
        yield
    event.remove(Engine, "connect", do_not_wait)
