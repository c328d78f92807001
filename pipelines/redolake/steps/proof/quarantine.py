"""Quarantine: list the changes that could not be applied, read their rows again, or decide to leave them out.

A retry repairs the rows of the keys (repair.py): they are read AS OF the table's own position, with the rules and the code of
now, so that no row becomes older. Changes that come later are applied as always.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from redolake.context import Run, step
from redolake.errors import MappingFailed, Terminal, TextNotValid, ValueDoesNotFit, one_line
from redolake.host import crash
from redolake.reconcile.approvals import record_approval
from redolake.reconcile.ledger import reconcile_ledger
from redolake.reconcile.quarantine import record_open_keys
from redolake.reconcile.table_versions import known_versions
from redolake.steps.proof.listed_keys import Quarantine, quarantine_of
from redolake.steps.proof.repair import BY_HAND, KEYS_AT_ONCE, ReadAgain, read_again
from redolake.steps.shared.named_tables import named_table, named_tables
from redolake.values.datatypes import OCTETS
from redolake.values.quarantine import KeyState, Wrong
from redolake.values.table import TableId

MOST_REFUSED = 20  # keys of one retry that are tried one by one in vain
OF_VALUES = (ValueDoesNotFit, TextNotValid, MappingFailed)  # errors of one row, which leave the others as they are


@dataclass(frozen=True, slots=True)
class QuarantinedKey:
    """A key that is known to be wrong: `open`, or `dropped` by a person."""

    table: str
    key: str
    state: KeyState


@dataclass(frozen=True, slots=True)
class QuarantinedChange:
    """A change in quarantine, of a row at `key` that it gives `other_key`, if that is another one. `state` is that of the keys.
    `redo` is its text, None where columns are masked, computed or left out; `row` is the row after it, as far as it was
    read."""

    table: str
    key: str
    state: KeyState
    error: str | None
    reason: str
    operation: str
    scn: int
    commit_scn: int
    commit_time: str | None
    xid: str | None
    redo: str | None
    row: str | None
    other_key: str | None = None

    @property
    def keys(self) -> str:
        return self.key if self.other_key is None else f"{self.key} to {self.other_key}"


@dataclass(frozen=True, slots=True)
class QuarantineList:
    """`keys` counts the open keys, `dropped` the dropped ones, in all tables; `wrong` are all of them."""

    keys: int
    dropped: int
    changes: tuple[QuarantinedChange, ...]
    wrong: tuple[QuarantinedKey, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkedOff:
    """What became of keys of a table: `done` of them are not in quarantine any more, or dropped; `left` are, each with why."""

    table: str
    applied_scn: int
    done: tuple[str, ...]
    left: Mapping[str, str]

    def __str__(self) -> str:
        what = f"{self.table}: {len(self.done)} keys are done AS OF SCN {self.applied_scn}"
        return one_line(what if not self.left else f"{what}, {len(self.left)} are left: {next(iter(self.left.values()))}")


@step
def list_quarantine(run: Run, tables: Sequence[str] | None = None) -> QuarantineList:
    """Return what is in quarantine, of the tables or of all."""
    reconcile_ledger(run)
    return read_quarantine(run, named_tables(run, tables))


def read_quarantine(context: Run, tables: Sequence[TableId]) -> QuarantineList:
    from redolake.job.quarantine import read_changes

    found, wrong = list[QuarantinedChange](), list[QuarantinedKey]()
    for table in tables:
        one = quarantine_of(context, context.ledger.table(table))
        if one is None:
            continue
        record_open_keys(context, table, one.open_keys)
        wrong += [QuarantinedKey(str(table), key, state.state) for key, state in sorted(one.wrong.items())]
        rows = read_changes(context.spark.session(), one.path, one.target, one.app, one.wrong)
        found += [change_of(table, row, one.wrong) for row in rows]
    open_keys = sum(one.state == "open" for one in wrong)
    return QuarantineList(open_keys, len(wrong) - open_keys, tuple(found), tuple(wrong))


@step
def look_up_quarantined(run: Run, table_name: str, keys: Sequence[Mapping[str, str]] = ()) -> QuarantineList:
    """Return what is in quarantine of the keys of a table, by default of all that are open. Raises Terminal for a key that is
    not there."""
    reconcile_ledger(run)
    table = named_table(run, table_name)
    found = read_quarantine(run, [table])
    chosen = set(choose_keys({one.key: one.state for one in found.wrong}, table, keys))
    changes = tuple(one for one in found.changes if chosen & {one.key, one.other_key})
    return replace(found, changes=changes, wrong=tuple(one for one in found.wrong if one.key in chosen))


def change_of(table: TableId, row: Mapping[str, Any], wrong: Mapping[str, Wrong]) -> QuarantinedChange:
    states, at = {wrong[key].state for key in (row["key"], row["other_key"]) if key in wrong}, row["commit_time"]
    return QuarantinedChange(
        str(table), row["key"], "open" if "open" in states else "dropped", row["code"], row["reason"], row["operation"],
        row["scn"], row["commit_scn"], None if at is None else at.isoformat(sep=" "), row["xid"], row["redo"], row["row"],
        row["other_key"],
    )  # fmt: skip


@step
@crash.writer
def retry_quarantine(run: Run, table_name: str, keys: Sequence[Mapping[str, str]] = ()) -> WorkedOff:
    """Read the rows of the keys again, by default of all that are in quarantine, and take those keys out that are right then.

    Raises Terminal for a key that is not there, and for a table whose rows cannot be found by it."""
    by, reason = run.decision("a retry")
    reconcile_ledger(run)
    table = named_table(run, table_name)
    found = quarantine_of(run, run.ledger.table(table))
    wanted = choose_keys(states_of(found), table, keys)
    assert found is not None
    check_key(run, table)
    asked = ReadAgain(str(table), cause=BY_HAND, by=by, reason=reason)
    right, left, scn = repair_keys(lambda part: read_again(run, asked, [json.loads(key) for key in part]), wanted)
    return WorkedOff(str(table), found.position if scn is None else scn, tuple(right), left)


def repair_keys(
    repair: Callable[[Sequence[str]], ReadAgain], keys: Sequence[str]
) -> tuple[list[str], dict[str, str], int | None]:
    """Repair the rows of the keys. A repair takes keys off the list that are right. Return these, those that are not with why,
    and the SCN.

    Where a value of one is refused, its part is tried in halves, until
    MOST_REFUSED keys are known to be refused: a retry of many keys that nobody has corrected ends."""
    right, left, scn = list[str](), dict[str, str](), None
    ahead = [keys[start : start + KEYS_AT_ONCE] for start in range(0, len(keys), KEYS_AT_ONCE)][::-1]
    while ahead:
        part = ahead.pop()
        if len(left) >= MOST_REFUSED:
            left |= dict.fromkeys(part, f"not tried, as {MOST_REFUSED} other keys are still refused")
            continue
        try:
            repaired = repair(part)
        except OF_VALUES as error:
            if len(part) == 1:
                left[part[0]] = error.what
            else:
                ahead += [part[len(part) // 2 :], part[: len(part) // 2]]
            continue
        scn = repaired.applied_scn
        if repaired.equal:
            right += part
        else:
            left |= dict.fromkeys(part, "rows of the table still differ")
    return right, left, scn


@step
@crash.writer
def drop_quarantined(run: Run, table_name: str, keys: Sequence[Mapping[str, str]] = ()) -> WorkedOff:
    """Decide that changes in quarantine are never applied: of the keys, by default of all. The rows stay as they are, and
    `verify` lists their keys apart until a change has all of the row. Raises Terminal for a key that is not there."""
    by, reason = run.decision("to drop changes")
    reconcile_ledger(run)
    table = named_table(run, table_name)
    found = quarantine_of(run, run.ledger.table(table))
    wanted = choose_keys(states_of(found), table, keys)
    assert found is not None
    record_approval(run, "quarantine", table, found.position, by=by, choice=f"drop {len(wanted)} keys", reason=reason)
    found.record("dropped", wanted, by=by, why=reason)
    return WorkedOff(str(table), found.position, tuple(wanted), {})


def states_of(found: Quarantine | None) -> dict[str, KeyState]:
    return {} if found is None else {key: one.state for key, one in found.wrong.items()}


def choose_keys(states: Mapping[str, KeyState], table: TableId, keys: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the keys that are meant. Raise Terminal where none is in quarantine, or one of them is not."""
    if not keys:
        wanted = [key for key, state in states.items() if state == "open"]
    else:
        names = {frozenset(json.loads(key).items()): key for key in states}
        wanted = [names.get(frozenset(given.items()), "") for given in keys]
    if not wanted or "" in wanted:
        what = "no such key of the table is in quarantine" if keys else "no key of the table is in quarantine"
        raise Terminal(what, cure=f"`redolake quarantine list {table}` shows what is there", table=table)
    return wanted


def check_key(context: Run, table: TableId) -> None:
    """Raise Terminal for a table whose rows in Oracle are not found by the key that the lake has."""
    version = known_versions(context, table)[-1]
    types = {version.column(i).type.name for i in version.key if i}
    computed = {one.id for one in version.mapping.computed} if version.mapping is not None else set()
    if not types or types & OCTETS or computed & set(version.key):
        raise Terminal(
            "the rows cannot be read again by their keys: the key is ROWID or RAW, or the lake has a computed one",
            cure=f"run `redolake snapshot {table} --replace`, after which no key is in quarantine",
            table=table,
        )
