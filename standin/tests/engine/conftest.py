"""A database of the stand-in with a schema, and sessions in it."""

from __future__ import annotations

import pytest

from standin.tests.engine.engine_database import logon, open_database


@pytest.fixture
def database():
    opened = open_database()
    yield opened
    opened.close()


@pytest.fixture
def shop(database):
    return logon(database)


@pytest.fixture
def other(database):
    return logon(database)
