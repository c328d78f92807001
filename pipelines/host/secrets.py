"""The keys of masks: read from the environment where they are used, and written nowhere."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from pipelines.errors import ConfigurationError, Finding
from pipelines.values.mapping import SecretName

SHORTEST = 16  # bytes: a shorter key can be found by trying
CHECKED = b"redolake: is it the same key?"
CHECK_DIGITS = 16


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


def read_key(secret: SecretName) -> bytes:
    """Return the key. Raises ConfigurationError where it is not set, is short, or is not the one that the table was read
    with."""
    key = find_key(secret)
    if key is None:
        where = secret.variable or connection_variable(secret.connection or "")
        raise refused(secret, "the key of the masks is not set here", f"export {where} where tasks run, and run again")
    if len(key) < SHORTEST:
        raise refused(secret, f"the key of the masks has less than {SHORTEST} bytes", "make a longer one, for example with "
                      "`openssl rand -hex 32`")  # fmt: skip
    if secret.check and secret.check != check_of(key):
        cure = "restore the key; or run `redolake snapshot TABLE --replace` for each table with a `hash` mask"
        raise refused(secret, "the key of the masks is another one than the tables were read with", cure)
    return key


def refused(secret: SecretName, what: str, cure: str) -> ConfigurationError:
    return ConfigurationError([Finding(f"`mask_key`: {secret}", what, cure)])


def check_of(key: bytes) -> str:
    """Return a text that another key does not have, and that says nothing else about the key."""
    return hmac.new(key, CHECKED, hashlib.sha256).hexdigest()[:CHECK_DIGITS]
