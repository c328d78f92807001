"""Facts and rows out of Oracle, as values; the only place that knows the driver."""

from pipelines.source.connection import ConnectParams, connect_params, connection_from_json, connection_from_uri
from pipelines.source.dictionary import read_tables
from pipelines.source.facts import read_database, read_redo_facts, read_wide_logging
from pipelines.source.handover import Handover, first_window_start, read_handover, read_start
from pipelines.source.oracle import RetryRule, Source, open_source
from pipelines.source.preflight import Probed, Wanted, check, notes
from pipelines.source.probe import probe
from pipelines.source.snapshot import read_snapshot
from pipelines.source.supplemental import WideLogging, cure, is_enough

__all__ = [
    "ConnectParams",
    "Handover",
    "Probed",
    "RetryRule",
    "Source",
    "Wanted",
    "WideLogging",
    "check",
    "connect_params",
    "connection_from_json",
    "connection_from_uri",
    "cure",
    "first_window_start",
    "is_enough",
    "notes",
    "open_source",
    "probe",
    "read_database",
    "read_handover",
    "read_redo_facts",
    "read_snapshot",
    "read_start",
    "read_tables",
    "read_wide_logging",
]
