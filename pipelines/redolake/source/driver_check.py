"""Refuse a python-oracledb that reads wrong values into Arrow.

pip keeps to the versions that Redolake declares. An Airflow with constraints of its own may have another one.
"""

from __future__ import annotations

import re
from functools import cache

import oracledb

from redolake.errors import ConfigurationError, Finding

# Oracle sends a value that equals the one of the row before as a bit. Each of these faults is in the code that then copies the
# value; none raises an error. oracle/python-oracledb has the reports.
FAULTS = (
    ((26, 0, 1), "leaves out repeated numbers at the beginning of a batch, or crashes (#605, #597)"),
    ((26, 1, 0), "leaves out repeated dates (#606)"),
)
SOUND = "26.1.0"


@cache
def driver_findings() -> list[Finding]:
    """Return a finding if the installed python-oracledb is known to drop, shift or repeat values."""
    installed = tuple(int(number) for number in re.findall(r"\d+", oracledb.__version__)[:3])
    known = [fault for mended, fault in FAULTS if installed < mended]
    if not known:
        return []
    what = f"version {oracledb.__version__}, which this Python has, {'; '.join(known)}"
    return [Finding("python-oracledb", what, f"install oracledb {SOUND} or later, below 27")]


def check_driver() -> None:
    """Raise ConfigurationError with these findings, if there are any."""
    if findings := driver_findings():
        raise ConfigurationError(findings)
