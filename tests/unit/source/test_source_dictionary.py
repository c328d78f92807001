"""The dictionary of many tables is read in few queries, and one table's DDL does not repeat the reading of the others."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable

import pytest

from redolake.errors import SourceBusy, Terminal
from redolake.source.dictionary import BIND_LISTS, MAX_READINGS, read_tables
from redolake.values.table import TableId

FIELDS = {
    "table_object": ("object_id", "data_object_id", "last_ddl_time"),
    "table_kind": ("partitioned", "iot_type", "temporary", "cluster_name", "external", "logging"),
    "table_key": ("column_name", "constraint_name"),
}
VALUES = {"table_kind": ("NO", None, "N", None, "NO", "YES"), "table_key": ("ID", "ITEMS_PK")}


class FakeSource:
    """Answers the dictionary's statements; `changed` gives the LAST_DDL_TIME of a table at its nth reading."""

    def __init__(self, changed: Callable[[str, int], int] = lambda name, reading: 0) -> None:
        self.changed = changed
        self.asked: list[tuple[str, str, int]] = []  # statement, its text, number of its binds
        self.readings: dict[str, int] = {}

    def use_container(self, _: str | None) -> None:
        pass

    def query(self, name: str, /) -> list[object]:
        assert name == "current_scn"
        return [namedtuple("row", "current_scn")(100 + len(self.asked))]

    def query_text(self, sql: str, binds: dict[str, object], name: str) -> list[object]:
        self.asked.append((name, sql, len(binds)))
        names = sorted({str(value) for bind, value in binds.items() if bind != "owner"})
        if name not in FIELDS:
            return []
        row = namedtuple("row", ("table_name", *FIELDS[name]))
        values = VALUES.get(name)
        return [row(t, *(values or self.object_of(t))) for t in names if not t.startswith("GONE")]

    def object_of(self, table: str) -> tuple[int, int, int]:
        reading = self.readings[table] = self.readings.get(table, -1) + 1
        return 7, 7, self.changed(table, reading)


def ids(number: int, owner: str = "SHOP") -> list[TableId]:
    return [TableId(owner, f"T{n:04d}") for n in range(number)]


def test_a_hundred_tables_need_as_many_queries_as_one():
    one, hundred = FakeSource(), FakeSource()

    read_tables(one, ids(1))
    found = read_tables(hundred, ids(100))

    assert list(found) == ids(100)
    assert len(hundred.asked) == len(one.asked) == 26


class References(FakeSource):
    """Answers with the parents of each table; None is one that the user may not see."""

    def __init__(self, parents: dict[str, list[str | None]]) -> None:
        super().__init__()
        self.parents = parents

    def query_text(self, sql: str, binds: dict[str, object], name: str) -> list[object]:
        found = super().query_text(sql, binds, name)
        if name != "table_parents":
            return found
        row = namedtuple("row", ("table_name", "parent_owner", "parent_name"))
        names = sorted({str(value) for bind, value in binds.items() if bind != "owner"})
        return [row(t, parent and "SHOP", parent) for t in names for parent in self.parents.get(t, ())]


def test_parents_are_followed_through_tables_that_are_not_captured():
    source = References({"T0000": ["P"], "P": ["G", "P"], "G": ["T0000"], "T0001": ["Q"], "Q": [None]})

    found = read_tables(source, ids(3))

    parents = {table.table.name: ([p.name for p in table.parents], table.sees_parents) for table in found.values()}
    assert parents == {"T0000": (["G", "P"], True), "T0001": (["Q"], False), "T0002": ([], True)}


def test_the_texts_of_the_statements_stay_few():
    source = FakeSource()

    for number in (1, 2, 3, 7, 11, 50, 99, 101, 250):
        assert len(read_tables(source, ids(number))) == number

    assert len({text for _, text, _ in source.asked}) == 13 * len(BIND_LISTS)
    assert {binds for _, _, binds in source.asked} == {length + 1 for length in BIND_LISTS}


def test_tables_of_several_owners_and_missing_ones():
    wanted = [*ids(2), TableId("SHOP", "GONE"), *ids(1, "ERP")]

    found = read_tables(FakeSource(), wanted)

    assert sorted(found) == sorted([*ids(2), *ids(1, "ERP")])
    assert [found[table].key for table in ids(2)] == [("ID",), ("ID",)]


def test_a_release_without_logical_replication_has_it_enabled():
    class Older(FakeSource):
        def query_text(self, sql: str, binds: dict[str, object], name: str) -> list[object]:
            if name == "table_replication":
                raise Terminal('ORA-00904: "LOGICAL_REPLICATION": invalid identifier', ora_code=904)
            return super().query_text(sql, binds, name)

    assert read_tables(Older(), ids(1))[ids(1)[0]].logical_replication


@pytest.mark.parametrize("hybrid", ["YES", "NO"])
def test_a_table_with_external_partitions_is_recognised(hybrid: str):
    class Hybrid(FakeSource):
        def query_text(self, sql: str, binds: dict[str, object], name: str) -> list[object]:
            if name != "table_replication":
                return super().query_text(sql, binds, name)
            row = namedtuple("row", ("table_name", "logical_replication", "hybrid"))
            return [row(ids(1)[0].name, "ENABLED", hybrid)]

    assert read_tables(Hybrid(), ids(1))[ids(1)[0]].hybrid == (hybrid == "YES")


def test_another_error_of_that_statement_is_not_hidden():
    class Broken(FakeSource):
        def query_text(self, sql: str, binds: dict[str, object], name: str) -> list[object]:
            raise Terminal("ORA-00600: internal error code", ora_code=600)

    with pytest.raises(Terminal, match="ORA-00600"):
        read_tables(Broken(), ids(1))


def test_a_ddl_repeats_the_reading_of_its_own_table_only():
    source = FakeSource(lambda name, reading: int(name == "T0001" and reading >= 1))

    found = read_tables(source, ids(20))

    assert found.keys() == set(ids(20))
    assert found[ids(2)[1]].scn_before > found[ids(1)[0]].scn_before
    assert source.readings["T0001"] == 2
    assert source.readings["T0000"] == 1


def test_a_table_that_never_stops_changing_is_named():
    source = FakeSource(lambda name, reading: reading if name == "T0001" else 0)

    with pytest.raises(SourceBusy) as caught:
        read_tables(source, ids(20))

    assert caught.value.where["table"] == "SHOP.T0001"
    assert source.readings == {"T0001": MAX_READINGS} | {str(table.name): 1 for table in ids(20) if table.name != "T0001"}
