"""The keys of masks: where they are read from, and what is said of a wrong one."""

from __future__ import annotations

import hashlib
import hmac
import random

import pytest

from redolake.errors import ConfigurationError
from redolake.host import secrets
from redolake.host.secrets import check_of, find_key, key_from, read_key
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


def test_no_hash_of_a_masked_value_is_the_landings_key_or_a_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who may insert values and read the lake has the hash of any text with the secret."""
    monkeypatch.setenv("BOTH", KEY)
    rows = key_from(SecretName(variable="BOTH"))
    texts = [value for value in vars(secrets).values() if isinstance(value, bytes)]
    texts += [one + two for one in texts for two in (*texts, b"\x01")] + [b""]

    hashes = {hmac.new(KEY.encode(), text, hashlib.sha256).digest() for text in texts}
    assert rows.key not in hashes
    assert rows.id.rpartition(":")[2] == check_of(KEY.encode()) not in {found.hex()[:16] for found in hashes}
    assert not rows.key.hex().startswith(check_of(KEY.encode())), "each purpose has its own"
    assert len(rows.key) == 32


@pytest.mark.parametrize(
    "weak",
    ["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "passwordpassword", "changemechangemechangeme", "1234567890123456", "0123456789abcdef",
     "zyxwvutsrqponmlkjihgfedcba", "\0" * 32, "aaaaaaaaaaaaaaab", "00000000-0000-0000-0000-000000000001",
     "qwertyuiopasdfgh", "1qaz2wsx3edc4rfv", "qwertz.-qwertz.-asdf", "2026-11-28T10:00:00", "28.11.2026 10:00",
     "20261128 20270301", "redolake_landing_key", "p4ssw0rd!2026#secret", "REPLACE_ME_WITH_A_KEY", "the key of our masks"],
)  # fmt: skip
def test_a_key_that_can_be_guessed_is_refused_with_the_command_that_makes_one(
    weak: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets, "find_key", lambda _: weak.encode())
    with pytest.raises(ConfigurationError, match="can be guessed") as caught:
        read_key(SecretName(variable="MASKS"))
    assert "openssl rand -hex 32" in str(caught.value)
    assert weak not in str(caught.value)
    known = SecretName(variable="MASKS", check=check_of(weak.encode()))
    assert read_key(known) == weak.encode(), "what was written with it is read"


@pytest.mark.parametrize(
    "strong",
    ["redolake:9f8a77b1c0d2e4a6", "2026-11-28 9f8a77b1c0d2e4a6", "key=iVBORw0KGgoAAAANSUhEUgAA",
     "6f1e8e5c-3b1c-4c57-9d1a-0e4a3c1f9b77",
     "purple monkey dishwasher lamp orbit", KEY],
)  # fmt: skip
def test_a_word_or_date_before_a_key_does_not_make_it_weak(strong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Phrases are known by no rule: those of many words are good keys."""
    monkeypatch.setattr(secrets, "find_key", lambda _: strong.encode())
    assert read_key(SecretName(variable="MASKS")) == strong.encode()


def test_keys_made_by_chance_are_strong(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(1)
    for text in (chance.randbytes(size).hex() for size in [8] * 500 + [16] * 500 + [32] * 100):
        monkeypatch.setenv("MASKS", text)
        assert read_key(SecretName(variable="MASKS")) == text.encode()
