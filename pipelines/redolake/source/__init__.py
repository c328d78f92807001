"""Read facts and rows from Oracle as plain values. Only this package imports the driver."""

from redolake.source.capture_findings import ConfiguredTable, capture_findings
from redolake.source.chunks import CutTable, TableSize, cut_by_key_ranges, cut_table, part_for, read_sizes
from redolake.source.connection import (
    ConnectParams,
    connect_params,
    connection_from_json,
    connection_from_uri,
    is_connection_set,
    parts_of,
)
from redolake.source.dictionary import read_tables
from redolake.source.driver_check import driver_findings
from redolake.source.facts import (
    FORM_PARAMETERS,
    read_container,
    read_current_scn,
    read_database,
    read_database_logging,
    read_encoding,
    read_parameters,
    read_redo_dictionaries,
    read_redo_facts,
)
from redolake.source.handover import (
    Handover,
    first_window_start,
    read_handover,
    read_handover_and_tables,
    read_open_transactions,
)
from redolake.source.log_headers import read_log_headers
from redolake.source.number_range import number_findings, number_rules
from redolake.source.oracle import Source, open_source
from redolake.source.policies import require_unfiltered
from redolake.source.preflight import ProbeResult, preflight_findings, preflight_notes
from redolake.source.probe import probe
from redolake.source.rds import rds_findings
from redolake.source.reread import Wanted, read_again
from redolake.source.scn_clock import read_scn_at
from redolake.source.snapshot import NO_ITEMS, WHOLE, Part, counted_rows, read_snapshot
from redolake.source.supplemental import DatabaseLogging, has_needed_logging, logging_cure
from redolake.source.table_list import ListedTable, list_tables

__all__ = [
    "FORM_PARAMETERS",
    "NO_ITEMS",
    "WHOLE",
    "ConfiguredTable",
    "ConnectParams",
    "CutTable",
    "DatabaseLogging",
    "Handover",
    "ListedTable",
    "Part",
    "ProbeResult",
    "Source",
    "TableSize",
    "Wanted",
    "capture_findings",
    "connect_params",
    "connection_from_json",
    "connection_from_uri",
    "counted_rows",
    "cut_by_key_ranges",
    "cut_table",
    "driver_findings",
    "first_window_start",
    "has_needed_logging",
    "is_connection_set",
    "list_tables",
    "logging_cure",
    "number_findings",
    "number_rules",
    "open_source",
    "part_for",
    "parts_of",
    "preflight_findings",
    "preflight_notes",
    "probe",
    "rds_findings",
    "read_again",
    "read_container",
    "read_current_scn",
    "read_database",
    "read_database_logging",
    "read_encoding",
    "read_handover",
    "read_handover_and_tables",
    "read_log_headers",
    "read_open_transactions",
    "read_parameters",
    "read_redo_dictionaries",
    "read_redo_facts",
    "read_scn_at",
    "read_sizes",
    "read_snapshot",
    "read_tables",
    "require_unfiltered",
]
