"""A file of the chain: the window or the declared gap that continues the chain from one position."""

from __future__ import annotations

from redolake.records.codec import decode_one_of
from redolake.records.gaps import DeclaredGap
from redolake.records.windows import WindowManifest

ChainLink = WindowManifest | DeclaredGap


def decode_link(text: bytes | str, file: str) -> ChainLink:
    """Decode the window manifest or declared gap of a chain link. Raises FormatTooNew, LandingDamaged."""
    link: ChainLink = decode_one_of((WindowManifest, DeclaredGap), text, file)
    return link
