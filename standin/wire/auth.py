"""O5LOGON with the 12c verifier: each side proves that it has the password, without sending it.

Unknown users get the same dialogue with random keys, so that the answer is the same as for a wrong password.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from standin.wire.reader import Reader, RequestNotUnderstood
from standin.wire.requests import Dialect

VERIFIER_12C = 18453
_SESSION_ROUNDS = 3
_BLOCK = 16


@dataclass(frozen=True, slots=True)
class AuthRequest:
    """The request of either phase: the user as typed, and keys with values; `contexts` are namespaces, names and values."""

    user: str
    pairs: Mapping[str, str]
    contexts: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Accepted:
    """A logon with the right password: the session's key, and the server's proof for the client (AUTH_SVR_RESPONSE)."""

    key: bytes
    proof: bytes


def read_auth_request(reader: Reader, dialect: Dialect) -> AuthRequest:
    has_user, length = reader.u8(), reader.ub()
    reader.ub()  # authentication mode
    reader.u8()
    count = reader.ub()
    reader.skip(2)
    user = dialect.text(reader, length) if has_user else ""
    pairs, contexts = {}, []
    for _ in range(count):
        name, sent = reader.dalc(), reader.dalc()
        reader.ub()
        key, value = ((part or b"").decode(errors="replace").rstrip("\0") for part in (name, sent))
        pairs[key] = value
        if key.startswith("AUTH_APPCTX"):
            contexts.append(value)
    reader.finish()
    return AuthRequest(user, pairs, tuple(zip(*[iter(contexts)] * 3, strict=True)))


def user_name(typed: str) -> str:
    """Return the user name as in the dictionary: in upper case unless quoted."""
    return typed[1:-1] if len(typed) > 2 and typed[0] == typed[-1] == '"' else typed.upper()


@dataclass(frozen=True, slots=True)
class _Verifier:
    salt: bytes
    key: bytes


@lru_cache(100)
def _stored_verifier(password: str, rounds: int) -> _Verifier:
    """Return the verifier of a password. Like Oracle, keep it with its salt: deriving it is meant to be slow."""
    salt = secrets.token_bytes(16)
    key = hashlib.pbkdf2_hmac("sha512", password.encode(), salt + b"AUTH_PBKDF2_SPEEDY_KEY", rounds, 64)
    return _Verifier(salt, hashlib.sha512(key + salt).digest()[:32])


@dataclass(frozen=True, slots=True)
class Handshake:
    """The server's side of one logon. `password` is None for an unknown user."""

    password: str | None
    rounds: int
    session_salt: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    server_half: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    unknown_user: _Verifier = field(default_factory=lambda: _Verifier(secrets.token_bytes(16), secrets.token_bytes(32)))

    def challenge(self) -> tuple[dict[str, str], dict[str, int]]:
        pairs = {
            "AUTH_SESSKEY": _hex(_encrypt(self._verifier.key, self.server_half)),
            "AUTH_VFR_DATA": _hex(self._verifier.salt),
            "AUTH_PBKDF2_CSK_SALT": _hex(self.session_salt),
            "AUTH_PBKDF2_VGEN_COUNT": str(self.rounds),
            "AUTH_PBKDF2_SDER_COUNT": str(_SESSION_ROUNDS),
        }
        return pairs, {"AUTH_VFR_DATA": VERIFIER_12C}

    def accepts(self, answer: Mapping[str, str]) -> Accepted | None:
        """Return the accepted logon, None for a wrong password."""
        try:
            client_half = _decrypt(self._verifier.key, bytes.fromhex(answer["AUTH_SESSKEY"]))[:32]
            key = self._session_key(client_half)
            given = sent_password(key, answer, "AUTH_PASSWORD")
        except (KeyError, ValueError) as error:
            raise RequestNotUnderstood(f"the second phase of a logon: {error!r}") from error
        if self.password is None or not secrets.compare_digest(given, self.password.encode()):
            return None
        # JDBC also checks the padding; python-oracledb accepts both forms.
        proof = _encrypt(key, secrets.token_bytes(_BLOCK) + b"SERVER_TO_CLIENT" + bytes((_BLOCK,)) * _BLOCK)
        return Accepted(key, proof)

    @property
    def _verifier(self) -> _Verifier:
        return self.unknown_user if self.password is None else _stored_verifier(self.password, self.rounds)

    def _session_key(self, client_half: bytes) -> bytes:
        halves = _hex(client_half + self.server_half).encode()  # the client's half first, and as hex text
        return hashlib.pbkdf2_hmac("sha512", halves, self.session_salt, _SESSION_ROUNDS, 32)


def sent_password(key: bytes, answer: Mapping[str, str], name: str) -> bytes:
    """Return AUTH_PASSWORD or AUTH_NEWPASSWORD, which the client encrypts after random bytes of one block."""
    given = _decrypt(key, bytes.fromhex(answer[name]))
    return given[_BLOCK : len(given) - given[-1]] if given else b""


def _hex(data: bytes) -> str:
    return data.hex().upper()


def _encrypt(key: bytes, data: bytes) -> bytes:
    return Cipher(algorithms.AES(key), modes.CBC(bytes(_BLOCK))).encryptor().update(data)


def _decrypt(key: bytes, data: bytes) -> bytes:
    return Cipher(algorithms.AES(key), modes.CBC(bytes(_BLOCK))).decryptor().update(data)
