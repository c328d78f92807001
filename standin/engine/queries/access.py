"""Access paths: the rows that a WHERE clause can match, found by ROWID, by an index, or by a scan of the whole segment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlglot import exp

from standin.engine.expressions.compiler import Compiler
from standin.engine.expressions.frame import Compiled, Frame, Scope
from standin.engine.storage.storage import Index, TableStore
from standin.engine.text.parse import identifier
from standin.engine.types.datatypes import info_of_column
from standin.engine.types.rowids import is_rowid, row_of, rowid_text, rows_between
from standin.engine.types.values import moment, to_number
from standin.interface import OraError
from standin.moment import Moment

Candidates = Callable[[Frame], set[int] | None]  # None: every row


def table_scope(store: TableStore, alias: str | None) -> Scope:
    table = store.definition
    columns = {
        c.name: (i, replace(info_of_column(c), is_json=c.name in table.json_columns)) for i, c in enumerate(table.columns)
    }
    return Scope(columns, frozenset({alias} if alias else {table.name}), is_table=True)


def conjuncts(node: exp.Expression | None) -> Iterator[exp.Expression]:
    """Yield the parts of a condition that are joined by AND."""
    if node is None:
        return
    if isinstance(node, exp.Where | exp.Paren):
        yield from conjuncts(node.this)
    elif isinstance(node, exp.And):
        yield from conjuncts(node.this)
        yield from conjuncts(node.expression)
    else:
        yield node


def is_rownum_limit(part: exp.Expression) -> bool:
    """Return whether the part is `ROWNUM <= n`, `ROWNUM < n` or `ROWNUM = 1`, which limits how many rows are returned."""
    return (
        isinstance(part, exp.LT | exp.LTE | exp.EQ) and isinstance(part.this, exp.Column) and identifier(part.this) == "ROWNUM"
    )


def access_path(store: TableStore, scope: Scope, compiler: Compiler, where: exp.Expression | None) -> Candidates:
    """Return the function that finds candidate rows. The caller still filters them by `where`."""
    equal: dict[str, list[Compiled]] = {}
    for part in conjuncts(where):
        name, values = _equality(part, scope, compiler)
        if name and values and name not in equal:
            equal[name] = values
    if "ROWID" in equal and len(equal["ROWID"]) == 1:
        return _by_rowid(store, equal["ROWID"][0])
    if bounds := list(_rowid_bounds(scope, compiler, where)):
        return _by_rowid_range(store, bounds)
    chosen = _index_for(store, equal)
    return _every_row if chosen is None else _by_key(store, chosen, [equal[name] for name in chosen.columns])


def _rowid_bounds(scope: Scope, compiler: Compiler, where: exp.Expression | None) -> Iterator[tuple[bool, Compiled]]:
    """Yield the constants that limit ROWID, each with whether it is the lower limit."""
    for part in conjuncts(where):
        limits = isinstance(part, exp.GT | exp.GTE | exp.LT | exp.LTE) and isinstance(part.this, exp.Column)
        if limits and _belongs(part.this, scope) and identifier(part.this) == "ROWID" and _is_constant(part.expression, scope):
            yield isinstance(part, exp.GT | exp.GTE), compiler.compile(part.expression)


def _by_rowid_range(store: TableStore, bounds: Sequence[tuple[bool, Compiled]]) -> Candidates:
    """Scan the blocks between the limits; those of another segment limit nothing here."""

    def candidates(frame: Frame) -> set[int] | None:
        limits: dict[bool, str] = {}
        for is_lower, value in bounds:
            text = str(value.run((), frame))
            if not is_rowid(text) or is_lower in limits:
                return None
            limits[is_lower] = text
        own = rowid_text(store.definition.data_object_id, 0)[:6]
        if store.part_of or store.definition.iot is not None or any(text[:6] != own for text in limits.values()):
            return None
        return set(rows_between(limits.get(True), limits.get(False), store.next_row))

    return candidates


def _every_row(frame: Frame) -> None:
    return None


def _equality(part: exp.Expression, scope: Scope, compiler: Compiler) -> tuple[str, list[Compiled]]:
    if isinstance(part, exp.EQ):
        for column, other in ((part.this, part.expression), (part.expression, part.this)):
            if isinstance(column, exp.Column) and _belongs(column, scope) and _is_constant(other, scope):
                return identifier(column.this), [compiler.compile(other)]
    if isinstance(part, exp.In) and isinstance(part.this, exp.Column) and _belongs(part.this, scope):
        choices = part.args.get("expressions") or []
        if choices and all(_is_constant(choice, scope) for choice in choices):
            return identifier(part.this.this), compiler.all(choices)
    return "", []


def _belongs(column: exp.Column, scope: Scope) -> bool:
    name, qualifier = identifier(column.this), identifier(column.args.get("table"))
    return (name in scope.columns or name == "ROWID") and (not qualifier or qualifier in scope.qualifiers)


def _is_constant(node: exp.Expression, scope: Scope) -> bool:
    """Return whether the expression has the same value for every row of the table, as columns of the statement around have."""
    if any(node.find_all(exp.Query)):
        return False
    columns = list(node.find_all(exp.Column))
    return not any(scope.outer is None or _belongs(c, scope) or identifier(c.this) == "ROWNUM" for c in columns)


def _by_rowid(store: TableStore, value: Compiled) -> Candidates:
    def candidates(frame: Frame) -> set[int]:
        text = str(value.run((), frame))
        row = row_of(text.removeprefix("*"))
        return set() if row is None or store.rowid(row) != text else {row}

    return candidates


def _index_for(store: TableStore, equal: dict[str, list[Compiled]]) -> Index | None:
    """Return the best index whose columns all have values; unique ones first, lists of values only for one column."""
    usable = [
        index
        for index in store.indexes
        if equal.keys() >= set(index.columns)
        and (len(index.columns) == 1 or all(len(equal[name]) == 1 for name in index.columns))
    ]
    return max(usable, key=lambda index: (index.unique, len(index.columns)), default=None)


def _by_key(store: TableStore, index: Index, values: Sequence[list[Compiled]]) -> Candidates:
    kinds = [c.type.name for name in index.columns if (c := store.definition.column(name)) is not None]
    if len(values) == 1:
        kind, choices = kinds[0], [choice.run for choice in values[0]]

        def by_one(frame: Frame) -> set[int] | None:
            rows: set[int] = set()
            for run in choices:
                found, key = _as_key(run((), frame), kind, frame)
                if not found:
                    return None
                rows.update(index.rows_with((key,)))
            return rows

        return by_one
    singles = [choice[0].run for choice in values]

    def by_all(frame: Frame) -> set[int] | None:
        key = []
        for run, kind in zip(singles, kinds, strict=True):
            found, part = _as_key(run((), frame), kind, frame)
            if not found:
                return None
            key.append(part)
        return set(index.rows_with(tuple(key)))

    return by_all


def _as_key(value: Any, kind: str, frame: Frame) -> tuple[bool, Any]:
    """Return the value as the index stores it, or (False, _) when the comparison needs more than equality of keys."""
    if value is None:
        return True, object()  # a key that equals no other
    if kind in ("NUMBER", "FLOAT"):
        try:
            return isinstance(value, int | Decimal | str), to_number(value)
        except OraError:
            return False, None
    if kind in ("VARCHAR2", "NVARCHAR2"):
        return isinstance(value, str), value
    if kind in ("DATE", "TIMESTAMP"):
        if isinstance(value, datetime | Moment):
            return True, value
        return isinstance(value, str), moment(value, frame.nls["NLS_DATE_FORMAT"]) if isinstance(value, str) else None
    return kind == "RAW" and isinstance(value, bytes), value
