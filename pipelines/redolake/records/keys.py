"""The keys with which files of the landing were encrypted: where each is found, and a fingerprint, not the key."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LandingKey:
    """`source` is `variable NAME` or `connection ID`. `fingerprint` is made of the key, and says nothing about it but whether
    another one is the same."""

    source: str
    fingerprint: str
