"""How a table's columns in Oracle become those in the lake: names, expressions, masks, users' code and a filter of rows.

It is decided once, from pipelines.yml and the version that a snapshot reads, and is part of that version and of those that
follow it (table.TableVersion): columns are known by their ids, so a later RENAME or MODIFY in Oracle changes nothing here. A
table without a mapping has None. `apply/mapping.py` is the one place that computes values by it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Literal

Mask = Literal["hash", "redact", "last4", "null"]
MASKS: tuple[Mask, ...] = ("hash", "redact", "last4", "null")
CLEAR: Literal["clear"] = "clear"  # as it is, where a pattern would mask it
PLAIN_NUMBER = "plain number"  # how masks write numbers: 1.00 and 1.50 as 1 and 1.5, whatever the scale of the column
Means = Literal["expression", "mask", "transform"]
FIRST_ADDED = 1_000_000  # ids of columns that Oracle does not have; those of its own columns are far below
OF_LAKE = "LAKE "  # our name of the type of a column that is computed: LAKE and the type in Spark SQL


@dataclass(frozen=True, slots=True)
class Computed:
    """A column of the lake whose values are computed, instead of those of the source column with its id if there is one.

    `sql` is Spark SQL in which source_value stands for columns; `text` is how the configuration has it. `needs` are the
    columns of Oracle that it is made of. A mask needs its own column, and `sql` is PLAIN_NUMBER where it is one; a column of
    `transform` needs those of the function.
    """

    id: int
    name: str
    type: str
    means: Means = "expression"
    needs: tuple[int, ...] = ()
    sql: str = ""
    text: str = ""
    mask: Mask | None = None
    comment: str = ""

    @property
    def is_added(self) -> bool:
        return self.id >= FIRST_ADDED

    def __str__(self) -> str:
        shown = {"mask": f"mask: {self.mask}", "transform": self.text}.get(self.means, f"`{self.text}`")
        return f"{self.name} ({shown})"


@dataclass(frozen=True, slots=True)
class RowFilter:
    """The rows that the lake shall have: those for which `sql` is true, as in `Computed`."""

    sql: str
    needs: tuple[int, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Transform:
    """A function of users' code, as `module:name`, with the hash of its module. `inputs` are the columns that it gets, with the
    names under which it gets them."""

    function: str
    digest: str
    inputs: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class SecretName:
    """Where the key of `hash` masks is: an Airflow connection or an environment variable. `check` is made of the key, and says
    nothing about it but whether another one is the same."""

    connection: str | None = None
    variable: str | None = None
    check: str = ""

    def __str__(self) -> str:
        return f"connection {self.connection}" if self.connection else f"variable {self.variable}"


@dataclass(frozen=True, slots=True)
class TableMapping:
    """`names` are those of renamed columns in the lake, by id. `later` are the names that columns get which a DDL adds under a
    name in Oracle; `shaped` are patterns for columns that a DDL cannot add, because values of theirs would be computed.
    `order` begins the order of the columns in the lake."""

    names: tuple[tuple[int, str], ...] = ()
    computed: tuple[Computed, ...] = ()
    where: RowFilter | None = None
    transform: Transform | None = None
    secret: SecretName | None = None
    later: tuple[tuple[str, str], ...] = ()
    shaped: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    comments: tuple[tuple[int, str], ...] = ()

    def name(self, column_id: int) -> str | None:
        """Return the column's name in the lake, or None where the mapping gives it none."""
        return dict(self.names).get(column_id)

    def at(self, column_id: int) -> Computed | None:
        return next((one for one in self.computed if one.id == column_id), None)

    @property
    def changes_rows(self) -> bool:
        """Return whether values are computed, or rows left out."""
        return bool(self.computed or self.where)

    @property
    def added(self) -> tuple[Computed, ...]:
        return tuple(one for one in self.computed if one.is_added)

    @property
    def masked(self) -> frozenset[int]:
        """The columns whose own values the lake must not have."""
        return frozenset(one.id for one in self.computed if one.means == "mask")

    @property
    def needs(self) -> frozenset[int]:
        """The columns of Oracle that something is computed from."""
        of_filter = () if self.where is None else self.where.needs
        return frozenset((*(i for one in self.computed for i in one.needs), *of_filter))

    @property
    def filter_alone(self) -> TableMapping:
        """The mapping of rows of which nothing is asked but whether the lake shall have them."""
        return replace(self, computed=(), transform=None)

    @property
    def rows(self) -> TableMapping:
        """The mapping without what leaves values and names of a table as they are."""
        computed = tuple(replace(one, comment="", text="") for one in self.computed)
        where = None if self.where is None else replace(self.where, text="")
        return replace(self, computed=computed, where=where, order=(), comments=())

    def users_of(self, column_id: int) -> tuple[str, ...]:
        """Return what needs a column of Oracle, apart from the column that takes its place."""
        own = [
            str(one) for one in self.computed if column_id in one.needs and one.id != column_id and one.means == "expression"
        ]
        code = [self.transform.function] if self.transform and column_id in dict(self.transform.inputs) else []
        return (*own, *code, *([f"where: {self.where.text}"] if self.where and column_id in self.where.needs else []))

    def for_columns(self, ids: Iterable[int]) -> TableMapping:
        """Return the mapping for rows that only have these columns."""
        kept = frozenset(ids)
        computed = tuple(one for one in self.computed if one.id in kept and kept.issuperset(one.needs))
        return replace(self, computed=computed, where=None, transform=None)

    def with_added(self, column_id: int, oracle_name: str) -> TableMapping:
        """Return the mapping with a column that a DDL has added."""
        name = dict(self.later).get(oracle_name)
        return self if name is None else replace(self, names=(*self.names, (column_id, name)))

    def is_shaped(self, oracle_name: str) -> bool:
        """Return whether values of a column of that name would be computed."""
        return any(fnmatchcase(oracle_name, pattern) for pattern in self.shaped)


def source_value(column_id: int) -> str:
    """Return the name of a column of Oracle in frames that a mapping is computed from. No column of a sane table has it, as
    it may stand beside them."""
    return f"redolake: {column_id}"


def computes_key(mapping: TableMapping | None, key: Iterable[int]) -> bool:
    """Return whether an expression makes the key: two keys of Oracle may become one in the lake. Masks keep them apart."""
    of_key = frozenset(key)
    return mapping is not None and any(one.id in of_key and one.means == "expression" for one in mapping.computed)


def needs_all_columns(mapping: TableMapping | None, key: Iterable[int]) -> tuple[str, ...]:
    """Return what needs columns that the redo of an UPDATE may lack unless all columns are logged.

    A value of one column is computed where the change has it, and stays as it is where it has not. A filter needs the whole
    row: one that an UPDATE moves into it is not in the lake yet.
    """
    if mapping is None:
        return ()
    always = frozenset(key)
    found = [str(one) for one in mapping.computed if len(one.needs) > 1 and not always.issuperset(one.needs)]
    if mapping.where is not None and not always.issuperset(mapping.where.needs):
        found.append(f"where: {mapping.where.text}")
    return tuple(dict.fromkeys(found))
