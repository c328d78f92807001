"""Fixtures for the wire protocol alone: the driver, and a listener with a fake database that a test prepares."""

from __future__ import annotations

from collections.abc import Iterator

import oracledb
import pytest

from standin.tests.served.wire_fake import PASSWORD, SERVICE, USER, FakeInstance
from standin.wire.server import Listener


@pytest.fixture(scope="module")
def instance() -> FakeInstance:
    return FakeInstance()


@pytest.fixture(scope="module")
def listener(instance: FakeInstance) -> Iterator[Listener]:
    with Listener(instance) as listener:
        yield listener


@pytest.fixture
def connection(listener: Listener) -> Iterator[oracledb.Connection]:
    with oracledb.connect(user=USER, password=PASSWORD, dsn=listener.dsn(SERVICE)) as connection:
        yield connection


@pytest.fixture
def cursor(connection: oracledb.Connection) -> oracledb.Cursor:
    return connection.cursor()
