"""The columns of the lake's own log, and where it is."""

from __future__ import annotations

FOLDER = "_events"  # of the lake; no table's folder begins with _
FIELDS = {
    "id": "string",
    "happened_at": "timestamp",
    "pipeline": "string",
    "kind": "string",
    "table_name": "string",
    "from_scn": "bigint",
    "last_scn": "bigint",
    "row_count": "bigint",
    "inserted": "bigint",
    "updated": "bigint",
    "deleted": "bigint",
    "seconds": "double",
    "who": "string",
    "reason": "string",
    "text": "string",
}


def log_folder(lake: str) -> str:
    return f"{lake.rstrip('/')}/{FOLDER}"


def commits_of(pipeline: str) -> str:
    """Return the application id of the commits that append a pipeline's events: pipelines of one lake share its log."""
    return f"{pipeline}/events/0"
