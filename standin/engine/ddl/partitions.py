"""Which partition a row belongs to, and the partitions that Oracle creates by itself for a row (interval, automatic list)."""

from __future__ import annotations

from calendar import monthrange
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from zlib import crc32

from sqlglot import exp

from standin.engine.ddl.redo import RECURSIVE_DDL, write_ddl
from standin.engine.expressions.compiler import Compiler
from standin.engine.expressions.frame import EMPTY_SCOPE, Frame
from standin.engine.sessions.session import EngineSession
from standin.engine.storage.layout import Row
from standin.engine.storage.storage import TableStore
from standin.engine.text.parse import parse_as_written
from standin.engine.types.dates import NO_YEAR
from standin.engine.types.values import coercer_of
from standin.interface import OraError
from standin.model import Partition, Partitioning, SqlType

_ABOVE_ALL = object()  # MAXVALUE
OTHERS = ("DEFAULT",)  # the bound of the partition of a list that takes all other values
_WIDEST = {"LIST": OTHERS, "RANGE": ("MAXVALUE",)}  # of a subpartition that nothing declares
MOST_PARTITIONS = 1048575
SECONDS = {"DAY": 86400, "HOUR": 3600, "MINUTE": 60, "SECOND": 1}
_DAYS = {**{unit: seconds / 86400 for unit, seconds in SECONDS.items()}, "MONTH": 31, "YEAR": 366}  # at most


def partition_of(session: EngineSession, store: TableStore, values: Row) -> Partition | None:
    """Return the partition of a new row, creating it where the table says so; None if the table has none.

    Raise ORA-14400 if no partition takes the row.
    """
    how = store.definition.partitioning
    if how is None:
        return None
    found = (
        _parent_partition(session, store, how, values)
        if how.reference
        else _chosen(session, store, how, how.partitions, values)
    )
    if found is None:
        found = _created(session, store, how, values)
    if found.parts:
        assert how.sub is not None
        found = _chosen(session, store, how.sub, found.parts, values)
    if found is None:
        raise OraError(14400, "inserted partition key does not map to any partition")
    return found


def _parent_partition(session: EngineSession, store: TableStore, how: Partitioning, values: Row) -> Partition:
    """Return the partition at the place of the parent row's."""
    constraint = next(c for c in store.definition.constraints if c.name == how.reference)
    parent = session.database.tables.parent_of(store.definition, constraint)
    assert constraint.references is not None
    index = session.database.keys.index_of(parent, constraint.references[1])
    key = tuple(values[store.layout.position[name]] for name in constraint.columns)
    for row in index.rows_with(key):
        versions = parent.rows.get(row)
        if versions and versions[-1].values is not None and row in parent.part_of:
            name = parent.part_of[row].name
            found = next((leaf for leaf in how.partitions if leaf.parent == name), None)
            if found is None:  # the parent's partition is newer
                found = numbered(session, Partition(name, 0, 0, parent=name, interval=True), how)
                how.partitions.append(found)
            return found
    raise OraError(14400, "inserted partition key does not map to any partition")


def _chosen(
    session: EngineSession, store: TableStore, how: Partitioning, parts: list[Partition], values: Row
) -> Partition | None:
    key = tuple(values[store.layout.position[name]] for name in how.columns)
    if how.kind == "HASH":
        encoders = [store.layout.encoders[store.layout.position[name]] for name in how.columns]
        text = b"|".join(b"" if v is None else encode(v) for v, encode in zip(key, encoders, strict=True))
        return parts[_bucket(crc32(text), len(parts))]
    types = types_of(store, how)
    if how.kind == "RANGE":
        return next(
            (p for p in parts if _is_below(key, [_bound(session, t, k) for t, k in zip(p.bound, types, strict=True)])), None
        )
    others = next((p for p in parts if p.bound == OTHERS), None)
    return next((p for p in parts if p is not others and any(key == listed(session, t, types) for t in p.bound)), others)


