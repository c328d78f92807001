"""The key with which the landing's files of rows are encrypted, and the record of each key that was used.

The record is written before the first file. So two mistakes are found before a row is written: another value under a known
name, with which others could not read the file; and pipelines.yml without a key for a landing that has one, which would leave
clear text.
"""

from __future__ import annotations

from functools import cached_property

from redolake.errors import ConfigurationError, Finding
from redolake.host import crash
from redolake.host.secrets import OF_LANDING, RowsKey, key_from, refused
from redolake.land import layout
from redolake.land.files import Files
from redolake.records.keys import LandingKey
from redolake.values.mapping import SecretName

NO_KEY = "the landing's files of rows are encrypted, and pipelines.yml has no `landing_key`"
NO_KEY_CURE = "restore `landing_key` (the landing's folder `keys` says which); clear text needs a landing of its own"


class LandingKeys:
    """`secret` says where the key is; None for a landing in clear text."""

    def __init__(self, files: Files, secret: SecretName | None) -> None:
        self._files, self._secret = files, secret

    @cached_property
    def _current(self) -> RowsKey | None:
        key = self.find()
        if key is not None:
            self.record_key(key)
        return key

    def current(self) -> RowsKey | None:
        """Return the key for new files, None for clear text, and record it. Raises as `find` does."""
        return self._current

    def find(self) -> RowsKey | None:
        """Return the key. Raises ConfigurationError where it is not set, is another one than before, or none is given for a
        landing that has one."""
        if self._secret is not None:
            key = key_from(self._secret)
            self._check(key, self._files.read_record(LandingKey, layout.landing_key(str(self._secret))))
            return key
        if self._files.names(layout.KEYS):
            raise ConfigurationError([Finding(self._files.url, NO_KEY, NO_KEY_CURE)])
        return None

    @crash.writer
    def record_key(self, key: RowsKey) -> None:
        file = layout.landing_key(str(self._secret))
        if not self._files.create_record(file, LandingKey(str(self._secret), fingerprint_of(key))):
            self._check(key, self._files.read_record(LandingKey, file))

    def _check(self, key: RowsKey, recorded: LandingKey | None) -> None:
        assert self._secret is not None
        if recorded is not None and recorded.fingerprint != fingerprint_of(key):
            raise refused(OF_LANDING, self._secret, f"{OF_LANDING.noun} {OF_LANDING.differs}", OF_LANDING.cure)


def fingerprint_of(key: RowsKey) -> str:
    return key.id.rpartition(":")[2]
