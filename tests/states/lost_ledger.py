"""A ledger that is gone: everything in it must come back from the landing."""

from __future__ import annotations

from pathlib import Path


def lose_ledger(folder: Path) -> None:
    """Remove the SQLite ledger in this folder, with the files beside it."""
    for file in folder.glob("redolake-ledger.db*"):
        file.unlink()
