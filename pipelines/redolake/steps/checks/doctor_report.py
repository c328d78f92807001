"""Put doctor's findings together: by schema for an overview, and by cause, so that a cause in many tables is shown once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from redolake.config import Pipeline, Table
from redolake.errors import Finding, one_line
from redolake.values.table import TableId


@dataclass(frozen=True, slots=True)
class SchemaSummary:
    """Tables of one owner. `refused` are those with errors; `reasons` counts them by cause, the commonest first."""

    schema: str
    tables: int
    as_is: int
    with_settings: int
    refused: int
    reasons: Mapping[str, int]

    def __str__(self) -> str:
        text = f"{self.schema}: {self.tables} table(s), {self.as_is} captured as they are"
        if self.with_settings:
            text += f", {self.with_settings} with settings of their own"
        if self.refused:
            text += f", {self.refused} refused ({', '.join(f'{cause} {count}' for cause, count in self.reasons.items())})"
        return one_line(text)


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """Findings that say the same of several subjects. The cure names OWNER.TABLE where there is more than one."""

    severity: str
    what: str
    cure: str
    subjects: tuple[str, ...]
    tables: int


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """`ok` says that nothing is an error. `findings` has errors first."""

    ok: bool
    findings: tuple[Finding, ...]
    schemas: tuple[SchemaSummary, ...]
    groups: tuple[FindingGroup, ...]

    @property
    def closing(self) -> str:
        """The line below everything else."""
        found = Counter(finding.severity for finding in self.findings)
        tables, refused = sum(s.tables for s in self.schemas), sum(s.refused for s in self.schemas)
        counts = f"{found['error']} error(s), {found['warning']} warning(s), {found['note']} note(s)"
        return f"{tables} table(s) in {len(self.schemas)} schema(s): {tables - refused} captured, {refused} refused; {counts}"


def doctor_report(pipeline: Pipeline, findings: Sequence[Finding]) -> DoctorReport:
    """Return the report on a pipeline whose `tables` are those that were checked."""
    tables = {str(table.id): table for table in pipeline.tables}
    return DoctorReport(
        ok=all(finding.severity != "error" for finding in findings),
        findings=tuple(findings),
        schemas=summaries(tables, findings),
        groups=group_findings(findings, tables),
    )


def table_of(subject: str, tables: Collection[str]) -> str | None:
    """Return the table that a finding's subject is, or that its column belongs to."""
    ends = [at for at, character in enumerate(subject) if character == "."]
    return next((part for end in (*ends, len(subject)) if (part := subject[:end]) in tables), None)


def summaries(tables: Mapping[str, Table], findings: Iterable[Finding]) -> tuple[SchemaSummary, ...]:
    causes: dict[str, set[str]] = {}
    for finding in findings:
        if finding.severity == "error" and (table := table_of(finding.subject, tables)) is not None:
            causes.setdefault(table, set()).add(finding.what.partition(":")[0])
    found = []
    for owner in sorted({table.id.owner for table in tables.values()}):
        own = {name: table for name, table in tables.items() if table.id.owner == owner}
        refused = [name for name in own if name in causes]
        ruled = [name for name, table in own.items() if name not in causes and has_own_settings(table)]
        counts = Counter(cause for name in refused for cause in causes[name])
        found.append(
            SchemaSummary(
                schema=owner,
                tables=len(own),
                as_is=len(own) - len(refused) - len(ruled),
                with_settings=len(ruled),
                refused=len(refused),
                reasons=dict(counts.most_common()),
            )
        )
    return tuple(found)


def has_own_settings(table: Table) -> bool:
    """Return whether a setting that is not the default says how the table is captured, whoever wrote defaults out."""
    named = {"table", "target", "renamed_to"}
    return table.model_dump(exclude=named) != Table(table=table.table).model_dump(exclude=named)


def group_findings(findings: Iterable[Finding], tables: Collection[str]) -> tuple[FindingGroup, ...]:
    """Join findings that differ in their table or column only, in the order of the first of each."""
    groups: dict[tuple[str, str, str], list[tuple[Finding, str | None]]] = {}
    for finding in findings:
        table = table_of(finding.subject, tables)
        key = (finding.severity, finding.what, general_cure(finding, table))
        groups.setdefault(key, []).append((finding, table))
    return tuple(
        FindingGroup(
            severity=severity,
            what=what,
            cure=cure if len(found) > 1 else found[0][0].cure,
            subjects=tuple(finding.subject for finding, _ in found),
            tables=len({table for _, table in found if table is not None}),
        )
        for (severity, what, cure), found in groups.items()
    )


def general_cure(finding: Finding, table: str | None) -> str:
    """Return the cure with OWNER.TABLE in place of the table's name."""
    if table is None:
        return finding.cure
    named = TableId.parse(table)
    return finding.cure.replace(f'"{named.owner}"."{named.name}"', "OWNER.TABLE").replace(table, "OWNER.TABLE")
