"""The rule by which a declared gap is closed, over random lives of a table: rows whose keys the gap's redo names are read again
AS OF the position, once no transaction with changes in the gap is open there. Nothing else is needed, and no row gets older.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

import pytest

from redolake.records.batches.spec import MinedNames
from redolake.records.windows import DdlRow
from redolake.steps.ranges.touched_keys import (
    TouchedRows,
    TouchedTable,
    Transactions,
    add_ddl,
    other_key,
    refuse_older,
    take_row,
)
from redolake.values.redo import Operation
from redolake.values.scn import Scn
from redolake.values.table import Column, OracleType, TableId, TableVersion

PARTS = TableId("SHOP", "PARTS")
LIVES, KEYS = 400, 6


@dataclass(frozen=True, slots=True)
class Change:
    """A row leaves the key `before` and enters `after`; None for an INSERT or a DELETE."""

    scn: int
    xid: str
    before: int | None
    after: int | None
    value: int = 0


@dataclass(slots=True)
class Life:
    """Changes and commits by SCN. A transaction changes keys that no open one has changed, as Oracle's row locks demand."""

    changes: list[Change] = field(default_factory=list)
    commits: dict[str, int] = field(default_factory=dict)
    end: int = 0

    def committed(self, upto: int) -> list[Change]:
        """Return the changes of transactions that committed by an SCN, in the order of commits."""
        done = [one for one in self.changes if self.commits.get(one.xid, upto + 1) <= upto]
        return sorted(done, key=lambda one: (self.commits[one.xid], one.scn))

    def state(self, upto: int) -> dict[int, int]:
        return fold({}, self.committed(upto))


def fold(rows: dict[int, int], changes: list[Change]) -> dict[int, int]:
    for one in changes:
        if one.before is not None:
            rows.pop(one.before, None)
        if one.after is not None:
            rows[one.after] = one.value
    return rows


def random_life(random: Random) -> Life:
    life, rows, held, number = Life(), dict[int, int](), dict[str, dict[int, int | None]](), 0
    for scn in range(1, random.randint(20, 60)):
        life.end = scn
        if held and random.random() < 0.25:
            xid = random.choice(sorted(held))
            for key, value in held.pop(xid).items():
                rows.pop(key, None) if value is None else rows.update({key: value})
            life.commits[xid] = scn
            continue
        if not held or random.random() < 0.3:
            number += 1
            held[str(number)] = {}
        xid = random.choice(sorted(held))
        locked = {key for other, keys in held.items() if other != xid for key in keys}
        own = held[xid]
        seen = {key: value for key, value in {**rows, **own}.items() if value is not None}
        free = [key for key in range(KEYS) if key not in locked]
        if not free:
            continue
        key, other = random.choice(free), random.choice(free)
        if key not in seen:
            change = Change(scn, xid, None, key, scn)
        elif random.random() < 0.3:
            change = Change(scn, xid, key, None)
        else:
            change = Change(scn, xid, key, other if other not in seen else key, scn)
        life.changes.append(change)
        if change.before is not None:
            own[change.before] = None
        if change.after is not None:
            own[change.after] = scn
    return life


@dataclass(frozen=True, slots=True)
class Gap:
    start: int
    end: int

    def loses(self, one: Change, committed: int) -> bool:
        """Return whether the stream has not applied a change: it, or the commit of what was open at its start, was not read."""
        return self.start <= one.scn < self.end or (one.scn < self.start <= committed)


def applied(life: Life, gaps: list[Gap], upto: int) -> dict[int, int]:
    seen = [one for one in life.committed(upto) if not any(gap.loses(one, life.commits[one.xid]) for gap in gaps)]
    return fold({}, seen)


def close(rows: dict[int, int], life: Life, gap: Gap, position: int) -> bool:
    """Close a gap in the rows of a table, as steps/ranges/close_gap.py does; return whether it could be."""
    dropped = {one.xid for one in life.changes if one.scn < gap.start <= life.commits.get(one.xid, life.end + 1)}
    touched = [one for one in life.changes if gap.start <= one.scn < gap.end or (one.scn < gap.start and one.xid in dropped)]
    found = Transactions()
    ends = [(scn, 1, xid, None) for xid, scn in life.commits.items()]
    for scn, is_end, xid, _ in sorted([*((one.scn, 0, one.xid, None) for one in touched), *ends]):
        found.end((None, xid), scn) if is_end else found.change(frozenset([(None, xid)]), PARTS, scn)
    if position < gap.end or found.open_at(PARTS, position):
        return False
    source = life.state(position)
    for key in {key for one in touched for key in (one.before, one.after) if key is not None}:
        rows.pop(key, None)
        if key in source:
            rows[key] = source[key]
    return True