def _bucket(number: int, count: int) -> int:
    """Return the partition of a hash: another one takes rows of one partition alone, as with Oracle."""
    size = 1 << (count - 1).bit_length()
    place = number % size
    return place if place < count else place - size // 2


def partition_for(session: EngineSession, store: TableStore, how: Partitioning, texts: list[str], *, is_sub: bool) -> Partition:
    """Return the partition that PARTITION FOR (..) names: the one that a row with these values would be in."""
    columns = [*how.columns, *(how.sub.columns if is_sub and how.sub is not None else ())]
    if len(texts) != len(columns):
        raise OraError(14763, "Unable to resolve FOR VALUES clause to a partition number")
    values: list[Any] = [None] * len(store.definition.columns)
    for name, text in zip(columns, texts, strict=True):
        position = store.layout.position[name]
        values[position] = _bound(session, text, store.definition.columns[position].type)
    found = _chosen(session, store, how, how.partitions, tuple(values))
    if found is not None and is_sub and how.sub is not None:
        found = _chosen(session, store, how.sub, found.parts, tuple(values))
    if found is None:
        raise OraError(14763, "Unable to resolve FOR VALUES clause to a partition number")
    return found


def types_of(store: TableStore, how: Partitioning) -> list[SqlType]:
    return [store.definition.columns[store.layout.position[name]].type for name in how.columns]


def listed(session: EngineSession, text: str, types: list[SqlType]) -> tuple[Any, ...]:
    """Return the values that a text among those of a list means, one for each column."""
    if len(types) == 1:
        return (_bound(session, text, types[0]),)
    tree = parse_as_written(f"select {text} from dual").expressions[0]
    items = tree.expressions if isinstance(tree, exp.Tuple) else [tree]
    return tuple(_bound(session, item.sql(dialect="oracle"), kind) for item, kind in zip(items, types, strict=True))


def _is_below(key: tuple[Any, ...], bound: list[Any]) -> bool:
    """Compare column by column; NULL is above everything but MAXVALUE."""
    for value, limit in zip(key, bound, strict=True):
        if limit is _ABOVE_ALL:
            return True
        if value is None or value > limit:
            return False
        if value < limit:
            return True
    return False


def _bound(session: EngineSession, text: str, kind: SqlType) -> Any:
    if text.upper() == "MAXVALUE":
        return _ABOVE_ALL
    value = _constant(session, text)
    return None if value is None else coercer_of(kind, "partition")(value, session.nls)


def _constant(session: EngineSession, text: str) -> Any:
    expression = parse_as_written(f"select {text} from dual").expressions[0]
    return Compiler(EMPTY_SCOPE).compile(expression).run((), Frame(session, ()))


def _created(session: EngineSession, store: TableStore, how: Partitioning, values: Row) -> Partition:
    """Create the partition that a row needs, in a transaction of its own: the partition stays if the row is rolled back."""
    if how.interval is None and not how.automatic:
        raise OraError(14400, "inserted partition key does not map to any partition")
    position = store.layout.position[how.columns[0]]
    value, kind = values[position], store.definition.columns[position].type
    if value is None and how.interval is not None:
        raise OraError(14300, "partitioning key maps to a partition outside maximum permitted number of partitions")
    if how.automatic:
        bound, place = _literal(value), len(how.partitions)
    else:
        last = _bound(session, how.partitions[-1].bound[0] if not how.partitions[-1].interval else _fixed(how).bound[0], kind)
        limit = _next_limit(last, value, how.interval or "")
        bound = _literal(limit)
        place = sum(_bound(session, p.bound[0], kind) < limit for p in how.partitions)
    made = numbered(session, Partition("", 0, 0, (bound,), interval=True), how)
    how.partitions.insert(place, made)
    _write(session, store, made, how)
    return made


def _fixed(how: Partitioning) -> Partition:
    """Return the last partition that the user declared: interval partitions are counted from its bound."""
    return [p for p in how.partitions if not p.interval][-1]


