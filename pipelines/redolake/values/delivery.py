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
and mypy (`assert_never`) name those that lack it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from redolake.values.dictionary_table import DictionaryTable
from redolake.values.table import ASSEMBLED, DOCUMENTS, LARGE_OBJECTS, ROWID_COLUMN, ColumnChoice, TableVersion, is_unshown


@dataclass(frozen=True, slots=True)
class Plain:
    """Each change is one row of the redo, and has its values."""

    kind: Literal["plain"] = "plain"


@dataclass(frozen=True, slots=True)
class NullableKey:
    """Each change is one row of the redo. A column of the key may be NULL, and rows with a NULL there are known by all their
    columns."""

    kind: Literal["nullable key"] = "nullable key"


@dataclass(frozen=True, slots=True)
class RereadValues:
    """The redo has all values but those of `columns` (large objects): capture reads them again at the end of each window."""

    columns: tuple[int, ...]
    kind: Literal["reread values"] = "reread values"


@dataclass(frozen=True, slots=True)
class RereadRows:
    """The redo only says which rows changed: capture reads them again whole at the end of each window."""

    kind: Literal["reread rows"] = "reread rows"


@dataclass(frozen=True, slots=True)
class Assembled:
    """The values of `columns` (large objects) are assembled from all their changes in the redo; those of `documents`, which are
    among them, are always whole, in rows of their own."""

    columns: tuple[int, ...]
    documents: frozenset[int] = frozenset()
    kind: Literal["assembled"] = "assembled"


@dataclass(frozen=True, slots=True)
class Appended:
    """The table has no key and gets INSERTs only."""

    kind: Literal["appended"] = "appended"


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
    return tuple(RereadRows() for _ in found) if any(isinstance(one, RereadRows) for one in found) else found


def widest(deliveries: Iterable[Delivery]) -> Delivery:
    """Return the delivery that needs most of the redo's rows; Plain of none."""
    return max(deliveries, key=lambda one: KINDS.index(type(one)), default=PLAIN)


def is_in_redo(deliveries: Iterable[Delivery]) -> bool:
    """Return whether each change is one row of the redo, with its values: nothing is read again, and nothing is assembled."""
    return all(isinstance(one, (Plain, NullableKey, Appended)) for one in deliveries)


def allows_several_scns(deliveries: Iterable[Delivery]) -> bool:
    """Return whether chunks of several SCNs and the redo between them make the table: each change has its row's key, and says
    how the row is or that it is gone. Rows without a key would be there twice, pieces of large objects would be added twice."""
    return all(isinstance(one, Plain) for one in deliveries)


def ids_of_pieces(delivery: Delivery) -> frozenset[int]:
    """Return the columns whose values are assembled from several rows of the redo."""
    return frozenset(delivery.columns) if isinstance(delivery, Assembled) else frozenset()


def documents_of(delivery: Delivery) -> frozenset[int]:
    """Return the columns whose values are in rows of their own, always whole."""
    return delivery.documents if isinstance(delivery, Assembled) else frozenset()


def as_shown(version: TableVersion, delivery: Delivery) -> TableVersion:
    """Return the version as the redo of this delivery shows it: a hidden column that stores a document is not ignored, because
    a value of it says that LogMiner shows the document in another way."""
    names = {version.column(i).name for i in documents_of(delivery)}
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
