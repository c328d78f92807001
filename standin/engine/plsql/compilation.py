"""What the compiler of PL/SQL says of a stored unit: errors where a statement lacks its semicolon. More is not looked for."""

from __future__ import annotations

from itertools import pairwise

from standin.engine.text.tokens import tokens_of

COMPILED = frozenset({"PROCEDURE", "FUNCTION", "PACKAGE", "PACKAGE BODY"})


def compiles(text: str) -> bool:
    """Return whether a semicolon precedes each END. A unit with CASE, which ends without one, is taken as it is."""
    tokens = tokens_of(text)
    words = {token.value for token in tokens if token.kind == "word"}
    if "CASE" in words or "WRAPPED" in words or "BEGIN" not in words:
        return True
    ends = (before for before, token in pairwise(tokens) if token.kind == "word" and token.value == "END")
    return all(before.value in (";", "$", ".") for before in ends)
