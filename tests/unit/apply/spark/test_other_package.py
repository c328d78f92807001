"""A worker with another version of the package cannot work for any table."""

from __future__ import annotations

import pytest

from redolake.apply.spark.failures import check_workers
from redolake.apply.spark.thrown import Thrown
from redolake.errors import ConfigurationError


@pytest.mark.parametrize(
    "message",
    [
        "Can't get attribute 'net' on <module 'redolake.decode.changes'>",
        "module 'redolake.decode' has no attribute 'changes'",
        "module 'redolake' has no attribute '__version__'",
    ],
)
def test_what_the_workers_version_lacks_is_an_error_of_the_job(message: str) -> None:
    with pytest.raises(ConfigurationError, match="Python of Spark's workers"):
        check_workers(Exception("failed"), [Thrown("SparkException", "Job aborted"), Thrown("AttributeError", message)])


@pytest.mark.parametrize("message", ["module 'shop' has no attribute 'rate'", "'NoneType' object has no attribute 'x'"])
def test_what_a_function_of_the_users_lacks_is_none(message: str) -> None:
    check_workers(Exception("failed"), [Thrown("AttributeError", message)])
