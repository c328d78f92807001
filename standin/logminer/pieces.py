"""Cutting statements into rows of at most 4000 bytes (CSF, facts/LOGMINER.md 4.4)."""

from __future__ import annotations

PIECE_BYTES = 4000


def cut(text: str, limit: int = PIECE_BYTES) -> list[str]:
    """Pieces never end inside a character, but may end inside a doubled quote, as Oracle's do."""
    if len(text) * 4 <= limit:
        return [text]
    raw = text.encode()
    pieces, at = [], 0
    while len(raw) - at > limit:
        end = at + limit
        while raw[end] & 0xC0 == 0x80:
            end -= 1
        pieces.append(raw[at:end].decode())
        at = end
    return [*pieces, raw[at:].decode()]
