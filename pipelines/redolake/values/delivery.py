"""How a table's changes reach the lake: one of a closed set of values.

It is decided once, from what pipelines.yml says (`choice`, the kind of the key) and from the columns of a version, and a
batch's spec carries it. Each stage that treats the kinds differently has one table with an entry for each, in one place:

    stage     its table
    capture   pipelines/redolake/steps/capture/reread/__init__.py    what is read again when a window lands
    decode    pipelines/redolake/decode/changes.py             which values are pieces, in rows of their own
    assemble  pipelines/redolake/assemble/valueless.py       which changes are not applied with their own values
    apply     pipelines/redolake/apply/delivery/__init__.py  how a commit range becomes one MERGE or append
    verify    pipelines/redolake/apply/verify/compare.py       what is compared

A new kind is a class here, a member of `Delivery`, and an entry in each of these tables: `tests/unit/values/test_delivery.py`
and mypy (`assert_never`) name those that lack it. All other code asks a delivery by its properties, and names no kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from redolake.values.datatypes import ASSEMBLED, DOCUMENTS, LARGE_OBJECTS, is_unshown
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.table import ROWID_COLUMN, ColumnChoice, TableVersion


class _Kind:
    """What is asked of a delivery. A kind says where it differs."""

    __slots__ = ()
    in_redo: ClassVar[bool] = True  # each change is one row of the redo, with its values: none is read again or assembled
    rereads: ClassVar[Literal["", "large objects", "rows"]] = ""  # what capture reads again at the end of each window
    names_rows: ClassVar[bool] = True  # each change has a key that is never NULL; else all its columns may name a row
    null_keys: ClassVar[bool] = False  # a column of the key may be NULL

    @property
    def apart(self) -> frozenset[int]:
        """The columns (large objects) whose values are not in the row of the change."""
        return frozenset()

    @property
    def pieces(self) -> frozenset[int]:
        """The columns whose values are assembled from several rows of the redo."""
        return frozenset()

    @property
    def documents(self) -> frozenset[int]:
        """The columns whose values are in rows of their own, always whole."""
        return frozenset()


@dataclass(frozen=True, slots=True)
class Plain(_Kind):
    """Each change is one row of the redo, and has its values."""

    kind: Literal["plain"] = "plain"


@dataclass(frozen=True, slots=True)
class NullableKey(_Kind):
    """Each change is one row of the redo. A column of the key may be NULL, and rows with a NULL there are known by all their
    columns."""

    kind: Literal["nullable key"] = "nullable key"
    names_rows: ClassVar[bool] = False
    null_keys: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class RereadValues(_Kind):
    """The redo has all values but those of `columns` (large objects): capture reads them again at the end of each window."""

    columns: tuple[int, ...]
    kind: Literal["reread values"] = "reread values"
    in_redo: ClassVar[bool] = False
    rereads: ClassVar = "large objects"

    @property
    def apart(self) -> frozenset[int]:
        return frozenset(self.columns)


@dataclass(frozen=True, slots=True)
class RereadRows(_Kind):
    """The redo only says which rows changed: capture reads them again whole at the end of each window."""

    kind: Literal["reread rows"] = "reread rows"
    in_redo: ClassVar[bool] = False
    rereads: ClassVar = "rows"


@dataclass(frozen=True, slots=True)
class Assembled(_Kind):
    """The values of `columns` (large objects) are assembled from all their changes in the redo; those of `documents`, which are
    among them, are always whole, in rows of their own."""

    columns: tuple[int, ...]
    documents: frozenset[int] = frozenset()
    kind: Literal["assembled"] = "assembled"
    in_redo: ClassVar[bool] = False

    @property
    def apart(self) -> frozenset[int]:
        return frozenset(self.columns)

    @property
    def pieces(self) -> frozenset[int]:
        return frozenset(self.columns)


@dataclass(frozen=True, slots=True)
class Appended(_Kind):
    """The table has no key and gets INSERTs only."""

    kind: Literal["appended"] = "appended"
    names_rows: ClassVar[bool] = False


Keyed = Plain | NullableKey | RereadValues | Assembled  # a commit range's changes have a net change for each key
Delivery = Keyed | RereadRows | Appended


@dataclass(frozen=True, slots=True)
class WholeTable:
    """For one commit range only, so no spec has it: a DDL changed rows without redo, and the keys of all rows, with
    the columns that it filled, were read at the range's end. All other values come by `changes`."""

    changes: Keyed


# From the one that needs least of the redo's rows to the one that needs most.
KINDS: tuple[type[Delivery], ...] = (Plain, NullableKey, Appended, RereadValues, Assembled, RereadRows)
PLAIN = Plain()


def delivery_of(version: TableVersion) -> Delivery:
    """Return the delivery of changes under one version, by itself."""
    if version.key_kind == "append":
        return Appended()
    if _rereads_rows(version):
        return RereadRows()
    named = {column.id: column.type.name for column in version.columns}
    if version.choice.assembles:
        columns = tuple(i for i, name in named.items() if name in ASSEMBLED)
        documents = frozenset(i for i, name in named.items() if name in DOCUMENTS)
        if columns:
            return Assembled(columns, documents)
    elif columns := tuple(i for i, name in named.items() if name in LARGE_OBJECTS):
        return RereadValues(columns)
    nullable = any(version.column(i).nullable for i in version.key if i != ROWID_COLUMN)
    return NullableKey() if nullable and version.key_kind == "columns" and version.organization != "index" else PLAIN


def deliveries_of(versions: Sequence[TableVersion]) -> tuple[Delivery, ...]:
    """Return the delivery under each of a table's versions. Where the rows of one are read again, those of all are: a window
    that has changes of several versions is read again once, at its end."""
    found = tuple(delivery_of(version) for version in versions)
    return tuple(RereadRows() for _ in found) if any(one.rereads == "rows" for one in found) else found


def widest(deliveries: Iterable[Delivery]) -> Delivery:
    """Return the delivery that needs most of the redo's rows; Plain of none."""
    return max(deliveries, key=lambda one: KINDS.index(type(one)), default=PLAIN)


def is_in_redo(deliveries: Iterable[Delivery]) -> bool:
    return all(one.in_redo for one in deliveries)


def is_named_in_redo(deliveries: Iterable[Delivery]) -> bool:
    """Return whether each change is one row of the redo, names a row, and says how the row is or that it is gone. Only then do
    chunks of several SCNs and the redo between them make the table: other rows would be there twice."""
    return all(one.in_redo and one.names_rows for one in deliveries)


def as_shown(version: TableVersion, delivery: Delivery) -> TableVersion:
    """Return the version as the redo of this delivery shows it: a hidden column that stores a document is not ignored, because
    a value of it says that LogMiner shows the document in another way."""
    names = {version.column(i).name for i in delivery.documents}
    if not names:
        return version
    return replace(version, ignored=tuple(column for column in version.ignored if column.part_of not in names))


def reread_kind(table: DictionaryTable, choice: ColumnChoice) -> type[RereadValues | RereadRows] | None:
    """Return how capture reads a table again, the columns of which are those of `choice`; None where it does not."""
    if table.rereads_rows:
        return RereadRows
    return RereadValues if table.large_objects and not choice.assembles else None


def _rereads_rows(version: TableVersion) -> bool:
    types = (*(c.type.name for c in version.columns), *(c.type for c in version.ignored))
    return version.choice.unsupported == "reread" and any(map(is_unshown, types))
