"""Views of policies on tables: VPD, Label Security, Data Redaction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from standin.interface import OraError
from standin.model import PDB, Policy
from standin.views.registration import Row, ViewRow, dictionary_views, fixed_view

if TYPE_CHECKING:
    from standin.engine.database.database import Database
    from standin.engine.sessions.session import EngineSession

_FUNCTIONS = {"VPD": ("SEC", None, "ADMITTED"), "LABEL": ("LBACSYS", "LBAC_RLS", "READ_FILTER")}


def policies(database: Database) -> Iterator[ViewRow]:
    for p in database.state.policies:
        hidden = p.kind == "LABEL" and database.options.hides_label_policies
        table = database.state.tables.get((PDB, p.owner, p.table))
        if p.kind == "REDACTION" or hidden or table is None:
            continue
        values = (p.owner, p.table, "SYS_DEFAULT", p.name, *_FUNCTIONS[p.kind], "YES", "NO", "NO", "NO", "NO", "NO", "YES")
        yield ViewRow(PDB, p.owner, table, values)


def _here(session: EngineSession, kind: str) -> Iterator[Policy]:
    return (p for p in session.database.state.policies if p.kind == kind and session.container == PDB)


def redaction_policies(session: EngineSession) -> Iterator[Row]:
    for p in _here(session, "REDACTION"):
        yield (p.owner, p.table, p.name, "1=1", "YES", None)


def label_policies(session: EngineSession) -> Iterator[Row]:
    """Yield the tables of Label Security, whose views do not exist where it is not installed."""
    if not any(p.kind == "LABEL" for p in session.database.state.policies):
        raise OraError(942, "table or view does not exist")
    for p in _here(session, "LABEL"):
        yield (p.name, p.owner, p.table, "ENABLED", "READ_CONTROL", None, None)


def options(session: EngineSession) -> Iterator[Row]:
    installed = any(p.kind == "LABEL" for p in session.database.state.policies)
    yield ("Oracle Label Security", "TRUE" if installed else "FALSE", 0)


def register() -> None:
    dictionary_views(
        "POLICIES",
        """OBJECT_OWNER VARCHAR2(128), OBJECT_NAME VARCHAR2(128), POLICY_GROUP VARCHAR2(128), POLICY_NAME VARCHAR2(128),
        PF_OWNER VARCHAR2(128), PACKAGE VARCHAR2(128), FUNCTION VARCHAR2(128), SEL VARCHAR2(3), INS VARCHAR2(3),
        UPD VARCHAR2(3), DEL VARCHAR2(3), IDX VARCHAR2(3), CHK_OPTION VARCHAR2(3), ENABLE VARCHAR2(3)""",
        policies,
    )
    fixed_view(
        "REDACTION_POLICIES",
        """OBJECT_OWNER VARCHAR2(128), OBJECT_NAME VARCHAR2(128), POLICY_NAME VARCHAR2(128), EXPRESSION VARCHAR2(4000),
        ENABLE VARCHAR2(7), POLICY_DESCRIPTION VARCHAR2(4000)""",
        redaction_policies,
    )
    fixed_view(
        "ALL_SA_TABLE_POLICIES",
        """POLICY_NAME VARCHAR2(30), SCHEMA_NAME VARCHAR2(128), TABLE_NAME VARCHAR2(128), STATUS VARCHAR2(8),
        TABLE_OPTIONS VARCHAR2(4000), FUNCTION VARCHAR2(1024), PREDICATE VARCHAR2(256)""",
        label_policies,
        public=True,
    )
    fixed_view("V$OPTION", "PARAMETER VARCHAR2(64), VALUE VARCHAR2(64), CON_ID NUMBER", options)
