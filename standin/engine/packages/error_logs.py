"""DBMS_ERRLOG.CREATE_ERROR_LOG: the table into which LOG ERRORS writes."""

from __future__ import annotations

from typing import Any

from standin.engine.ddl.error_logs import CONTROL_COLUMNS, UNSUPPORTED, default_name, logged_type
from standin.engine.ddl.statement import run_ddl
from standin.engine.packages.statistics import as_dictionary
from standin.engine.sessions.names import table_named
from standin.engine.sessions.procedures import Parameter, procedures
from standin.engine.sessions.session import EngineSession
from standin.interface import OraError


def create_error_log(
    session: EngineSession,
    dml_table_name: Any,
    err_log_table_name: Any,
    err_log_table_owner: Any,
    err_log_table_space: Any,
    skip_unsupported: Any,
) -> None:
    with session.database.lock:
        owner, _, name = str(dml_table_name).rpartition(".")
        table = table_named(session, as_dictionary(owner) if owner else session.schema, as_dictionary(name)).definition
        left_out = [c.name for c in table.columns if c.type.name in UNSUPPORTED or c.type.kind]
        if left_out and not skip_unsupported:
            raise OraError(20069, f"Unsupported column type(s) found: {' '.join(left_out)}")
        kept = [c for c in table.shown if c.name not in left_out]
        columns = [*CONTROL_COLUMNS.items(), *((c.name, logged_type(c.type)) for c in kept)]
        log = as_dictionary(str(err_log_table_name)) if err_log_table_name else default_name(table.name)
        place = as_dictionary(str(err_log_table_owner)) if err_log_table_owner else session.schema
        listed = ", ".join(f'"{column}" {kind}' for column, kind in columns)
        run_ddl(session, f'CREATE TABLE "{place}"."{log}" ({listed})')


def register() -> None:
    optional = ("err_log_table_name", "err_log_table_owner", "err_log_table_space")
    parameters: list[Parameter | str] = ["dml_table_name", *(Parameter(name, None) for name in optional)]
    parameters.append(Parameter("skip_unsupported", False))
    procedures.register("DBMS_ERRLOG.CREATE_ERROR_LOG", create_error_log, parameters, public=True)
