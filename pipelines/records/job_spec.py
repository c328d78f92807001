"""The file that a Spark job is started with: a batch or a snapshot load."""

from __future__ import annotations

from pipelines.errors import LandingDamaged
from pipelines.records.batch_result import BatchResult
from pipelines.records.batch_spec import BatchSpec
from pipelines.records.codec import decode_one_of
from pipelines.records.snapshot_load import SnapshotResult, SnapshotSpec

AGAIN = "run again, which writes another spec; in Airflow, clear the task that prepares it"
Spec = BatchSpec | SnapshotSpec
Result = BatchResult | SnapshotResult


def decode_spec(text: bytes | str, file: str) -> Spec:
    """Decode the spec of a Spark job. Raises FormatTooNew, LandingDamaged."""
    try:
        spec: Spec = decode_one_of((BatchSpec, SnapshotSpec), text, file)
    except LandingDamaged as error:
        raise LandingDamaged(error.what, cure=AGAIN, path=file) from error
    return spec
