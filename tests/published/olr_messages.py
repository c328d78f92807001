"""Messages that an OpenLogReplicator wrote from redo of a real Oracle.

Source: as in scenarios.py, `tests/data/expected/*/output.json`: 26ai, February 2026, the default of `column`. The header of a
message is left out. Numbers are texts where they have a fraction.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any


@cache
def published_messages() -> dict[str, list[list[Any]]]:
    """Return by scenario the operation, table, values before and after of each message."""
    return json.loads((Path(__file__).parent / "olr_messages_26ai.json").read_text(encoding="utf-8"))
