"""What messages show of the ledger's URL."""

from __future__ import annotations

import traceback

import pytest

from redolake.errors import RedolakeError
from redolake.ledger import ledger_version, open_ledger

URLS = [
    "postgresql://u:tiger@127.0.0.1:1/db?connect_timeout=2",
    "postgresql://u@127.0.0.1:1/db?password=tiger&connect_timeout=2",
    "postgresql://u@127.0.0.1:1/db?sslpassword=tiger&sslmode=tiger-no-mode",
    "postgresql://u@127.0.0.1:1/db?pasword=tiger",
    "postgresql://u@127.0.0.1:1/db?passfile=/x&options=-c%20tiger",
    "postgresql//u:tiger@127.0.0.1/db",
    "postgresql://u:p@h:tiger/db",
    "mysql://u:tiger@h/db",
]


@pytest.mark.parametrize("url", URLS)
def test_no_error_shows_a_password_of_the_ledgers_url(url: str) -> None:
    for use in (lambda: open_ledger(url, "shop"), lambda: ledger_version(url)):
        with pytest.raises(RedolakeError) as failed:
            use()
        said = "".join(traceback.format_exception(failed.value)).replace("tiger-no-mode", "")
        assert "tiger" not in said, said