def test_a_table_whose_gaps_are_closed_in_any_order_and_repeatedly_equals_the_source() -> None:
    closed, left = 0, 0
    for seed in range(LIVES):
        random = Random(seed)
        life = random_life(random)
        edges = sorted(random.sample(range(2, life.end), 4)) if life.end > 8 else [2, 3, 4, 5]
        gaps = [Gap(*edges[:2]), Gap(*edges[2:])][: random.randint(1, 2)]
        positions = sorted(random.choices(range(max(gap.end for gap in gaps), life.end + 1), k=4))
        rows, position, still = applied(life, gaps, positions[0]), positions[0], list(gaps)
        for later in positions:
            news = [one for one in life.committed(later) if life.commits[one.xid] > position]
            fold(rows, [one for one in news if not any(gap.loses(one, life.commits[one.xid]) for gap in gaps)])
            position = later
            for gap in random.sample(gaps, len(gaps)):
                if close(rows, life, gap, position) and gap in still:
                    still.remove(gap)
            if not still:
                assert rows == life.state(position), f"seed {seed}, at SCN {position}"
        closed, left = closed + (not still), left + bool(still)
    assert (closed > LIVES // 3, left > 0) == (True, True), "the lives must show both"


@dataclass(slots=True)
class LiveTable:
    """A table whose stream, by a fault, leaves out some changes of transactions that commit in a range."""

    life: Life
    range: Gap
    wrong: frozenset[int]
    position: int = 0
    rows: dict[int, int] = field(default_factory=dict)

    def stream(self, upto: int) -> None:
        news = [one for one in self.life.committed(upto) if self.life.commits[one.xid] > self.position]
        fold(self.rows, [one for one in news if one.scn not in self.wrong])
        self.position = max(self.position, upto)

    def reread(self, keys: set[int]) -> None:
        """Read rows again AS OF the position, as a repair does."""
        source = self.life.state(self.position)
        for key in keys:
            self.rows.pop(key, None)
            if key in source:
                self.rows[key] = source[key]

    def backfill(self, of: Gap, upto: int | None = None, beginnings: bool = True) -> None:
        """Fill a range into the table, as steps/ranges/live.py does; `upto` kills it after so many keys."""
        within = {xid for xid, scn in self.life.commits.items() if of.start <= scn < of.end}
        touched = [
            one
            for one in self.life.changes
            if of.start <= one.scn < of.end or (beginnings and one.xid in within and one.scn < of.start)
        ]
        keys = sorted({key for one in touched for key in (one.before, one.after) if key is not None})
        self.reread(set(keys[:upto]))

    def snapshot(self) -> None:
        self.rows = self.life.state(self.position)


def faulty_table(random: Random) -> LiveTable:
    life = random_life(random)
    start, end = sorted(random.sample(range(1, life.end + 1), 2))
    ends = [one.scn for one in life.changes if start <= life.commits.get(one.xid, -1) < end]
    return LiveTable(life, Gap(start, end), frozenset(scn for scn in ends if random.random() < 0.5))


def test_backfills_into_a_live_table_in_any_order_never_make_it_older_and_cure_what_a_range_has_wrong() -> None:
    cured = 0
    for seed in range(LIVES):
        random = Random(seed)
        table = faulty_table(random)
        table.stream(random.randint(table.range.end, table.life.end))
        faults = sum(table.rows.get(key) != table.life.state(table.position).get(key) for key in range(KEYS))
        cut = random.randint(table.range.start + 1, table.range.end)
        parts = [Gap(table.range.start, cut), Gap(min(cut, table.range.end - 1), table.range.end)]
        for _ in range(random.randint(0, 6)):
            before = {key for key in range(KEYS) if table.rows.get(key) == table.life.state(table.position).get(key)}
            act = random.choice(("killed", "another range", "repair", "part", "snapshot"))
            if act == "snapshot" and random.random() < 0.2:
                table.snapshot()
            elif act == "repair":
                table.reread({random.randrange(KEYS)})
            elif act == "another range":
                table.backfill(Gap(*sorted(random.choices(range(table.life.end + 2), k=2))))
            else:
                table.backfill(random.choice(parts), random.randint(0, KEYS) if act == "killed" else None)
            right = {key for key in range(KEYS) if table.rows.get(key) == table.life.state(table.position).get(key)}
            assert before <= right, f"seed {seed}: a row got older"
            if random.random() < 0.5:
                table.stream(random.randint(table.position, table.life.end))
        for part in random.sample(parts, 2):
            table.backfill(part)
        assert table.rows == table.life.state(table.position), f"seed {seed}, at SCN {table.position}"
        cured += faults > 0
    assert cured > LIVES // 3, "the lives must have faults"


def test_the_changes_from_before_a_range_of_a_transaction_that_commits_in_it_count() -> None:
    life = Life([Change(3, "1", None, 5, 3)], {"1": 8}, 9)
    for beginnings, rows in ((True, {5: 3}), (False, {})):
        table = LiveTable(life, Gap(6, 9), frozenset({3}))
        table.stream(9)
        table.backfill(table.range, beginnings=beginnings)
        assert table.rows == rows


# --- Rows of redo -----------------------------------------------------------------------------------------------------


ID, PLACE = (
    Column(n, name, OracleType(kind, 9), n, nullable=n == 2)
    for n, name, kind in ((1, "ID", "NUMBER"), (2, "PLACE", "VARCHAR2"))
)
VERSION = TableVersion(PARTS, Scn(1), 70, 70, (ID, PLACE), (1,), 3)


def touched() -> TouchedRows:
    return TouchedRows({PARTS: TouchedTable(VERSION)}, {70: PARTS})


def row(scn: int, code: int, xid: str = "1.2.3", **other: object) -> dict[str, object]:
    return {
        "con_id": 3, "xid": xid, "pxid": None, "scn": scn, "operation_code": code, "rollback": False, "object_id": 70,
        "seg_owner": "SHOP", "table_name": "PARTS", **other,
    }  # fmt: skip


def test_an_xid_that_is_used_again_has_an_end_of_its_own() -> None:
    into = touched()
    for one in (row(10, Operation.UPDATE), row(11, Operation.COMMIT), row(20, Operation.UPDATE)):
        take_row(into, one, None)

    assert into.transactions.open_at(PARTS, 15), "the second one has not ended"
    assert [one.ended_at for one in into.transactions.every] == [11, None]
    take_row(into, row(30, Operation.ROLLBACK), None)
    assert into.transactions.open_at(PARTS, 30) == []
    assert len(into.transactions.open_at(PARTS, 29)) == 1


def test_a_parallel_server_ends_with_its_coordinator() -> None:
    into = touched()
    take_row(into, row(10, Operation.INSERT, "5.5.5", pxid="1.2.3"), None)
    take_row(into, row(12, Operation.COMMIT), None)

    assert into.transactions.open_at(PARTS, 12) == []


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (row(10, 255), "does not contain the row's key"),
        (row(10, 10), "does not contain the row's key"),
        (row(10, Operation.UPDATE, "0.0.0"), "does not say of which transaction it is"),
    ],
)
def test_a_row_that_names_no_key_or_no_transaction_refuses_the_table(one: dict[str, object], why: str) -> None:
    into = touched()
    take_row(into, one, None)

    assert why in into.tables[PARTS].why_not


