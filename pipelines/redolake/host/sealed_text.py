"""Short texts in JSON files that only who has the landing's key can read: AES-GCM, with the place and fingerprint of the key
in front, as files of rows have them."""

from __future__ import annotations

import base64
import binascii
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from redolake.host.encrypted_parquet import NONCE, find_key_of
from redolake.host.secrets import RowsKey


class SealBroken(ValueError):
    """A sealed text is not as it was written."""


def seal(key: RowsKey, text: str) -> str:
    nonce = os.urandom(NONCE)
    sealed = AESGCM(key.key).encrypt(nonce, text.encode(), key.id.encode())
    return f"{key.id} {base64.b64encode(nonce + sealed).decode()}"


def unseal(sealed: str) -> str:
    """Return the text. Raises SealBroken, and ConfigurationError where the key is not here."""
    key_id, _, body = sealed.rpartition(" ")
    key = find_key_of(key_id)
    try:
        octets = base64.b64decode(body, validate=True)
        return AESGCM(key).decrypt(octets[:NONCE], octets[NONCE:], key_id.encode()).decode()
    except (InvalidTag, binascii.Error, ValueError) as error:
        raise SealBroken("the text is not as it was written") from error
