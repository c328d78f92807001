"""Doctor's findings about many tables: one line for one cause, and a summary of each schema."""

from __future__ import annotations

from rich.console import Console

from redolake.cli.output import doctor_text
from redolake.config import Pipeline, Table
from redolake.config.tables import Match
from redolake.errors import Finding
from redolake.steps.checks.doctor_report import doctor_report
from redolake.values.table import TableId

DOCUMENTS = [f"APP.DOC{number:03d}" for number in range(100)]
TABLES = [*DOCUMENTS, 'APP."Odd.Name"', {"table": "HR.JOBS", "key": "rowid"}, "HR.PLAIN"]
PIPELINE = Pipeline.model_validate(
    {"name": "p", "source": {"connection": "x"}, "landing": "/l", "lake": "/d", "tables": TABLES}
)
CLOBS = [
    Finding(f"{table}.{column}", "CLOB: is not captured", f"drop the column, or remove {table} from `tables`")
    for table in DOCUMENTS
    for column in ("BODY", "NOTES")
]
OTHERS = [
    Finding('APP."Odd.Name"', "has no enabled primary key", "declare one"),
    Finding("database DB1", "runs in NOARCHIVELOG mode", "ALTER DATABASE ARCHIVELOG"),
    Finding("HR.PLAIN", "supplemental logging of all columns, set on the table", severity="note"),
]
REPORT = doctor_report(PIPELINE, [*CLOBS, *OTHERS])


def test_one_cause_in_many_tables_is_one_group_with_a_general_cure() -> None:
    clobs, *others = REPORT.groups

    assert (len(clobs.subjects), clobs.tables) == (200, 100)
    assert clobs.cure == "drop the column, or remove OWNER.TABLE from `tables`"
    assert [group.subjects for group in others] == [(finding.subject,) for finding in OTHERS]


def test_each_schema_has_its_counts_and_the_reasons_of_refusals() -> None:
    app, hr = REPORT.schemas

    assert (app.tables, app.as_is, app.with_settings, app.refused) == (101, 0, 0, 101)
    assert app.reasons == {"CLOB": 100, "has no enabled primary key": 1}
    assert (hr.tables, hr.as_is, hr.with_settings, hr.refused) == (2, 1, 1, 0)


def test_a_table_that_a_pattern_matches_without_settings_is_captured_as_it_is() -> None:
    matched = PIPELINE.model_copy(
        update={
            "tables": [
                Match(match="HR.*").table(TableId("HR", "PLAIN")),
                Match(match="HR.*", key="rowid").table(TableId("HR", "RULED"), TableId("HR", "RENAMED")),
                Table(table="HR.DEFAULTS", key="primary", columns={}),
            ]
        }
    )

    (hr,) = doctor_report(matched, []).schemas

    assert (hr.as_is, hr.with_settings) == (2, 1)


def test_the_text_is_short_and_begins_with_a_line_of_totals() -> None:
    console = Console(width=80)
    with console.capture() as captured:
        console.print(doctor_text(REPORT, "No problems found."))
    lines = captured.get().splitlines()

    assert len(lines) < 25
    assert max(map(len, lines)) <= 80
    words = " ".join(captured.get().split())
    assert "CLOB: is not captured in 100 table(s): APP.DOC000.BODY, " in words
    assert "and 192 more" in words
    assert words.startswith("103 table(s) in 2 schema(s): 2 captured, 101 refused; 202 error(s), 0 warning(s), 1 note(s)")
