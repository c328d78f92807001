"""Check the configuration, the places to write and the source before the first run; report all findings at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from redolake.config import Pipeline
from redolake.config.mapping import by_column
from redolake.context import Run, open_to_read
from redolake.decode.choice import why_plain
from redolake.decode.datatypes import why_refused
from redolake.decode.datatypes.character import CODECS
from redolake.errors import ConfigurationError, Finding, LandingMissing, LedgerOutdated, NoDictionaryInRedo, RedolakeError
from redolake.reconcile.chosen_columns import chosen_columns, rules_of
from redolake.reconcile.doubt import DOUBT_CURE, doubt_text
from redolake.reconcile.lake_place import check_landing
from redolake.reconcile.ledger import landed_position
from redolake.reconcile.table_versions import dropped_tables
from redolake.records.codec import from_body
from redolake.records.shown_facts import FailureFact
from redolake.source import (
    ConfiguredTable,
    ProbeResult,
    Source,
    number_findings,
    preflight_findings,
    preflight_notes,
    probe,
    rds_findings,
)
from redolake.source.olr import table_findings
from redolake.steps.checks.damaged_histories import damaged_histories
from redolake.steps.checks.doctor_report import DoctorReport, doctor_report
from redolake.steps.checks.expression_findings import expression_findings
from redolake.steps.checks.key_findings import neighbour_keys
from redolake.steps.checks.lake_findings import lake_findings
from redolake.steps.checks.mapping_findings import (
    NOTHING,
    Known,
    idle_masks,
    known_versions_of_all,
    mapped_version,
    mapping_findings,
    places_of_names,
)
from redolake.steps.checks.old_timestamps import old_timestamps
from redolake.steps.checks.running_stream import known_tables, replicator_findings
from redolake.steps.checks.snapshot_estimates import estimate_findings, estimates, undo_retention, unknown_sizes
from redolake.steps.checks.validation import place_findings
from redolake.steps.shared.doubt import ask_primary
from redolake.steps.shared.folders import folder_findings, taken_folders, with_contents
from redolake.steps.shared.matched_tables import pattern_findings
from redolake.steps.shared.redo_dictionary import dictionary_for
from redolake.steps.shared.redo_streams import stream_findings
from redolake.steps.shared.same_container import pdb_change, recorded_container
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.redo import RedoFacts
from redolake.values.scn import ChainPosition
from redolake.values.table import TableId
from redolake.window import Lost, plan_window
from redolake.window.container import parameter_changes

FORMS_CURE = (
    "run `redolake selftest --scratch-connection CONNECTION`, which tries the chain under the new setting. A form of redo that "
    "is not understood holds its table"
)


def examine(run: Run, *, ask_spark: bool = False, file: Path | None = None) -> DoctorReport:
    """Return the findings of the places to write and of the source, errors first, and a summary of each schema whose tables
    could be read. A refused connection is a finding too, and so is a ledger that cannot be opened: the Run is closed. With
    `ask_spark`, Spark resolves the expressions of mappings. Lines are those of `file`."""
    checked, findings, tables = checked_tables(run, file)
    if ask_spark:
        findings = sorted([*findings, *expression_findings(run, checked, tables, file)], key=gravity)
    return doctor_report(checked, findings)


def checked_tables(run: Run, file: Path | None) -> tuple[Pipeline, list[Finding], tuple[DictionaryTable, ...]]:
    """Return the pipeline with the tables that could be checked, all findings, and the tables as the dictionary has them."""
    pipeline = run.configured
    unread = pipeline.model_copy(update={"tables": []})
    of_lake = (*neighbour_keys(pipeline), *old_timestamps(pipeline), *damaged_histories(pipeline), *unwritten_log(pipeline))
    findings = [*place_findings(pipeline), *of_lake]
    if pipeline.source.connection is None:
        return unread, sorted([*findings, *replicator_findings(pipeline, known_tables(pipeline))], key=gravity), ()
    of_patterns: list[Finding] = []
    try:
        with run.connect() as oracle:
            if pipeline.patterns:
                pipeline, of_patterns = pattern_findings(pipeline, oracle)
            gone = known_drops(pipeline)
            there = [table.id for table in pipeline.tables if table.id not in gone]
            probed = probe(oracle, pipeline.source.container, there, run.report, pipeline.renamed)
            of_patterns += dictionary_findings(pipeline, oracle, probed.redo)
            rules = {table.id: rules_as_named(pipeline, probed, table.id) for table in pipeline.tables}
            of_patterns += findings_of_folders(pipeline, findings)
            of_patterns += large_table_findings(pipeline, oracle, probed)
            numbers = tuple(number_findings(oracle, pipeline.source.container, probed.tables.values(), rules))
            doubts = doubt_notes(run.pipeline, oracle)
    except ConfigurationError as error:
        return unread, [*(f for f in findings if f.severity == "error" and f not in error.findings), *error.findings], ()
    except RedolakeError as error:
        return unread, [*findings, Finding(f"connection {pipeline.source.connection}", error.what, error.cure)], ()
    found = findings_of(pipeline, probed, there, Known(file, known_versions_of_all(pipeline)))
    of_source = [
        *found,
        *idle_masks(pipeline, probed.tables.values(), file),
        *map(dropped_note, gone.items()),
        *numbers,
        *of_patterns,
        *position_findings(pipeline, probed),
        *replicator_findings(pipeline, chosen_of(pipeline, probed, there)),
        *preflight_notes(probed),
        *parameter_notes(pipeline, probed),
        *doubts,
        *decoding_notes(),
        *rowid_notes(pipeline),
    ]
    if probed.rds is not None:
        of_source = rds_findings(probed.rds, of_source)
    found_tables = tuple(probed.tables[table] for table in there if table in probed.tables)
    return pipeline if probed.tables else unread, sorted([*findings, *of_source], key=gravity), found_tables


def parameter_notes(pipeline: Pipeline, probed: ProbeResult) -> list[Finding]:
    """Return a note for each parameter that may change forms of redo, and was another when capture began."""
    if probed.database is None:
        return []
    with suppress(RedolakeError), open_to_read(pipeline) as context:
        start = context.landing.handover.start()
        changes = parameter_changes(start.parameters if start is not None else {}, probed.database.parameters)
        return [Finding(name, what, FORMS_CURE, severity="note") for name, what in changes]
    return []


def doubt_notes(pipeline: Pipeline, oracle: Source) -> list[Finding]:
    """Return a note of what is in doubt after a hand-over on a standby alone, as capture has recorded it last."""
    with suppress(RedolakeError):
        if (doubt := ask_primary(pipeline, oracle)) is not None:
            cure = "" if doubt.gone_scn is not None else DOUBT_CURE
            return [Finding("hand-over", doubt_text(doubt), cure, "note")]
    return []


def dictionary_findings(pipeline: Pipeline, oracle: Source, redo: RedoFacts | None) -> list[Finding]:
    """Return a finding where names shall come from the redo, and no archived log of the incarnation has a whole dictionary."""
    if redo is None:
        return []
    if redo.is_standby and pipeline.source.is_stream and pipeline.source.primary is None:
        what = (
            "is a physical standby, and no primary is named: what is sent is received, and no table can be read, for "
            "OpenLogReplicator sends no transaction that began before it"
        )
        cure = "name the connection of its primary as `primary` below `source` in pipelines.yml"
        return [Finding("open transactions", what, cure, "warning")]
    try:
        dictionary_for(pipeline, oracle, ChainPosition(redo.current_incarnation.resetlogs_id, int(redo.current_scn)))
    except NoDictionaryInRedo as error:
        return [Finding("`dictionary: redo`", error.what, error.cure)]
    return []


def large_table_findings(pipeline: Pipeline, oracle: Source, probed: ProbeResult) -> list[Finding]:
    """Return what the snapshots of large tables that have no contents yet will take."""
    filled = tables_with_contents(pipeline)
    tables = chosen_columns(pipeline, {table: found for table, found in probed.tables.items() if table not in filled})
    found, unknown = estimates(pipeline, oracle, tuple(tables.values()))
    of_size = unknown_sizes(pipeline, unknown)
    return [*estimate_findings(found, undo_retention(oracle) if found else None), *of_size]


def tables_with_contents(pipeline: Pipeline) -> frozenset[TableId]:
    try:
        with open_to_read(pipeline) as context:
            return frozenset(with_contents(context))
    except RedolakeError:
        return frozenset()  # validate reports it


def decoding_notes() -> list[Finding]:
    """Return a note where redo would be decoded without compiled code, if Spark's Python were this one."""
    why = why_plain()
    cure = "install redolake[compiled] where Spark's Python workers run"
    return [Finding("decoding", f"takes three times the CPU time: {why}", cure, severity="note")] if why else []


