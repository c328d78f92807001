"""The keys of masks: where they are read from, and what is said of a wrong one."""

from __future__ import annotations

import pytest

from redolake.errors import ConfigurationError
from redolake.host.secrets import check_of, find_key, read_key
from redolake.values.mapping import SecretName

KEY = "p@ss/wörd, long enough"
BY_CONNECTION = SecretName(connection="masks")


@pytest.mark.parametrize(
    "text",
    [
        "generic://:p%40ss%2Fw%C3%B6rd%2C%20long%20enough@",
        "generic://login:p%40ss%2Fw%C3%B6rd%2C%20long%20enough@host:5/schema",
        '{"conn_type": "generic", "password": "p@ss/wörd, long enough"}',
    ],
)
def test_a_connection_gives_its_password_in_each_form(text: str) -> None:
    assert find_key(BY_CONNECTION, {"AIRFLOW_CONN_MASKS": text}) == KEY.encode()


@pytest.mark.parametrize("text", ["", "{not json", "generic://login@host", "generic"])
def test_a_connection_without_a_password_has_no_key(text: str) -> None:
    assert find_key(BY_CONNECTION, {"AIRFLOW_CONN_MASKS": text}) is None


def test_a_missing_short_or_other_key_is_an_error_that_does_not_show_it(monkeypatch: pytest.MonkeyPatch) -> None:
    by_variable = SecretName(variable="MASKS")
    said = list[str]()
    for value, secret in (
        ("", by_variable),
        ("short", by_variable),
        (KEY, SecretName(variable="MASKS", check=check_of(b"x" * 16))),
    ):
        monkeypatch.setenv("MASKS", value)
        with pytest.raises(ConfigurationError) as caught:
            read_key(secret)
        said.append(str(caught.value))

    assert "not set here" in said[0]
    assert "export MASKS" in said[0]
    assert "less than 16 bytes" in said[1]
    assert "another one than the tables were read with" in said[2]
    assert KEY not in "".join(said)
    assert read_key(SecretName(variable="MASKS", check=check_of(KEY.encode()))) == KEY.encode()