def _write(session: EngineSession, store: TableStore, made: Partition, how: Partitioning) -> None:
    """Write the redo of the new partition in a transaction of its own. Whether LogMiner shows a DDL then is not known."""
    database, table = session.database, store.definition
    table.last_ddl = database.ddl_time()
    database.plans.forget()
    if not database.options.shows_interval_ddl:
        return
    values = "VALUES" if how.automatic else "VALUES LESS THAN"
    text = f'ALTER TABLE "{table.owner}"."{table.name}" ADD PARTITION "{made.name}" {values} ({", ".join(made.bound)})'
    mine, session.transaction = session.transaction, None
    try:
        write_ddl(session, text, table, info=RECURSIVE_DDL)
    finally:
        session.transaction = mine


def numbered(session: EngineSession, partition: Partition, how: Partitioning) -> Partition:
    """Give a partition and its subpartitions their ids, and names where they have none. Those of a template begin with the
    partition's."""
    partition.object_id = partition.data_object_id = session.database.next_object_id()
    partition.name = partition.name or f"SYS_P{partition.object_id}"
    if how.sub is not None and not partition.parts:
        named = [Partition(p.name and f"{partition.name}_{p.name}", 0, 0, p.bound) for p in how.sub.partitions]
        partition.parts = named or [Partition("", 0, 0, _WIDEST.get(how.sub.kind, ()))]
    for part in partition.parts:
        numbered_as(session, part, how, is_sub=True)
    return partition


def numbered_as(session: EngineSession, partition: Partition, how: Partitioning, *, is_sub: bool) -> Partition:
    """Number a partition, or a subpartition."""
    if not is_sub:
        return numbered(session, partition, how)
    partition.object_id = partition.data_object_id = session.database.next_object_id()
    partition.name = partition.name or f"SYS_SUBP{partition.object_id}"
    return partition


def _next_limit(last: Any, value: Any, interval: str) -> Any:
    """Return the lowest bound above `value`, at a whole number of intervals from `last`."""
    call = parse_as_written(f"select {interval} from dual").expressions[0]
    if isinstance(call, exp.Interval):
        count, unit = Decimal(call.this.name), call.unit.name.upper()
    elif isinstance(call, exp.Anonymous):
        count, unit = Decimal(call.expressions[0].name), call.expressions[1].name.upper()
    else:
        step = Decimal(interval)
        times = max((Decimal(value) - Decimal(last)) // step + 1, Decimal(1))
        _require_position(times)
        found = Decimal(last) + times * step
        return int(found) if found == found.to_integral_value() else found
    if unit in SECONDS:
        width = float(count) * SECONDS[unit]
        _require_position((value - last).total_seconds() / width)
    limit, steps = last, max(0, int((value - last).days / (float(count) * _DAYS[unit])) - 2)
    while limit <= value:
        steps += 1
        try:
            limit = _later(last, unit, count * steps)
        except (ValueError, OverflowError):  # the bound would be in the year 10000
            raise OraError(1841, NO_YEAR) from None
    return limit


def _require_position(intervals: Decimal | float) -> None:
    """Partitions are counted from the first one, whether or not those between exist."""
    if intervals > MOST_PARTITIONS:
        raise OraError(14300, "partitioning key maps to a partition outside maximum permitted number of partitions")


def _later(moment: datetime, unit: str, count: Decimal) -> datetime:
    if unit in ("MONTH", "YEAR"):
        months = moment.month - 1 + int(count) * (12 if unit == "YEAR" else 1)
        year, month = moment.year + months // 12, months % 12 + 1
        return moment.replace(year=year, month=month, day=min(moment.day, monthrange(year, month)[1]))
    return moment + timedelta(seconds=float(count * SECONDS[unit]))


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, datetime):
        return f"TO_DATE('{value:%Y-%m-%d %H:%M:%S}', 'YYYY-MM-DD HH24:MI:SS')"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value)