def rowid_notes(pipeline: Pipeline) -> list[Finding]:
    """Return a note for each table by ROWID: which one LogMiner shows of a migrated or chained row is not published."""
    what = "`key: rowid`: where redo shows a migrated row under two ROWIDs, it stays in the lake after its DELETE"
    return [
        Finding(str(one.id), what, f"only `redolake verify {one.id}` finds it: run it regularly", "note")
        for one in pipeline.tables
        if one.key == "rowid"
    ]


def unwritten_log(pipeline: Pipeline) -> list[Finding]:
    """Return why the lake's own log could not be written last, as a warning: no table waits for it."""
    with suppress(RedolakeError), open_to_read(pipeline) as context:
        if (body := context.ledger.fact("events")) is not None:
            fact = from_body(FailureFact, body, "the last failure of the lake's log")
            return [Finding(f"{pipeline.name}.lake", f"{fact.what}, since {fact.since}", fact.cure, "warning")]
    return []


def known_drops(pipeline: Pipeline) -> dict[TableId, int]:
    """Return the dropped tables that `on_ddl: drop_table: keep` keeps, by SCN; none where the ledger cannot be read."""
    try:
        with open_to_read(pipeline) as context:
            return dropped_tables(context)
    except RedolakeError:
        return {}  # validate reports it


