"""Refuse a pyarrow that computes wrong values.

pip keeps to the versions that Redolake declares. Spark's Python workers may be set up by others.
"""

from __future__ import annotations

from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from redolake.errors import ConfigurationError, Finding

FAULT = "changes texts that it should only copy"
CURE = "install pyarrow 24 or later here, and where Spark's Python workers run"


@cache
def arrow_findings() -> list[Finding]:
    """Return a finding where `if_else` of a slice of texts and NULL returns other bytes, without an error of its own.

    Versions before 24 do (apache/arrow#49410).
    """
    texts = pa.array(["first", "a", "bc", "def"]).slice(1)
    shown = pc.if_else(pa.array([True, False, True]), texts, pa.scalar(None, pa.string()))
    if shown.to_pylist() == ["a", None, "def"]:
        return []
    return [Finding("pyarrow", f"version {pa.__version__}, which this Python has, {FAULT}", CURE)]


def check_arrow() -> None:
    """Raise ConfigurationError with these findings, if there are any."""
    if findings := arrow_findings():
        raise ConfigurationError(findings)
