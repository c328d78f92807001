"""Parquet files that only who has the landing's key can read: Parquet modular encryption of all columns and of the footer.

A file's key is made for it alone. It stands in the file's footer, encrypted by a key of the user, with the place of that key (a
variable or a connection) and its fingerprint. So a reader needs the file and its own environment, files of an older key stay
readable, and no spec, setting or plan has a key. Names of such files end in SUFFIX: how one is read is seen from outside.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow.parquet.encryption as pe
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from redolake.host.secrets import RowsKey, key_from
from redolake.values.mapping import SecretName

PARQUET, SUFFIX = ".parquet", ".encrypted.parquet"
NONCE = 12  # bytes
MATERIAL_DAMAGED = "the file's key material is damaged"


def encrypted_name(path: str) -> str:
    return path.removesuffix(PARQUET) + SUFFIX


def is_encrypted(path: str) -> bool:
    return path.endswith(SUFFIX)


def find_key_of(key_id: str) -> bytes:
    """Return the key of a file that another process may have written. Raises as `key_from` does."""
    rest, _, check = key_id.rpartition(":")
    kind, _, name = rest.partition(":")
    secret = SecretName(connection=name, check=check) if kind == "connection" else SecretName(variable=name, check=check)
    return key_from(secret).key


def encryption_properties(key: RowsKey) -> Any:
    """Return what pyarrow's writer takes."""
    settings = pe.EncryptionConfiguration(key.id, uniform_encryption=True)
    return _factory({key.id: key.key}.__getitem__).file_encryption_properties(pe.KmsConnectionConfig(), settings)


def decryption_properties(find: Callable[[str], bytes] = find_key_of) -> Any:
    """Return what pyarrow's reader takes; `find` gets the id of a file's key."""
    return _factory(find).file_decryption_properties(pe.KmsConnectionConfig(), pe.DecryptionConfiguration())


def properties_for(path: str, keys: Mapping[str, bytes] | None = None) -> Any:
    """Return what pyarrow's reader needs for a file: None for one in clear text. Without `keys`, they are found here."""
    if not is_encrypted(path):
        return None
    return decryption_properties(find_key_of if keys is None else keys.__getitem__)


def _factory(find: Callable[[str], bytes]) -> pe.CryptoFactory:
    return pe.CryptoFactory(lambda _: _LocalKeys(find))


class _LocalKeys(pe.KmsClient):  # type: ignore[misc]
    """Encrypts the keys of files by those of this process, as Parquet's tools do where a key server does not."""

    def __init__(self, find: Callable[[str], bytes]) -> None:
        super().__init__()
        self._find = find

    def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> bytes:
        nonce = os.urandom(NONCE)
        sealed = AESGCM(self._find(master_key_identifier)).encrypt(nonce, key_bytes, master_key_identifier.encode())
        return base64.b64encode(nonce + sealed)

    def unwrap_key(self, wrapped_key: bytes, master_key_identifier: str) -> bytes:
        key = self._find(master_key_identifier)
        try:
            body = base64.b64decode(wrapped_key, validate=True)
            return AESGCM(key).decrypt(body[:NONCE], body[NONCE:], master_key_identifier.encode())
        except (InvalidTag, binascii.Error) as error:
            raise OSError(MATERIAL_DAMAGED) from error
