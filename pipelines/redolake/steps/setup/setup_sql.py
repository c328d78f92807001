"""Choose what the set-up script contains, from options, the pipeline and its connection, and write it."""

from __future__ import annotations

import os
from collections.abc import Sequence

from redolake.config import Pipeline
from redolake.errors import ConfigurationError
from redolake.source import ConnectParams, connect_params
from redolake.source.setup_sql import (
    RDS_HOURS,
    Flavour,
    Grants,
    KeyLogging,
    SetupChoices,
    default_user,
    likely_flavour,
    setup_sql,
)
from redolake.steps.setup.init import pipeline_of
from redolake.values.table import TableId


def write_setup_sql(
    pipeline: Pipeline | None = None,
    *,
    flavour: Flavour | None = None,
    user: str | None = None,
    container: str | None = None,
    tables: Sequence[str] = (),
    key_logging: KeyLogging | None = None,
    force_logging: bool = False,
    archive_lag_seconds: int | None = None,
    retention_hours: int = RDS_HOURS,
    prompts: bool = True,
    grants: Grants | None = None,
    primary: bool = False,
) -> str:
    """Return the script for a DBA. An option is taken before the pipeline's setting, and that before the default. `tables` are
    entries as in pipelines.yml, patterns too. With `primary` it is that of the user of `source.primary` alone.

    No script can name the tables that a pattern will match, so `key_logging` is then that of the database by default."""
    params = None if pipeline is None else known_connection(pipeline.source.primary if primary else pipeline.source.connection)
    user = user or (params.user if params else None)
    container = container or (pipeline.source.container if pipeline else None)
    flavour = flavour or likely_flavour(
        user,
        params.dsn if params else None,
        container,
        pdb_only=params is not None and params.pdb_only,
        configured=pipeline is not None,
    )
    of_tables = pipeline_of(tables) if tables else pipeline
    matches = [] if of_tables is None else of_tables.matches
    patterns = tuple(match.pattern for match in matches if not match.excludes)
    return setup_sql(
        SetupChoices(
            flavour,
            user or default_user(flavour),
            container,
            logged_columns(of_tables),
            key_logging or (KeyLogging.database if patterns else KeyLogging.table),
            force_logging,
            archive_lag_seconds,
            retention_hours,
            prompts,
            patterns,
            tuple(match.pattern for match in matches if match.excludes),
            grants,
            rereads_types=pipeline is not None and rereads_types(pipeline),
            primary=primary,
        )
    )


def rereads_types(pipeline: Pipeline) -> bool:
    """Return whether rows with columns of users' types may be read again."""
    of_tables = (one.unsupported_columns for one in (*pipeline.tables, *pipeline.patterns))
    return "reread" in (pipeline.unsupported_columns, *of_tables)


def logged_columns(pipeline: Pipeline | None) -> dict[TableId, str]:
    """Return each configured table with the cheapest columns that suffice for its key."""
    tables = [] if pipeline is None else pipeline.tables
    return {table.id: "PRIMARY KEY" if table.key_policy.kind == "primary" else "ALL" for table in tables}


def known_connection(conn_id: str | None) -> ConnectParams | None:
    """Return the connection, or None where it is not configured yet: the script comes first."""
    try:
        return None if conn_id is None else connect_params(conn_id, os.environ)
    except ConfigurationError:
        return None
