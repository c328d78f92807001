"""Take the changes that go to quarantine out of a commit range.

Spark is asked only whether a change has a finding, unless there is one or a key is known to be wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from redolake.apply.commit_ranges import CommitRange
from redolake.apply.context import ApplyContext
from redolake.apply.landed.check_changes import check_finding
from redolake.apply.landed.findings import TROUBLE
from redolake.apply.landed.key_texts import is_among, key_of_change, without_keys
from redolake.apply.quarantine.log import open_events, read_events, replace_events, version_of
from redolake.apply.spark.probes import Plan, Probe
from redolake.apply.spark.text import to_text
from redolake.apply.target import Tag, Target, TargetColumn, Terms
from redolake.errors import QuarantineInTheWay
from redolake.records.batches.spec import TableTask
from redolake.values import frames
from redolake.values.quarantine import Decision, Kind, QuarantineRule, Touch, decide, fold, over_limit
from redolake.values.redo import CHANGE_ORDER, Operation
from redolake.values.table import ROWID_COLUMN, TableVersion

ADDRESS = ("window_start", "slice", "ordinal")  # of a landed row
MOST_CHANGES = 100_000  # of the keys in question: this process looks at each
KEY_TEXTS = frozenset({"change_type", "rename_column"})  # DDL after which a key has another text
FOLLOWS = "a change of the same key is in quarantine, or lacks values of a row that is"


@dataclass(frozen=True, slots=True)
class Taken:
    """`count` changes go to quarantine, as `rows` of its table. `open_keys` are wrong afterwards, `healed` keys are right
    again. Nothing is written unless `is_new`."""

    count: int = 0
    rows: tuple[Mapping[str, object], ...] = ()
    open_keys: int = 0
    is_new: bool = False
    healed: frozenset[str] = frozenset()
    windows: Mapping[int, int] = field(default_factory=dict)  # the changes by the start of their window


NOTHING_TAKEN = Taken()


@dataclass(frozen=True, slots=True)
class Changes:
    """A range's decoded changes. `wrong` are the keys that are known to be wrong before it, `open` those of them that nobody
    has dropped; `has_tail` says that an attempt has left events from the range's start on."""

    decoded: DataFrame
    version: TableVersion
    rule: QuarantineRule
    wrong: frozenset[str] = frozenset()
    open: frozenset[str] = frozenset()
    has_tail: bool = False
    before: Expression = field(init=False)
    after: Expression = field(init=False)

    def __post_init__(self) -> None:
        code, version = F.col("operation_code"), self.version
        left, entered = key_of_change(version, frames.key_before), key_of_change(version, frames.after)
        object.__setattr__(self, "before", F.when(code != Operation.INSERT, left))
        object.__setattr__(self, "after", F.when(code != Operation.DELETE, entered))

    @property
    def may_go(self) -> Expression:
        """Return whether a change with a finding may go to quarantine: by its class, and because its keys are known."""
        code, classes = F.col("operation_code"), self.rule.classes if self.rule.may_write else ()
        known = (self.before.isNotNull() | (code == Operation.INSERT)) & (self.after.isNotNull() | (code == Operation.DELETE))
        return F.coalesce(F.col(TROUBLE).isin(*classes), F.lit(False)) & known if classes else F.lit(False)

    def touching(self, keys: Collection[str]) -> DataFrame:
        both = is_among(self.before, keys) | is_among(self.after, keys)
        return self.decoded.filter(both)

    def without(self, keys: Collection[str]) -> DataFrame:
        return without_keys(without_keys(self.decoded, self.before, keys), self.after, keys)


def divide(
    context: ApplyContext,
    table: Target,
    task: TableTask,
    commit_range: CommitRange,
    committed: DataFrame,
    decoded: DataFrame,
    count: int,
) -> Plan[tuple[DataFrame, Taken]]:
    """Return the changes that are to be applied, and what goes to quarantine. Raise the finding of a change that may not go
    there, and that of the first one where the limit is reached."""
    rule = task.destination.quarantine
    if rule is None:
        return decoded, NOTHING_TAKEN
    changes = read_state(context, table, commit_range, rule, decoded)
    if commit_range.whole is not None:
        refuse_open(task, commit_range, changes.wrong, "a DDL has changed rows without redo")
        return decoded.drop(TROUBLE), NOTHING_TAKEN
    seen = yield Probe(
        decoded.select("finding", changes.may_go.alias("may_go")),
        (
            "count_if(finding IS NOT NULL) AS bad",
            "min(CASE WHEN NOT may_go THEN finding END) AS other",
            "min(finding) AS first",
        ),
    )
    check_finding(task, seen["other"])
    if not (seen["bad"] or changes.wrong):
        return decoded.drop(TROUBLE), Taken(is_new=changes.has_tail)
    touches, decision = look(task, changes, seen)
    open_after = (changes.open - decision.healed) | decision.out
    taken = sum(1 for touch in touches if not decision.out.isdisjoint(touch.keys))
    refuse_over(task, changes, seen, over_limit(rule, len(open_after), taken, count) if decision.out else None)
    if decision.out and not rule.may_write:
        refuse_open(task, commit_range, decision.out, "an UPDATE lacks values of a row in quarantine")
    rows = [
        *entries(context, table, task, commit_range, changes, committed, decision),
        *healings(table, task, commit_range, decision),
    ]
    is_new = rule.may_write and (bool(rows) or changes.has_tail)
    windows = Counter(int(str(row.pop("window"))) for row in rows if "window" in row)
    left = changes.without(decision.out).drop(TROUBLE)
    return left, Taken(taken, tuple(rows), len(open_after), is_new, decision.healed, windows)


