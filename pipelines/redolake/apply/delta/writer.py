"""The one way to commit to a table of the lake: `with commit(..) as writer`, and the verbs of the writer.

Before the commit it looks at the lease, at what others have committed, at whose the table is, and at its position, in that
order; afterwards it proves that nobody has committed in between. What it checked stands in the commit itself, so that a process
that ends before the proof hides nothing from the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from redolake.apply.delta.commit import options_of, session_with_tag
from redolake.apply.delta.features import NAMES_FEATURES, PROPERTY, feature_of_name, names_of, statistics
from redolake.apply.delta.log import CHECKED
from redolake.apply.delta.table import DeltaTable
from redolake.apply.owner import check_owner
from redolake.apply.set_back import check_foreign
from redolake.apply.spark.session import SNAPSHOT, run_sql
from redolake.apply.table_log import base_of
from redolake.apply.target import Tag, Terms
from redolake.errors import InvariantBroken, Transient
from redolake.host import crash
from redolake.values.target_options import DEFAULT, TargetOptions

Statement = Callable[[SparkSession], object]  # in a session whose commits have the tag


class Writer:
    """What may be committed. Each verb is one commit, with the tag."""

    def __init__(self, table: DeltaTable, terms: Terms, tag: Tag) -> None:
        self.table, self.terms, self.tag = table, terms, tag

    @property
    def spark(self) -> SparkSession:
        return self.table.spark

    def append(self, rows: DataFrame, *, new_columns: bool = False) -> None:
        self._save(rows, "append", {"mergeSchema": "true"} if new_columns else {})

    def replace(self, rows: DataFrame, where: str | None = None, *, new_columns: bool = False) -> None:
        """Replace all rows, or those of a predicate. The table keeps its columns and its partitions."""
        chosen = {"partitionOverwriteMode": "static"} if where is None else {"replaceWhere": where}
        self._save(rows, "overwrite", {**chosen, **({"mergeSchema": "true"} if new_columns else {})})

    def create(
        self,
        rows: DataFrame,
        options: TargetOptions = DEFAULT,
        partitions: Sequence[str] = (),
    ) -> None:
        """Replace schema and rows at once, whether or not there is a table; a new one gets its properties of Delta too."""
        by = (*map(options.name, options.partition_by), *partitions)
        own = {key: value for key, value in options.properties if key.startswith("delta.")}
        own |= statistics(rows.schema, options, by)
        if any(map(feature_of_name, names_of(rows.schema))):
            own.update(PROPERTY[feature] for feature in ("columnMapping", NAMES_FEATURES))
        self._save(rows, "overwrite", {"overwriteSchema": "true", **own}, by)

    def run(self, statement: str | Statement) -> None:
        """Run a statement of SQL that commits, or what else commits in a session."""
        with session_with_tag(self.table.spark, self.tag) as session:
            if self.table.log is not None and self.table.log.has_few_files():
                session.conf.set(SNAPSHOT, "1")
            if isinstance(statement, str):
                run_sql(session, statement)
            else:
                statement(session)

    def _save(self, rows: DataFrame, mode: str, options: Mapping[str, str], partitions: Sequence[str] = ()) -> None:
        writer = rows.write.format("delta").mode(mode).options(**options, **options_of(self.tag))
        (writer.partitionBy(*partitions) if partitions else writer).save(self.table.path)


@contextmanager
def commit(
    table: DeltaTable, terms: Terms, tag: Tag, point: str, verbs: type[Writer] = Writer, *, follows: bool = False
) -> Iterator[Writer]:
    """Yield the writer of one commit of the table as `table` has read it: `Target.commit`, for commits of the target's own.

    One that `follows` right after another begins with what that one has read after itself. Who comes between the two is found
    after it, as who comes while Spark commits."""
    seen, before = table.standing, table.version
    terms.may_commit()
    if not (follows and table.is_proved):
        table.see_others()
    if table.log is None:
        terms.check_lake()
    check_owner(table.log, terms.owner, terms.table, table.path, terms.use)
    is_other = table.version != before if terms.exact else (before or 0) > (table.version or 0)
    if table.standing != seen or is_other:
        raise changed_meanwhile(terms)
    if not terms.any_rows:
        check_foreign(table.log, table.base_id, terms.table, table.path, terms.covers)
    if table.log is not None and not (terms.any_rows and table.log.foreign_writes(base_of(table.base_id))):
        tag = replace(tag, metadata={**tag.metadata, CHECKED: table.version})
    before = table.version
    yield verbs(table, terms, tag)
    table.refresh()
    crash.point(point)
    check_alone(table, terms, tag, before)
    table.is_proved = True


def changed_meanwhile(terms: Terms) -> Transient:
    return Transient("another writer changed the table meanwhile", cure="wait: it is tried again", table=terms.table)


def check_alone(table: DeltaTable, terms: Terms, tag: Tag, before: int | None) -> None:
    """Raise an error where another commit of rows was made between the check and our commit, or right after it."""
    others = set() if table.log is None else table.log.ours_after(base_of(table.base_id), before) - {(tag.app_id, tag.version)}
    if others:
        raise InvariantBroken(
            f"another writer committed changes up to SCN {max(number for _, number in others)} at the same moment, some of "
            "which may be there twice",
            cure=f"run `redolake snapshot {terms.table} --replace`",
            table=terms.table,
            path=table.path,
        )
    if not (terms.later or terms.any_rows):
        check_foreign(table.log, table.base_id, terms.table, table.path, terms.covers)