@pytest.mark.parametrize("xid", ["0.0.0", "7.7.4294967295", None])
def test_a_change_of_an_unknown_transaction_may_be_of_those_that_are_sought(xid: str | None) -> None:
    """It stands before a range in which the sought transactions commit."""
    only = frozenset({(3, "1.2.3")})
    into = touched()
    assert take_row(into, row(9, Operation.UPDATE, "4.4.4"), only) is None
    assert take_row(into, row(10, Operation.UPDATE, xid), only) == PARTS  # type: ignore[arg-type]
    assert "does not say of which transaction it is" in into.tables[PARTS].why_not

    into = touched()
    assert take_row(into, row(11, Operation.UPDATE, xid, rollback=True), only) is None  # type: ignore[arg-type]
    assert take_row(into, row(12, Operation.ROLLBACK, xid), only) is None  # type: ignore[arg-type]
    assert (into.tables[PARTS].why_not, into.tables[PARTS].changes) == ("", 0), "what it undoes has the key"


@pytest.mark.parametrize(
    ("sql", "refused"),
    [
        ("TRUNCATE TABLE parts", True),
        ("ALTER TABLE parts ADD (shelf VARCHAR2(9))", True),
        ("ALTER TABLE parts MOVE SOMEWHERE ELSE", True),
        ("COMMENT ON TABLE parts IS 'x'", True),
        ("GRANT SELECT ON parts TO ann", False),
    ],
)
def test_a_ddl_with_an_effect_refuses_the_table(sql: str, refused: bool) -> None:
    into = touched()
    add_ddl(into, DdlRow(10, 1, "0x1", 1, "SHOP", "PARTS", 70, sql))

    assert bool(into.tables[PARTS].why_not) == refused


