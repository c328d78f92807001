"""The Delta table with the history of a table (values/history.py).

A commit range's rows are appended before its MERGE. If a process ends between the two, the history is ahead: the
range is applied again, perhaps with more commits, and only those above the history's own position are appended.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from redolake.apply import own_columns
from redolake.apply.context import ApplyContext
from redolake.apply.delta.enable import enable_features
from redolake.apply.delta.features import Feature
from redolake.apply.delta.rewrite import widens
from redolake.apply.delta.settings import settle
from redolake.apply.delta.sql import table_at
from redolake.apply.delta.table import DeltaTable
from redolake.apply.delta.target import DeltaTarget
from redolake.apply.delta.writer import commit
from redolake.apply.epochs import BEGAN, damage_in, newest_epoch, of_table
from redolake.apply.owner import Owner, check_owner
from redolake.apply.schema import OURS
from redolake.apply.spark.quoting import quote
from redolake.apply.spark.types import parse_type
from redolake.apply.table_log import COLUMN_ID
from redolake.apply.target import Tag, Terms
from redolake.errors import SchemaConflict
from redolake.records.batches.spec import TableTask
from redolake.values import frames
from redolake.values.history import COLUMNS, Reached, begins_at, taken_names, why_begins, why_no_history
from redolake.values.lake_rules import fold

REBUILT = "the history was rebuilt from redo"


class DeltaHistory(DeltaTarget):
    """`base_id` is the table's, without its load."""

    def __init__(self, spark: SparkSession, path: str, base_id: str) -> None:
        owner = Owner.of(base_id)
        super().__init__(spark, path, base_id, None if owner is None else damage_in(owner.table, path))
        self.covers: int | None = None  # the version up to which it does not matter what others have done

    def follow(self, context: ApplyContext, table: DeltaTable, task: TableTask, start: int) -> None:
        """Begin an epoch with the table's rows where the history cannot be continued from them. Commits from `start` on are
        not applied yet. Raise SchemaConflict for a table that can have no history."""
        check_possible(table, task)
        there, epoch = of_table(table.log, table.base_id), newest_epoch(self.log)
        if is_mixed(task, there):
            return  # the rows of chunks are those of several SCNs: the history begins when they are those of one
        reached = None if epoch is None else epoch.reached
        why, scn = why_begins(reached, there), begins_at(reached, there, start)
        if why is None and (changed := self.columns_of_new_type(table, task)):
            why, scn = f"the type of {', '.join(changed)} changed", max(scn, start)
        if why is not None:
            self.begin(context, table, task, there, 1 if epoch is None else epoch.number + 1, scn, why)
        else:
            self.fit(context, table, task, 1 + (there.position or 0))

    def begin(
        self, context: ApplyContext, table: DeltaTable, task: TableTask, there: Reached, number: int, scn: int, why: str
    ) -> None:
        """Copy the table's rows, which are those of the SCN."""
        context.may_commit()
        self.claim(context, table, task)
        self.fit(context, table, task, scn)
        context.report(f"{task.table}: its history begins at SCN {scn} ({why})")
        columns = {i: F.col(quote(column.name)).alias(frames.after(i)) for i, column in table.columns.items()}
        rows = (
            own_columns.live(table.rows(), task.destination.options)
            .select(*columns.values())
            .withColumns({"_op": F.lit("load"), "_image": F.lit("after"), "_note": F.lit(None).cast("string")})
        )
        begins = self.spark.range(1).select(F.lit("begin").alias("_op"), F.lit(why).alias("_note"))
        both = begins.unionByName(rows, allowMissingColumns=True).withColumns(
            {"_commit_scn": F.lit(scn).cast("bigint"), "_scn": F.lit(scn).cast("bigint"), "_seq": F.lit(0).cast("bigint")}
        )
        self.append_epoch(context, table, task, both, there, number, (scn, why))

    def append_epoch(
        self,
        context: ApplyContext,
        table: DeltaTable,
        task: TableTask,
        rows: DataFrame,
        there: Reached,
        number: int,
        began: tuple[int, str],
    ) -> None:
        """Commit the rows of a new epoch, then note what was committed beside the stream: a process that ends in between leaves
        an epoch more."""
        app = f"{self.base_id}/history/{number}{table.load}"
        self.append_rows(context, task, rows, app, max(-1 if there.position is None else there.position, 0), number, began)
        for name, done in there.beside.items():
            nothing = self.spark.createDataFrame([], T.StructType([]))
            self.append_rows(context, task, nothing, f"{app}{name}", done, number, began)

    def record(self, context: ApplyContext, table: DeltaTable, task: TableTask, rows: DataFrame, last_scn: int) -> None:
        """Append the changes up to `last_scn` that the history does not have yet."""
        epoch = newest_epoch(self.log)
        if epoch is None or epoch.reached.load != table.load:
            return  # it has not begun: see `follow`
        reached = -1 if epoch.reached.position is None else epoch.reached.position
        if reached >= last_scn:
            return
        self.claim(context, table, task)
        self.fit(context, table, task, last_scn)
        app = f"{self.base_id}/history/{epoch.number}{epoch.reached.load}"
        self.append_rows(context, task, rows.filter(F.col("_commit_scn") > reached), app, last_scn, epoch.number)

    def add(self, context: ApplyContext, table: DeltaTable, task: TableTask, made: DeltaHistory) -> int:
        """They become the newest epochs, in one commit with the position of the table, which the stream continues."""
        check_alike(made, task)
        there, epoch, last = of_table(table.log, table.base_id), newest_epoch(self.log), newest_epoch(made.log)
        assert last is not None, "a batch has begun it"
        before = 0 if epoch is None else epoch.number
        self.covers = self.version  # what others have done to older epochs counts no more
        context.may_commit()
        self.claim(context, table, task)
        self.fit(context, table, task, 1 + (there.position or 0))
        for field in fields_of(made):
            if field.metadata[COLUMN_ID] not in self.columns:  # dropped since
                self.add_to_history(context, task, field, 1 + (there.position or 0))
        begins = (F.col("_op") == "begin") & (F.col("_epoch") == 1)
        rows = made.rows().select(
            *(F.col(name) for name in COLUMNS if name not in ("_epoch", "_note")),
            (F.col("_epoch") + before).alias("_epoch"),
            F.when(begins, F.lit(REBUILT)).otherwise(F.col("_note")).alias("_note"),
            *(F.col(quote(column.name)).alias(frames.after(i)) for i, column in made.columns.items()),
        )
        context.may_commit()
        newest = made.log.note_with(*BEGAN) if made.log is not None else {}
        began = (int(newest.get("epoch_since", 0)), REBUILT if last.number == 1 else str(newest.get("epoch_because", "")))
        self.append_epoch(context, table, task, rows, there, before + last.number, began)
        return last.number

    def append_rows(
        self,
        context: ApplyContext,
        task: TableTask,
        rows: DataFrame,
        app_id: str,
        version: int,
        epoch: int,
        began: tuple[int, str] | None = None,
    ) -> None:
        """Commit rows with a<id> and our columns, of which absent ones are NULL. `epoch` is theirs, unless they have one;
        `began` says since when it counts, and why it began."""
        assert self.log is not None
        noted = self.log.note_with(*BEGAN) if began is None else dict(zip(BEGAN, began, strict=True))
        notes = {name: noted[name] for name in BEGAN if name in noted}
        tag = Tag(app_id, version, {**context.metadata, "table": str(task.table), "history": epoch, **notes})
        there = set(rows.columns)
        values = {c.name: F.col(frames.after(i)) for i, c in self.columns.items() if frames.after(i) in there}
        own = {name: F.col(name) if name in there else F.lit(None) for name in COLUMNS}
        own |= {} if "_epoch" in there else {"_epoch": F.lit(epoch)}
        types = {field.name: field.dataType for field in self.schema.fields}
        frame = rows.select(
            *(value.cast(COLUMNS[name]).alias(name) for name, value in own.items()),
            *(value.cast(types[name]).alias(name) for name, value in values.items()),
        )
        with commit(self, self.terms(context, task), tag, "history") as writer:
            writer.append(frame)

    @property
    def standing(self) -> object:
        return {} if self.log is None else self.log.txns()

    def terms(self, context: ApplyContext, task: TableTask) -> Terms:
        owner = Owner.of(f"{self.base_id}/history/0", context.origin, task.course.latest.object_id)
        return Terms(task.table, owner, context.may_commit, context.check_lake, covers=self.covers)

    def tag(self, context: ApplyContext, task: TableTask) -> Tag:
        return Tag("", 0, {**context.metadata, "table": str(task.table)})

    def claim(self, context: ApplyContext, table: DeltaTable, task: TableTask) -> None:
        """Create the history, or raise FolderTaken where the folder is another's."""
        terms = self.terms(context, task)
        check_owner(self.log, terms.owner, task.table, self.path)
        options = replace(task.destination.options, cluster_by=(), partition_by=(), metadata_columns=(), deletes="remove")
        if self.log is None:
            own = [T.StructField(name, parse_type(type_), True) for name, type_ in COLUMNS.items()]
            empty = self.spark.createDataFrame([], T.StructType([*own, *fields_of(table)]))
            with commit(self, terms, self.tag(context, task), "history created") as writer:
                writer.create(empty, options)
        if (owner := terms.owner) is not None:
            settle(self, task.table, owner.mark_options(replace(options, properties=())), context.metadata, context.may_commit)

    def fit(self, context: ApplyContext, table: DeltaTable, task: TableTask, scn: int) -> None:
        """Give the history the columns that the table has now. Dropped ones stay, with NULL from then on. A new type that Delta
        does not widen to, or a name that another column has or had, gets a column `<name>__from_<scn>`."""
        readers = task.destination.options.readers
        for field in fields_of(table):
            have = self.columns.get(field.metadata[COLUMN_ID])
            type_ = field.dataType.simpleString()
            widened = have is not None and readers == "spark" and widens(have.type, type_)
            if have is not None and have.type != type_ and widened:
                self.alter(context, task, "typeWidening", f"ALTER COLUMN {quote(have.name)} TYPE {type_}")
            elif have is None or have.type != type_:
                self.add_to_history(context, task, field, scn)
                continue
            if have is not None and have.name != field.name and readers == "spark" and not self.has(field.name):
                self.alter(context, task, "columnMapping", f"RENAME COLUMN {quote(have.name)} TO {quote(field.name)}")

    def columns_of_new_type(self, table: DeltaTable, task: TableTask) -> list[str]:
        """Return the table's columns whose new type that of the history cannot be widened to. Their values in older rows are
        those of another column from then on."""
        have = {field.metadata[COLUMN_ID]: self.columns.get(field.metadata[COLUMN_ID]) for field in fields_of(table)}
        return [
            field.name
            for field in fields_of(table)
            if (old := have[field.metadata[COLUMN_ID]]) is not None
            and old.type != (type_ := field.dataType.simpleString())
            and not (task.destination.options.readers == "spark" and widens(old.type, type_))
        ]

    def has(self, name: str) -> bool:
        return any(fold(name) == fold(field.name) for field in self.schema.fields)

    def add_to_history(self, context: ApplyContext, task: TableTask, field: T.StructField, scn: int) -> None:
        name = f"{field.name}__from_{scn}" if self.has(field.name) else field.name
        new = T.StructType([T.StructField(name, field.dataType, True, field.metadata)])
        terms, tag = self.terms(context, task), self.tag(context, task)
        self.enable(new, tag.metadata, terms)
        with commit(self, terms, tag, "history's columns") as writer:
            writer.append(self.spark.createDataFrame([], new), new_columns=True)

    def alter(self, context: ApplyContext, task: TableTask, feature: Feature, alteration: str) -> None:
        terms, tag = self.terms(context, task), self.tag(context, task)
        enable_features(self, [feature], tag.metadata, terms)
        with commit(self, terms, tag, "history's columns") as writer:
            writer.run(f"ALTER TABLE {table_at(self.path)} {alteration}")


