"""A table whose chunks were read AS OF several SCNs equals the source after one MERGE; tests/references/chunk_reference.py."""

from __future__ import annotations

from random import Random

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.references.chunk_reference import COLUMNS, Change, Rows, Undecided, Values, load, merge, net_change, read_chunks

KEYS, ROWIDS, FIRST = 8, 12, 100


class Source:
    """A table with a random life; `states` are its rows AS OF each SCN."""

    def __init__(self, random: Random, steps: int, key_only: bool) -> None:
        self.random, self.key_only = random, key_only
        self.rows: Rows = {}
        self.changes: list[Change] = []
        self.states: dict[int, Rows] = {}
        self.scn = FIRST - 20
        for _ in range(20 + steps):
            self.step()
            self.scn += 1
            self.states[self.scn] = {rid: (key, dict(row)) for rid, (key, row) in self.rows.items()}

    def step(self) -> None:
        kind = self.random.choice(["insert", "insert", "update", "update", "rekey", "delete", "migrate"])
        free = [rid for rid in range(ROWIDS) if rid not in self.rows]
        keys = [key for key in range(KEYS) if key not in {key for key, _ in self.rows.values()}]
        if kind == "insert":
            if free and keys:
                self.put(self.random.choice(free), self.random.choice(keys), {c: self.value() for c in COLUMNS})
            return
        if not self.rows:
            return
        rid = self.random.choice(list(self.rows))
        key, row = self.rows[rid]
        if kind == "delete" or (kind == "migrate" and not free):
            self.remove(rid)
        elif kind == "migrate":  # row movement: in the redo a DELETE and an INSERT
            self.remove(rid)
            self.put(self.random.choice(free), key, row)
        else:
            to = self.random.choice(keys) if kind == "rekey" and keys else key
            set_ = {self.random.choice(COLUMNS): self.value()}
            new = {**row, **set_}
            self.note("update", key, to, set_ if self.key_only else new)
            self.rows[rid] = to, new

    def value(self) -> int:
        return self.random.randrange(1000)

    def put(self, rid: int, key: int, row: dict[str, int]) -> None:
        self.note("insert", None, key, dict(row))
        self.rows[rid] = key, dict(row)

    def remove(self, rid: int) -> None:
        self.note("delete", self.rows.pop(rid)[0], None, {})

    def note(self, kind: str, before: int | None, after: int | None, shown: dict[str, int]) -> None:
        self.changes.append(Change(self.scn + 1, kind, before, after, shown))

    def at(self, scn: int) -> dict[int, dict[str, int]]:
        return dict(self.states[scn].values())


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 10**9), key_only=st.booleans(), by_rowid=st.booleans(), spread=st.integers(0, 12))
@example(seed=1, key_only=False, by_rowid=True, spread=12)
def test_chunks_of_several_scns_and_one_merge_make_the_table_or_say_what_is_unknown(
    seed: int, key_only: bool, by_rowid: bool, spread: int
) -> None:
    random = Random(seed)
    source = Source(random, 40, key_only)
    low = FIRST + random.randrange(5)
    scns = [low + random.randrange(spread + 1) for _ in range(3)]
    cuts = sorted(random.randrange(ROWIDS if by_rowid else KEYS) for _ in range(2))
    edges = [-1, *cuts, 99]

    def of(n: int, rid: int, key: int) -> bool:
        return edges[n] < (rid if by_rowid else key) <= edges[n + 1]

    chunks = [(lambda rid, key, n=n: of(n, rid, key), scn) for n, scn in enumerate(scns)]
    first, end = min(scns), max(scns) + random.randrange(8)
    redo = [change for change in source.changes if first < change.scn <= end]

    table = load(read_chunks(source.states, chunks))
    try:
        table = merge(table, net_change(redo, mixed=True))
    except Undecided:
        assert key_only
        return
    assert table == source.at(end)


def test_a_filter_of_rows_changes_nothing_where_all_columns_are_logged() -> None:
    """A row is mapped by itself, and the net change of one that does not pass is that it is gone."""

    def passes(row: Values | None) -> bool:
        return row is not None and row["a"] < 500

    for seed in range(400):
        source = Source(Random(seed), 40, key_only=False)
        chunks = [(lambda rid, key: key < 4, FIRST), (lambda rid, key: key >= 4, FIRST + 12)]
        read = [one for one in read_chunks(source.states, chunks) if passes(one[2])]
        net = net_change([change for change in source.changes if FIRST < change.scn <= FIRST + 15], mixed=True)
        table = merge(load(read), {key: row if passes(row) else None for key, row in net.items()})
        assert table == {key: row for key, row in source.at(FIRST + 15).items() if passes(row)}


def test_one_merge_too_early_or_without_the_check_is_found_by_this_reference() -> None:
    """The reference can fail: a MERGE that ends before the highest SCN, and one that takes unknown values of a moved row."""

    def differs(mixed: bool, early: bool) -> bool:
        for seed in range(400):
            source = Source(Random(seed), 40, key_only=not early)
            chunks = [(lambda rid, key: key < 4, FIRST), (lambda rid, key: key >= 4, FIRST + 12)]
            end = FIRST + 6 if early else FIRST + 12
            redo = [change for change in source.changes if FIRST < change.scn <= end]
            try:
                table = merge(load(read_chunks(source.states, chunks)), net_change(redo, mixed=mixed))
            except Undecided:
                continue
            if table != source.at(end):
                return True
        return False

    assert differs(mixed=False, early=False)
    assert differs(mixed=True, early=True)
    assert not differs(mixed=True, early=False)


def test_with_one_scn_nothing_is_unknown() -> None:
    for seed in range(100):
        source = Source(Random(seed), 30, key_only=False)
        table = load(read_chunks(source.states, [(lambda rid, key: True, FIRST)]))
        redo = [change for change in source.changes if change.scn > FIRST]
        assert merge(table, net_change(redo, mixed=False)) == source.at(source.scn)