def has_events(context: ApplyContext, table: Target, task: TableTask) -> bool:
    """Return whether anything is, or was once, in the quarantine of the table's load."""
    rule = task.destination.quarantine
    return rule is not None and bool(read_events(context.spark, rule.path, table.load, task.table))


def read_state(
    context: ApplyContext, table: Target, commit_range: CommitRange, rule: QuarantineRule, decoded: DataFrame
) -> Changes:
    events, start = read_events(context.spark, rule.path, table.load, commit_range.version.table), commit_range.start
    states = fold(events, start - 1)
    is_open = frozenset(key for key, state in states.items() if state == "open")
    has_tail = any(event.position >= start for event in events)
    return Changes(decoded, commit_range.version, rule, frozenset(states), is_open, has_tail)


def look(task: TableTask, changes: Changes, seen: Row) -> tuple[list[Touch], Decision]:
    """Return the changes of all keys in question, and what is decided of these."""
    keys = changes.wrong | bad_keys(task, changes, seen)
    while True:
        touches = touches_of(task, changes, keys, seen)
        decision = decide(changes.wrong, touches)
        if decision.out <= keys:
            return touches, decision
        keys |= decision.out


def bad_keys(task: TableTask, changes: Changes, seen: Row) -> frozenset[str]:
    if not seen["bad"]:
        return frozenset()
    bad = changes.decoded.filter("finding IS NOT NULL").select(F.explode(F.array(changes.before, changes.after)).alias("key"))
    found = bad.filter("key IS NOT NULL").distinct().limit(changes.rule.rows + 1).collect()
    refuse_over(task, changes, seen, over_limit(changes.rule, len(found), 0, 1))
    return frozenset(row["key"] for row in found)


def touches_of(task: TableTask, changes: Changes, keys: Collection[str], seen: Row) -> list[Touch]:
    lacks = (F.col("operation_code") == Operation.UPDATE) & (F.coalesce(F.size("absent"), F.lit(0)) > 0)
    rows = changes.touching(keys).select(
        *CHANGE_ORDER,
        changes.before.alias("before"),
        changes.after.alias("after"),
        lacks.alias("lacks"),
        F.col("finding").isNotNull().alias("is_bad"),
    )
    found = rows.limit(MOST_CHANGES + 1).collect()
    if len(found) > MOST_CHANGES:
        refuse_over(task, changes, seen, f"the keys in question have more than {MOST_CHANGES} changes in one batch")
    found.sort(key=lambda row: tuple(row[name] for name in CHANGE_ORDER))
    return [Touch(row["before"], row["after"], row["lacks"], row["is_bad"]) for row in found]


def refuse_over(task: TableTask, changes: Changes, seen: Row, why: str | None) -> None:
    """Raise the first finding of a range that would pass a limit; without a finding, QuarantineInTheWay."""
    if why is None:
        return
    if seen["first"] is not None:
        found = seen["first"].asDict()
        check_finding(task, {**found, "what": f"{found['what']}; it does not go to quarantine: {why}"})
    raise in_the_way(task, why, changes.rule.path)


def refuse_open(task: TableTask, commit_range: CommitRange, keys: Collection[str], why: str) -> None:
    if keys and (rule := task.destination.quarantine) is not None:
        what = f"{why}, and {len(keys)} keys of the table are in quarantine"
        raise in_the_way(task, what, rule.path, commit_range.start)


def in_the_way(task: TableTask, what: str, path: str, scn: int | None = None) -> QuarantineInTheWay:
    return QuarantineInTheWay(
        what,
        cure=f"run `redolake quarantine retry {task.table} --execute --reason TEXT` and then `redolake resume {task.table}`; "
        f"or `redolake snapshot {task.table} --replace`, after which no key is in quarantine",
        table=task.table,
        path=path,
        scn=scn,
    )


