"""Report before a load what stands in the way of a table's mapping, and what of it the redo would lack."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path

from redolake.config import Pipeline
from redolake.config.lines import line_of_setting
from redolake.context import open_to_read
from redolake.errors import Finding, RedolakeError, SchemaConflict
from redolake.reconcile.chosen_columns import chosen
from redolake.reconcile.lost_masks import lost_masks
from redolake.reconcile.mappings import CORRECT, Problem, has_mask, is_shaped, resolve_mapping
from redolake.reconcile.table_versions import all_known_versions
from redolake.schema import baseline
from redolake.source import DatabaseLogging, has_needed_logging, logging_cure
from redolake.steps.checks.personal_columns import personal
from redolake.steps.checks.user_code_findings import code_findings
from redolake.values.delivery import delivery_of, is_named_in_redo
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.history import taken_names, why_no_history
from redolake.values.lake_columns import with_lake_names
from redolake.values.mapping import CLEAR, needs_all_columns
from redolake.values.table import TableId, TableVersion


@dataclass(frozen=True, slots=True)
class Known:
    """The file that the settings were read from, and the versions of each table since its contents were read, which it goes on
    with unless it is `read_again` now."""

    file: Path | None = None
    versions: Mapping[TableId, Sequence[TableVersion]] = field(default_factory=dict)
    read_again: bool = False

    def first(self, table: TableId) -> TableVersion | None:
        return None if self.read_again else next(iter(self.versions.get(table, ())), None)


NOTHING = Known()


def mapping_findings(
    pipeline: Pipeline, table: DictionaryTable, logging: DatabaseLogging, known: Known = NOTHING
) -> Iterator[Finding]:
    """Yield an error for each problem of the table's mapping, and a note of the columns that look personal and have no mask."""
    name, version = str(table.table), read_version(pipeline, table)
    if version is None:
        return  # it has a finding of its own
    mapping, problems = resolve_mapping(pipeline, version)
    yield from history_findings(pipeline, replace(version, mapping=mapping))
    yield from problem_findings(pipeline, version.table, problems, known)
    lost = tuple(lost_masks(pipeline, known.versions.get(table.table, ()), version))
    yield from problem_findings(pipeline, version.table, lost, replace(known, read_again=True))
    key = pipeline.table(table.table).key_policy
    whole = needs_all_columns(mapping, version.key)
    if whole and not has_needed_logging(table, key, logging, all_columns=True):
        what = f"the redo of an UPDATE would lack columns that this needs: {', '.join(whole)}"
        yield Finding(name, what, f"{logging_cure(table, key, all_columns=True)}; take the snapshot afterwards")
    if mapping is not None and mapping.masked:
        yield from masking_findings(pipeline, name)
    yield from code_findings(pipeline, version)
    yield from quarantine_findings(pipeline, version)
    yield from personal_notes(pipeline, version)


def problem_findings(
    pipeline: Pipeline, table: TableId, problems: Sequence[Problem], known: Known = NOTHING
) -> Iterator[Finding]:
    """Yield an error for each problem, with the line of its setting in the file; a warning where it came with a DDL."""
    match, first = pipeline.match_of(table), known.first(table)
    since_first = {one.place for one in resolve_mapping(pipeline, first)[1]} if first is not None and problems else set()
    for one in problems:
        line = None
        if known.file is not None:
            line = line_of_setting(known.file, pipeline.name, table, None if match is None else match.match, one.place)
        cure = one.cure if line is None else at_line(one.cure, known.file, line)
        if first is None or one.place in since_first:
            yield Finding(str(table), one.what, cure)
        else:
            what = f"{one.what} any more: a DDL came after its snapshot, and the table goes on with its columns of then"
            yield Finding(str(table), what, f"leave it so; correct it before the table is read again: {cure}", "warning")


def places_of_names(pipeline: Pipeline, table: DictionaryTable, known: Known) -> Mapping[str, str]:
    """Return where the file gives columns their names in the lake, by these names."""
    if known.file is None:
        return {}
    shape, match = pipeline.settings(table.table), pipeline.match_of(table.table)
    settings = {**{new: ("rename", name) for name, new in shape.new_names.items()}, **{new: ("add", new) for new in shape.add}}
    of_match = None if match is None else match.match
    lines = {name: line_of_setting(known.file, pipeline.name, table.table, of_match, place) for name, place in settings.items()}
    return {name: f"{known.file}, line {line}" for name, line in lines.items() if line is not None}


def at_line(cure: str, file: Path | None, line: int) -> str:
    where = f"{file}, line {line}"
    return f"correct {where}" if cure == CORRECT else f"{cure}: {where}"


def known_versions_of_all(pipeline: Pipeline) -> Mapping[TableId, Sequence[TableVersion]]:
    """Return the versions of each table since its contents were read."""
    try:
        with open_to_read(pipeline) as context:
            return all_known_versions(context)
    except RedolakeError:
        return {}  # `validate` reports it