@pytest.mark.parametrize(
    ("first_change", "commit", "refused"),
    [(5, 30, True), (5, 15, False), (12, 30, False), (5, None, True)],
    ids=["open at both", "ended before the snapshot", "begun after the DDL", "never ended"],
)
def test_a_ddl_from_before_the_snapshot_counts_only_for_transactions_that_were_open_at_it(
    first_change: int, commit: int | None, refused: bool
) -> None:
    into = touched()
    into.tables[PARTS].since = 20
    take_row(into, row(first_change, Operation.UPDATE), None)
    add_ddl(into, DdlRow(10, 1, "0x1", 1, "SHOP", "PARTS", 70, "ALTER TABLE parts ADD (shelf VARCHAR2(9))"))
    take_row(into, row(18, Operation.UPDATE if commit != 15 else Operation.COMMIT), None)
    if commit is not None:
        take_row(into, row(commit, Operation.COMMIT), None)
    refuse_older(into)

    assert bool(into.tables[PARTS].why_not) == refused


def test_a_ddl_of_another_table_refuses_only_what_it_cascades_to() -> None:
    other = DdlRow(10, 1, "0x1", 1, "SHOP", "BINS", 71, "TRUNCATE TABLE bins CASCADE")
    into, cascading = touched(), touched()
    add_ddl(into, replace(other, sql="TRUNCATE TABLE bins"))
    add_ddl(cascading, replace(other, cascades_from="SHOP.BINS"))

    assert (into.tables[PARTS].why_not, bool(cascading.tables[PARTS].why_not)) == ("", True)


def test_a_key_is_read_under_the_version_and_the_names_of_its_own_time() -> None:
    renamed = replace(VERSION, from_scn=Scn(50), columns=(replace(ID, name="CODE"), PLACE))
    named = MinedNames(10, 2, 0, {"PART": 1, "PLACE": 2})
    one = TouchedTable(renamed, (replace(VERSION, from_scn=Scn(0)), renamed), (named,))

    assert (one.version_at(49).named("ID"), one.version_at(50).named("CODE")) == (ID, renamed.columns[0])
    assert one.names_at(10, 2, one.version_at(49)) == {"PART": 1}
    assert (one.names_at(10, 1, one.version_at(49)), one.names_at(10, 2, renamed)) == (None, None)


def test_a_change_of_a_time_when_the_key_was_another_one_is_not_known() -> None:
    text = replace(VERSION, columns=(replace(ID, type=OracleType("VARCHAR2", 9)), PLACE))
    other = replace(VERSION, columns=(replace(ID, id=9), PLACE), key=(9,))

    assert [bool(other_key(then, VERSION)) for then in (VERSION, text, other)] == [False, True, True]


def test_changes_without_a_key_are_counted() -> None:
    into = touched()
    for scn in (10, 11):
        take_row(into, row(scn, 255), None)

    one = into.tables[PARTS]
    assert (one.changes, one.unknown, "at SCN 10 (operation 255)" in one.why_unknown) == (2, 2, True)
