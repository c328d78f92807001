"""Cuts statements into continuation rows (CSF = 1) of at most 4000 bytes."""

from __future__ import annotations

from standin.octets import octets_of, text_of

PIECE_BYTES = 4000


def cut(text: str, limit: int = PIECE_BYTES) -> list[str]:
    """Return the pieces of a text. As in Oracle, a piece ends between characters, but possibly inside a doubled quote."""
    if len(text) * 4 <= limit:
        return [text]
    raw = octets_of(text)
    pieces, at = [], 0
    while len(raw) - at > limit:
        end = at + limit
        while raw[end] & 0xC0 == 0x80:
            end -= 1
        pieces.append(text_of(raw[at:end]))
        at = end
    return [*pieces, text_of(raw[at:])]
