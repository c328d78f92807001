"""The keys of masks and of the landing: read from the environment where they are used, and written nowhere."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from redolake.errors import ConfigurationError, Finding
from redolake.values.mapping import SecretName

SHORTEST = 16  # bytes: a shorter key can be found by trying
CHECKED = b"redolake: is it the same key?"
CHECK_DIGITS = 16
OF_ROWS = b"redolake: files of the landing"


@dataclass(frozen=True, slots=True)
class KeyUse:
    """What a key is for: its setting in pipelines.yml, and what is wrong with another one."""

    setting: str
    noun: str
    differs: str
    cure: str


OF_MASKS = KeyUse(
    "mask_key",
    "the key of the masks",
    "is another one than the tables were read with",
    "restore the key; or run `redolake snapshot TABLE --replace` for each table with a `hash` mask",
)
OF_LANDING = KeyUse(
    "landing_key",
    "the key of the landing",
    "is another one than files of the landing were written with",
    "restore the key under this name; a new key needs another name in `landing_key`, and this one goes into `old_landing_keys`",
)


def connection_variable(connection: str) -> str:
    return f"AIRFLOW_CONN_{connection.upper()}"


def find_key(secret: SecretName, environ: Mapping[str, str] | None = None) -> bytes | None:
    """Return the key, None where this process does not have it."""
    environ = os.environ if environ is None else environ
    if secret.variable:
        text = environ.get(secret.variable, "")
    else:
        text = password_of(environ.get(connection_variable(secret.connection or ""), ""))
    return text.encode() or None


def password_of(connection: str) -> str:
    """Return the password of an Airflow connection, a URI or JSON."""
    if connection.lstrip().startswith("{"):
        try:
            return str(json.loads(connection).get("password") or "")
        except ValueError:
            return ""
    _, _, rest = connection.partition("://")
    return unquote(urlsplit(f"scheme://{rest}").password or "") if rest else ""


def read_key(secret: SecretName, use: KeyUse = OF_MASKS) -> bytes:
    """Return the key. Raises ConfigurationError where it is not set, is short, or is not the one that `secret.check` is of."""
    key = find_key(secret)
    if key is None:
        where = secret.variable or connection_variable(secret.connection or "")
        raise refused(use, secret, f"{use.noun} is not set here", f"export {where} where tasks run, and run again")
    if len(key) < SHORTEST:
        raise refused(use, secret, f"{use.noun} has less than {SHORTEST} bytes", "make a longer one, for example with "
                      "`openssl rand -hex 32`")  # fmt: skip
    if secret.check and secret.check != check_of(key):
        raise refused(use, secret, f"{use.noun} {use.differs}", use.cure)
    return key


def refused(use: KeyUse, secret: SecretName, what: str, cure: str) -> ConfigurationError:
    return ConfigurationError([Finding(f"`{use.setting}`: {secret}", what, cure)])


def check_of(key: bytes) -> str:
    """Return a text that another key does not have, and that says nothing else about the key."""
    return hmac.new(key, CHECKED, hashlib.sha256).hexdigest()[:CHECK_DIGITS]


@dataclass(frozen=True, slots=True)
class RowsKey:
    """The key with which files of rows are encrypted. `id` stands in them, and says where the key is found and which one it
    is."""

    id: str
    key: bytes = field(repr=False)


def key_from(secret: SecretName) -> RowsKey:
    """Return the landing's key that is found there. Raises as `read_key` does."""
    key = read_key(secret, OF_LANDING)
    kind, name = ("connection", secret.connection) if secret.connection else ("variable", secret.variable)
    return RowsKey(f"{kind}:{name}:{check_of(key)}", hmac.new(key, OF_ROWS, hashlib.sha256).digest())