def entries(
    context: ApplyContext,
    table: Target,
    task: TableTask,
    commit_range: CommitRange,
    changes: Changes,
    committed: DataFrame,
    decision: Decision,
) -> list[dict[str, object]]:
    """Return the changes that go to quarantine as rows of its table. Redo text has all columns in clear, so it is left out
    where pipelines.yml masks, computes or leaves out some."""
    if not decision.out:
        return []
    shows_text = all(version.mapping is None and not version.left_out for version in task.course.versions)
    described = changes.touching(decision.out).select(
        *CHANGE_ORDER, "scn", "row_id", "operation_code", "finding", TROUBLE,
        changes.before.alias("before"), changes.after.alias("after"), row_text(table.columns, changes.version).alias("row"),
    )  # fmt: skip
    landed = committed.select(*ADDRESS, "xid", "commit_at", *(["sql_redo"] if shows_text else []))
    rows = described.join(landed, list(ADDRESS), "left").collect()
    rows.sort(key=lambda row: tuple(row[name] for name in CHANGE_ORDER))
    base = event_of(table, task, commit_range, "quarantined")
    return [{**base, **entry(row, shows_text=shows_text)} for row in rows]


def event_of(table: Target, task: TableTask, commit_range: CommitRange, kind: Kind) -> dict[str, object]:
    """Return what all events of a kind have in common that a range leaves in the quarantine."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    position = int(commit_range.last_scn)
    return {"table_name": str(task.table), "load": table.load, "position": position, "event": kind, "at": at}


def entry(row: Row, *, shows_text: bool) -> dict[str, object]:
    found, keys = row["finding"], tuple(dict.fromkeys(key for key in (row["before"], row["after"]) if key is not None))
    what = FOLLOWS if found is None else found["what"]
    return {
        "window": row["window_start"],
        "key": keys[0],
        "other_key": keys[1] if len(keys) > 1 else None,
        "class": None if found is None else row[TROUBLE],
        "code": None if found is None else found["code"],
        "reason": what,
        "operation": Operation(row["operation_code"]).name,
        "scn": row["scn"],
        "commit_scn": row["commit_scn"],
        "commit_time": row["commit_at"],
        "xid": row["xid"],
        "redo_thread": row["commit_thread"],
        "row_id": row["row_id"],
        "redo": row["sql_redo"] if shows_text else None,
        "row": row["row"],
    }


def row_text(columns: Mapping[int, TargetColumn], version: TableVersion) -> Expression:
    """Return the row after the change as the lake would have it, as far as it was read; NULL for a DELETE."""
    known = {column.id: column for column in version.columns}
    values = [
        (to_text(F.col(frames.after(i)), known[i]) if i in known else F.col(frames.after(i)).cast("string")).alias(column.name)
        for i, column in columns.items()
        if i != ROWID_COLUMN
    ]
    return F.when(F.col("operation_code") != Operation.DELETE, F.to_json(F.struct(*values)))


def healings(table: Target, task: TableTask, commit_range: CommitRange, decision: Decision) -> list[dict[str, object]]:
    base = event_of(table, task, commit_range, "healed")
    return [{**base, "key": key, "reason": "a later change has all of the row"} for key in sorted(decision.healed)]


def write_taken(context: ApplyContext, table: Target, task: TableTask, commit_range: CommitRange, taken: Taken) -> None:
    """Commit what goes to quarantine, before the MERGE of the range."""
    there = task.destination
    if not taken.is_new or there.quarantine is None:
        return
    step = sum(
        1
        for scn in (*(one.scn for one in task.course.ddl), *(one.scn for one in task.course.whole))
        if scn < commit_range.start
    )
    metadata = {**context.metadata, "table": str(task.table), "quarantined": taken.count}
    # A copy is written under no lease: its later batches would have a version that Delta skips.
    app = "" if context.lease is None else f"{there.app_id}/quarantine"
    tag = Tag(app, version_of(context.lease, step), metadata)
    log = open_events(context.spark, there.quarantine.path, task.table, app)
    replace_events(log, Terms.of(context, task), taken.rows, table.load, commit_range.start, tag)


def check_key_texts(context: ApplyContext, table: Target, task: TableTask, commit_range: CommitRange) -> None:
    """Raise QuarantineInTheWay before a DDL is followed after which no key is as it is listed. The range need not have
    changes."""
    touched = {step.column.id for step in commit_range.steps if step.kind in KEY_TEXTS}
    if not touched.isdisjoint(commit_range.version.key):
        refuse_wrong(context, table, task, commit_range, "a DDL has changed the type or the name of a column of the key")


def check_plain(context: ApplyContext, table: Target, task: TableTask, commit_range: CommitRange, *, is_plain: bool) -> None:
    """Raise QuarantineInTheWay for a range whose changes are not delivered one by one, while keys are wrong."""
    if not is_plain:
        refuse_wrong(context, table, task, commit_range, "values of the table are read again or assembled now")


def refuse_wrong(context: ApplyContext, table: Target, task: TableTask, commit_range: CommitRange, why: str) -> None:
    if (rule := task.destination.quarantine) is not None:
        states = fold(read_events(context.spark, rule.path, table.load, task.table), commit_range.start - 1)
        refuse_open(task, commit_range, states, why)
