"""Size and hash of a data file, as it was written. A manifest has one for each file that it names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileDigest:
    bytes: int
    sha256: str


Digests = Mapping[str, FileDigest]  # by the file's name, as the record spells it; files of older manifests have none
