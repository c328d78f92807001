"""The file that a Spark job is started with, a batch, a snapshot load or maintenance; and the one in which a failed job leaves
its error."""

from __future__ import annotations

from dataclasses import dataclass

from redolake.errors import LandingDamaged
from redolake.records.batches.manifest import BatchResult
from redolake.records.batches.spec import BatchSpec
from redolake.records.codec import decode_one_of
from redolake.records.loads import SnapshotResult, SnapshotSpec
from redolake.records.maintenance import MaintenanceResult, MaintenanceSpec

TERMINAL_EXIT = 3  # exit code of a job that would fail the same way again; 1 for all else
AGAIN = "run again, which writes another spec; in Airflow, clear the task that prepares it"
Spec = BatchSpec | SnapshotSpec | MaintenanceSpec
Result = BatchResult | SnapshotResult | MaintenanceResult


def decode_spec(text: bytes | str, file: str) -> Spec:
    """Decode the spec of a Spark job. Raises FormatTooNew, LandingDamaged."""
    try:
        spec: Spec = decode_one_of((BatchSpec, SnapshotSpec, MaintenanceSpec), text, file)
    except LandingDamaged as error:
        raise LandingDamaged(error.what, cure=AGAIN, path=file) from error
    return spec


@dataclass(frozen=True, slots=True)
class JobFailure:
    """The typed error that ended a Spark job. A cluster shows nothing else of it to the process that waits."""

    terminal: bool
    text: str