def known_mapping_findings(pipeline: Pipeline, file: Path | None = None) -> list[Finding]:
    """Return the problems of mappings of the tables whose columns the ledger knows; doctor looks at the others."""
    if not pipeline.matches and not any(is_shaped(pipeline.settings(table.id)) for table in pipeline.tables):
        return []
    try:
        with open_to_read(pipeline) as context:
            pipeline, versions = context.pipeline, all_known_versions(context)
    except RedolakeError:
        return []  # the places and the ledger are checked too
    known = Known(file, versions)
    newest = {table.id: versions[table.id][-1] for table in pipeline.tables if table.id in versions}
    problems = {table: resolve_mapping(pipeline, version)[1] for table, version in newest.items()}
    return [finding for table in newest for finding in problem_findings(pipeline, table, problems[table], known)]


def history_findings(pipeline: Pipeline, version: TableVersion) -> Iterator[Finding]:
    """Yield an error for a table that can have no history as pipelines.yml says. `version` has its mapping: a history has the
    names of the lake."""
    kind = pipeline.settings(version.table).history
    if (why := why_no_history(kind, [delivery_of(version)])) is not None:
        yield Finding(str(version.table), f"it can have no `history: {kind}`: {why}", "set `history: none` for it")
    names = [column.name for column in with_lake_names(version, pipeline.target_options(version.table)).columns]
    if kind != "none" and (taken := taken_names(names)):
        what = f"its history would have two columns of a name: {', '.join(taken)}"
        yield Finding(str(version.table), what, "set `history: none` for it, or give them another name (`rename`)")


def masking_findings(pipeline: Pipeline, table: str) -> Iterator[Finding]:
    if pipeline.show_row_data:
        what = "`show_row_data` lets errors contain the redo text of rows, and this table has masked columns"
        yield Finding(table, what, "do without `show_row_data`")
    if pipeline.masked_in_landing == "refuse" and pipeline.landing_key is None:
        what = "the landing has the text of the redo, with the clear text of masked columns"
        yield Finding(table, what, "encrypt it (`landing_key`); or set `masked_in_landing: clear`, and let only those read the "
                      "landing who may read the database")  # fmt: skip


def quarantine_findings(pipeline: Pipeline, version: TableVersion) -> Iterator[Finding]:
    """Yield a warning for a table that `on_error` puts into quarantine and that cannot have one."""
    if pipeline.settings(version.table).on_error.quarantined and not is_named_in_redo([delivery_of(version)]):
        what = (
            "`on_error: quarantine` is not possible for it, and a change that cannot be applied holds it: a quarantine needs a "
            "key without NULLs, and all values of a change in one row of the redo"
        )
        yield Finding(str(version.table), what, "write `on_error` with `hold` for the table, or leave it so", "warning")


def personal_notes(pipeline: Pipeline, version: TableVersion) -> Iterator[Finding]:
    masks = pipeline.settings(version.table).masks
    seen = [f"{c.name} ({what})" for c in version.columns if (what := personal(c.name)) and not has_mask(masks, c.name)]
    if seen:
        what = f"columns that look personal and have no mask: {', '.join(seen)}"
        yield Finding(
            str(version.table), what, "`mask` of the table, if they are; `clear` for those that are not", severity="note"
        )


def idle_masks(pipeline: Pipeline, tables: Collection[DictionaryTable], file: Path | None = None) -> Iterator[Finding]:
    """Yield a warning for each mask of the pipeline, or of a pattern of tables, for which no table has a column: a mistyped
    name leaves the column in clear text."""
    for match in (None, *pipeline.patterns):
        own = [table for table in tables if match is None or pipeline.match_of(table.table) == match]
        names = {column.name for table in own for column in table.columns}
        masks = pipeline.masks if match is None else match.masks
        for name in (name for name, mask in masks.items() if own and mask != CLEAR):
            if any(fnmatchcase(one, name) for one in names):
                continue
            pattern = None if match is None else match.match
            line = None if file is None else line_of_setting(file, pipeline.name, own[0].table, pattern, ("mask", name))
            cure = "correct the name, or take it out" + ("" if line is None else f": {file}, line {line}")
            yield Finding(f"{pipeline.name}.mask", f"`{name}` masks nothing: no table has such a column", cure, "warning")


def read_version(pipeline: Pipeline, table: DictionaryTable) -> TableVersion | None:
    """Return the version with which the table would be read; None if it cannot be."""
    own = pipeline.table(table.table)
    try:
        return baseline(chosen(pipeline, table), table.scn_before, None, own.key_policy, pipeline.choice(table.table))
    except SchemaConflict:
        return None


def mapped_version(pipeline: Pipeline, table: DictionaryTable) -> TableVersion | None:
    """Return that version with its mapping; None for columns as they are, or where a problem has a finding."""
    version = read_version(pipeline, table)
    mapping = None if version is None else resolve_mapping(pipeline, version)[0]
    return None if version is None or mapping is None else replace(version, mapping=mapping)