def fields_of(table: DeltaTable) -> list[T.StructField]:
    """Return the fields of the table's own columns, not of ours."""
    return [
        T.StructField(f.name, f.dataType, True, {key: value for key, value in f.metadata.items() if key.startswith(OURS)})
        for f in table.schema.fields
        if COLUMN_ID in f.metadata
    ]


def is_mixed(task: TableTask, there: Reached) -> bool:
    scn = task.destination.settles_at
    return scn is not None and (there.position is None or there.position < scn)


def check_possible(table: DeltaTable, task: TableTask) -> None:
    why = why_no_history("changes", task.course.deliveries)
    if why is None and (taken := taken_names(column.name for column in table.columns.values())):
        why = f"it has columns with names that a history has for itself: {', '.join(taken)}"
    if why is not None:
        raise SchemaConflict(
            f"the table can have no history: {why}",
            cure=f"set `history: none` for {task.table}, and run `redolake resume {task.table}`",
            table=task.table,
        )


def check_alike(made: DeltaHistory, task: TableTask) -> None:
    """Raise SchemaConflict where a column has changed its type in a way that gave it two columns of the history."""
    ids = Counter(field.metadata[COLUMN_ID] for field in fields_of(made))
    if twice := [made.columns[i].name for i, number in ids.items() if number > 1]:
        raise SchemaConflict(
            f"the type of {', '.join(twice)} has changed in the range, to one that holds no older values",
            cure="rebuild the history from a later SCN, after that change",
            table=task.table,
        )