def findings_of_folders(pipeline: Pipeline, of_places: Sequence[Finding]) -> list[Finding]:
    """Return the tables that have no folder of their own in the lake; of those with contents, each batch looks at it too."""
    if any(finding.severity == "error" for finding in of_places):
        return []
    with suppress(LedgerOutdated), open_to_read(pipeline) as context:
        context.pipeline = pipeline  # with the tables that its patterns match now
        try:
            if context.ledger.position() is None:
                check_landing(context)
        except LandingMissing as error:
            return [Finding(f"{pipeline.name}.landing", error.what, error.cure)]
        filled = with_contents(context)
        crowded = folder_findings(pipeline, filled)
        empty = [table.id for table in pipeline.tables if table.id not in filled | set(crowded)]
        return [*crowded.values(), *taken_folders(context, empty).values()]
    return []  # place_findings says that the ledger is to be migrated


def dropped_note(dropped: tuple[TableId, int]) -> Finding:
    table, scn = dropped
    return Finding(
        str(table), f"was dropped at SCN {scn}; its Delta table stays as it is (`on_ddl: drop_table: keep`)", severity="note"
    )


def gravity(finding: Finding) -> int:
    """Return the sort key that puts errors first and keeps the order of the checks otherwise."""
    return ("error", "warning", "note").index(finding.severity)


def source_findings(pipeline: Pipeline, oracle: Source, tables: Sequence[TableId]) -> tuple[Finding, ...]:
    """Return what is wrong with the source and these tables, which are read now."""
    probed = probe(oracle, pipeline.source.container, tables, renamed=pipeline.renamed)
    known = known_versions_of_all(pipeline) if pipeline.has_masks else {}
    return findings_of(pipeline, probed, tables, Known(versions=known, read_again=True))


