"""The keys of masks and of the landing: read from the environment where they are used, and written nowhere.

A secret is used itself for one purpose only, the hash of a masked value, which anybody can compute again with it. What else is
made of it is derived by HKDF with a label, so that no value that somebody puts into a masked column has it as its hash.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from urllib.parse import unquote, urlsplit

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from redolake.errors import ConfigurationError, Finding
from redolake.values.mapping import SecretName

SHORTEST = 16  # bytes: a shorter key can be found by trying
WEAKEST = 32  # bits: keys made by chance are above, also those of 16 hexadecimal digits
SALT = b"redolake: keys by purpose"
CHECKED = b"redolake: is it the same key?"
CHECK_DIGITS = 16
OF_ROWS = b"redolake: files of the landing"
KEY_BYTES = 32
WORDS = "passwords password passwort passwd secrets secret change replace example insert redolake landing masking default"
ALSO = {"a": "[a4@]", "e": "[e3]", "i": "[i1!]", "o": "[o0]", "s": "[s5$]"}  # as which people write them
SHORT_WORDS = (
    "masks?|keys?|token|super|please|welcome|oracle|delta|prod|test|your|with|this|that|here|the|for|now|not|our|is|my|me|of|to"
)
DATES = r"(?:19|20)\d\d(?:[-/. ]?[01]\d[-/. ]?[0-3]\d)?|[0-3]\d[-/.][01]\d[-/.](?:19|20)\d\d|T?\d\d:\d\d(?::\d\d)?Z?"
GUESSED = re.compile(
    "|".join([DATES, *("".join(ALSO.get(c, c) for c in word) for word in WORDS.split()), SHORT_WORDS]), re.IGNORECASE
)
ROWS_OF_KEYS = ("1234567890-=", "qwertyuiop[]", "asdfghjkl;'", "zxcvbnm,./")
COLUMNS_OF_KEYS = (*map("".join, zip(*(row[:10] for row in ROWS_OF_KEYS), strict=True)), "qwertz", "azerty", "yxcvbnm")
PAIRS = {pair for line in (*ROWS_OF_KEYS, *COLUMNS_OF_KEYS) for one in (line, line[::-1]) for pair in pairwise(one)}
NEW_KEY = "make one with `openssl rand -hex 32`"


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
    """Return the key. Raises ConfigurationError where it is not set, is short, can be guessed, or is not the one that
    `secret.check` is of. A key that data was written with is read however weak it is."""
    key = find_key(secret)
    if key is None:
        where = secret.variable or connection_variable(secret.connection or "")
        raise refused(use, secret, f"{use.noun} is not set here", f"export {where} where tasks run, and run again")
    if secret.check and secret.check != check_of(key):
        raise refused(use, secret, f"{use.noun} {use.differs}", use.cure)
    if not secret.check and (weakness := weakness_of(key)):
        raise refused(use, secret, f"{use.noun} {weakness}", NEW_KEY)
    return key


def weakness_of(key: bytes) -> str:
    """Return why a key can be found by trying; an empty text where nothing is seen that says so. A phrase of other words is
    not seen: a long one is a good key."""
    if len(key) < SHORTEST:
        return f"has less than {SHORTEST} bytes"
    left = without_walks(GUESSED.sub("", key.decode("latin-1")).lower()).encode("latin-1")
    if bits_of(key) >= WEAKEST and (2 * len(left) > len(key) or bits_of(left) >= WEAKEST):
        return ""
    return "can be guessed: its characters repeat, or follow each other, or are dates and words that keys are often made of"


def without_walks(text: str) -> str:
    """Return a text without what follows on a keyboard: four and more that lie beside each other."""
    left, run = "", text[:1]
    for before, after in pairwise(text + "\0"):
        if (before, after) in PAIRS:
            run += after
        else:
            left, run = left + (run if len(run) < 4 else run[0]), after
    return left


def bits_of(key: bytes) -> float:
    """Return the bits of what does not repeat, by its bytes or the steps between them, whichever are fewer."""
    if not key:
        return 0.0
    period = next(n for n in range(1, len(key) + 1) if all(a == b for a, b in zip(key, key[n:], strict=False)))
    repeated = key[:period]
    steps = [(after - before) % 256 for before, after in pairwise(repeated)]
    return min(len(repeated) * entropy(repeated), (len(steps) + 1) * entropy(steps))


def entropy(values: Sequence[int]) -> float:
    """Return the bits for each value, by how often each one occurs."""
    shares = [count / len(values) for count in Counter(values).values()]
    return -sum(share * math.log2(share) for share in shares)


def equal_keys(named: Iterable[tuple[str, SecretName]]) -> Iterator[Finding]:
    """Yield an error for each two that are one key, of secrets by their settings. Several tables may name the same secret for
    their masks. Those that are not set here are left out."""
    for (setting, one, check), (other_setting, other, other_check) in combinations(known_checks(named), 2):
        if check == other_check:
            what = f"is the same key as `{other_setting}`: {other}"
            yield Finding(
                f"`{setting}`: {one}", what, f"give each a key of its own: {NEW_KEY}. Where both are of masks, name one"
            )


def known_checks(named: Iterable[tuple[str, SecretName]]) -> list[tuple[str, SecretName, str]]:
    """Return setting and place of each key that is set here, with the text that another key does not have."""
    return [(setting, secret, check_of(key)) for setting, secret in dict.fromkeys(named) if (key := find_key(secret))]


def refused(use: KeyUse, secret: SecretName, what: str, cure: str) -> ConfigurationError:
    return ConfigurationError([Finding(f"`{use.setting}`: {secret}", what, cure)])


def derive_key(key: bytes, purpose: bytes) -> bytes:
    return HKDF(hashes.SHA256(), KEY_BYTES, SALT, purpose).derive(key)


def check_of(key: bytes) -> str:
    """Return a text that another key does not have, and that says nothing else about the key."""
    return derive_key(key, CHECKED).hex()[:CHECK_DIGITS]


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
    return RowsKey(f"{kind}:{name}:{check_of(key)}", derive_key(key, OF_ROWS))
