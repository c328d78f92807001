"""Find policies that change what this user reads of a table: VPD, Label Security, Data Redaction.

Snapshots and `verify` would silently get fewer rows or masked values, while the redo has all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from redolake.errors import ConfigurationError, Finding, SourceRefused
from redolake.source.dictionary import query_tables
from redolake.source.oracle import Source
from redolake.values.table import TableId

ACCESS, REDACTION = "EXEMPT ACCESS POLICY", "EXEMPT REDACTION POLICY"


def policy_findings(source: Source, ids: Sequence[TableId], container: str | None) -> tuple[Finding, ...]:
    """Return an error per policy that the user is not exempt from, and one where it can't be known whether there are any."""
    source.use_container(container)
    held = {row.privilege for row in source.query("session_privileges")}
    found: list[Finding] = []
    if ACCESS not in held:
        found += access_findings(source, ids)
    if REDACTION not in held:
        found += redaction_findings(source, ids)
    return tuple(found)


def require_unfiltered(source: Source, table: TableId, container: str | None) -> None:
    """Raise ConfigurationError where a SELECT of the table returns filtered or masked rows."""
    found = policy_findings(source, (table,), container)
    if found:
        raise ConfigurationError(found)


def access_findings(source: Source, ids: Sequence[TableId]) -> Iterator[Finding]:
    cure = f"GRANT {ACCESS} TO {source.user} in the PDB, or remove the table from `tables`"
    for table, rows in query_tables(source, "table_policies", ids).items():
        for row in rows:
            function = f"{row.pf_owner}.{row.function}"
            yield Finding(str(table), f"policy {row.policy_name} ({function}) filters the rows that this user reads", cure)
    try:
        labelled = query_tables(source, "table_label_policies", ids)
    except SourceRefused:  # not installed, or not visible
        yield from label_security_findings(source)
        return
    for table, rows in labelled.items():
        for row in rows:
            what = f"policy {row.policy_name} of Label Security filters the rows that this user reads"
            yield Finding(str(table), what, cure)


def label_security_findings(source: Source) -> Iterator[Finding]:
    """Yield an error where Label Security may filter rows although its views are not visible."""
    exempt = f"GRANT {ACCESS} TO {source.user} in the PDB"
    try:
        enabled = any(row.value == "TRUE" for row in source.query("label_security"))
    except SourceRefused as error:
        what = f"{error.what}: Label Security may filter the rows that this user reads, and it can't be seen whether it does"
        yield Finding("statement label_security", what, f"{error.cure}; or {exempt}")
        return
    if enabled:
        what = "Label Security is enabled, and this user may not see which tables it filters (ALL_SA_TABLE_POLICIES)"
        yield Finding("policies", what, exempt)


def redaction_findings(source: Source, ids: Sequence[TableId]) -> Iterator[Finding]:
    exempt = f"GRANT {REDACTION} TO {source.user} in the PDB"
    try:
        redacted = query_tables(source, "table_redactions", ids)
    except SourceRefused as error:
        what = f"{error.what}: Data Redaction may mask values that this user reads, and it can't be seen whether it does"
        yield Finding("statement table_redactions", what, f"{error.cure}; or {exempt}")
        return
    for table, rows in redacted.items():
        for row in rows:
            what = f"policy {row.policy_name} of Data Redaction masks values that this user reads"
            yield Finding(str(table), what, f"{exempt}, or remove the table from `tables`")