def findings_of(
    pipeline: Pipeline, probed: ProbeResult, tables: Sequence[TableId], known: Known = NOTHING
) -> tuple[Finding, ...]:
    own, is_stream = pipeline.table, pipeline.source.is_stream
    wanted = tuple(
        ConfiguredTable(
            table, rules_as_named(pipeline, probed, table), own(table).key_policy, pipeline.choice(table), is_stream
        )
        for table in tables
    )
    of_stream = [finding for table in chosen_of(pipeline, probed, tables) for finding in table_findings(table)]
    of_columns = {finding.subject for finding in of_stream}.difference(map(str, tables))
    found = (
        *(finding for finding in preflight_findings(probed, wanted, why_refused) if finding.subject not in of_columns),
        *(
            finding
            for one in wanted
            if one.table in probed.tables
            for finding in (
                *findings_of_lake(pipeline, probed.tables[one.table], one, known),
                *mapping_findings(pipeline, probed.tables[one.table], probed.database_logging, known),
            )
        ),
        *of_stream,
    )
    sets = probed.encoding
    if probed.database is not None and sets is not None and sets.text == "US7ASCII":
        what = "character set US7ASCII: bytes above 127, which old clients store there, reach every client as U+FFFD or `?`"
        cure = "migrate the database to AL32UTF8, or leave such columns out (`exclude_columns`), unless there are none"
        found = (*found, Finding(f"database {probed.database.name}", what, cure, "warning"))
    if probed.database is None or sets is None or sets.text in CODECS:
        return found
    what = f"character set {sets.text} has no decoder: a table is held if redo from before a DDL of it is mined after that DDL"
    cure = f"take a new snapshot of a table once it is held. These have a decoder: {', '.join(CODECS)}"
    return (*found, Finding(f"database {probed.database.name}", what, cure, "warning"))


def rules_as_named(pipeline: Pipeline, probed: ProbeResult, table: TableId) -> Mapping[str, str | int]:
    """Return the table's rules by the names of its columns, as far as these are known."""
    found = probed.tables.get(table)
    return by_column(pipeline.table(table).rules, () if found is None else [column.name for column in found.columns])


def chosen_of(pipeline: Pipeline, probed: ProbeResult, tables: Sequence[TableId]) -> Iterator[DictionaryTable]:
    """Yield the tables that OpenLogReplicator shall give, without the columns that are left out."""
    described = {table: probed.tables[table] for table in tables if table in probed.tables}
    yield from chosen_columns(pipeline, described).values() if pipeline.source.is_stream else ()


def findings_of_lake(pipeline: Pipeline, table: DictionaryTable, wanted: ConfiguredTable, known: Known) -> Iterator[Finding]:
    options, version = pipeline.target_options(wanted.table), mapped_version(pipeline, table)
    return lake_findings(table, wanted, rules_of(pipeline, table), options, version, places_of_names(pipeline, table, known))


def position_findings(pipeline: Pipeline, probed: ProbeResult) -> list[Finding]:
    """Check that the redo needed next is available: same database, known incarnation, every archived log. That a log is there
    and cannot be read, a run has found: no log is read here."""
    if probed.redo is None:
        return []
    try:
        with open_to_read(pipeline) as context:
            position, loss = context.ledger.position(), context.ledger.loss()
            landed_position(context)
            # A PDB that is closed shows no facts; another finding says so.
            was_read = pipeline.source.container is None or probed.container_facts is not None
            changed = (
                pdb_change(context, recorded_container(context), probed.container_facts, probed.encoding)
                if position and was_read
                else None
            )
    except LandingMissing as error:
        return [Finding(f"{pipeline.name}.landing", error.what, error.cure)]
    except RedolakeError:
        return []  # validate reports it
    if changed is not None:
        container = pipeline.source.container
        return [Finding(f"container {container}" if container else "database", changed.what, changed.cure)]
    where = "" if position is None else f"{pipeline.name} at SCN {position.scn}"
    met = [] if loss is None or loss.step != "mine" else [Finding(where, loss.error["what"], loss.error["cure"])]
    if pipeline.source.is_stream:  # it has read the logs that Oracle may have deleted since
        return [*met, *stream_findings(pipeline, position, probed.redo)]
    found = None if position is None else plan_window(position, probed.redo, pipeline.window)
    return [Finding(where, found.error.what, found.error.cure)] if isinstance(found, Lost) else met
