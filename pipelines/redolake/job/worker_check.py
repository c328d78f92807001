"""Ask Spark's Python workers which Redolake, Python and pyarrow they have."""

from __future__ import annotations

import platform
import socket
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from redolake import __version__
from redolake.apply.spark.session import cores
from redolake.host.arrow_check import arrow_findings

COLUMNS = ("host", "redolake", "python", "pyarrow", "fault")
HOLDS_A_CORE_SECONDS = 0.5  # so that Spark gives each core one of the tasks, and each executor some


def versions_here(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield this worker's versions, and what is wrong with its pyarrow, instead of the rows."""
    for _ in batches:
        pass
    time.sleep(HOLDS_A_CORE_SECONDS)
    fault = next((finding.what for finding in arrow_findings()), "")
    found = (socket.gethostname(), __version__, platform.python_version(), pa.__version__, fault)
    yield pa.RecordBatch.from_pydict({name: [value] for name, value in zip(COLUMNS, found, strict=True)})


def worker_versions(spark: Any) -> list[Any]:
    """Return the different answers of the workers, rows with COLUMNS. Raises as Spark does for a worker without Redolake."""
    tasks = cores(spark)
    schema = ", ".join(f"{name} string" for name in COLUMNS)
    answers: list[Any] = spark.range(0, tasks, 1, tasks).mapInArrow(versions_here, schema).distinct().collect()
    return sorted(answers)
