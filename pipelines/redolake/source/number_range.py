"""What the NUMBER columns without precision, and FLOATs, really contain: decimals and digits, and the rule that suits them.

One query per table reads its first rows only, so that a large table costs no more than a small one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from redolake.errors import Finding, SourceRefused
from redolake.source.oracle import Source
from redolake.source.quoting import quote
from redolake.values.dictionary_table import DictionaryColumn, DictionaryTable
from redolake.values.table import TableId, TypeRule

ROWS = 100_000
MANY = 100  # more than any type but text holds
_TEXT = "TO_CHAR({0}, 'TM9', 'NLS_NUMERIC_CHARACTERS=''.,''')"
_BIGINT_DIGITS, _DOUBLE_DIGITS, _DECIMAL_DIGITS, _DEFAULT_SCALE = 18, 15, 38, 10


@dataclass(frozen=True, slots=True)
class NumberRange:
    """The most decimals, and the most digits before the decimal point, of a column's values."""

    decimals: int
    digits: int

    @property
    def fits_default(self) -> bool:
        """Whether DECIMAL(38,10) holds all of it."""
        return self.decimals <= _DEFAULT_SCALE and self.digits <= _DECIMAL_DIGITS - _DEFAULT_SCALE

    def __str__(self) -> str:
        if not self.decimals:
            return f"whole numbers of at most {self.digits} digits"
        return f"at most {self.decimals} decimals and {self.digits} digits before them"


def number_findings(
    source: Source, container: str | None, tables: Iterable[DictionaryTable], rules: Mapping[TableId, Mapping[str, TypeRule]]
) -> Iterator[Finding]:
    """Propose a rule for each such column that has none yet and needs one; a warning where the default would stop the table."""
    for table, columns, ranges in _ranges(source, container, tables, rules):
        yield from _findings_of(table, columns, ranges)


def number_rules(
    source: Source, container: str | None, tables: Iterable[DictionaryTable]
) -> dict[TableId, dict[str, TypeRule]]:
    """Return the rule of each such column that needs one, None for one without values. Tables without such columns are left
    out."""
    return {
        table.table: {c.name: proposal(c, ranges[c.name]) if c.name in ranges else None for c in columns}
        for table, columns, ranges in _ranges(source, container, tables, {})
    }


def _ranges(
    source: Source, container: str | None, tables: Iterable[DictionaryTable], rules: Mapping[TableId, Mapping[str, TypeRule]]
) -> Iterator[tuple[DictionaryTable, list[DictionaryColumn], dict[str, NumberRange]]]:
    open_columns = [
        (table, [column for column in table.captured if is_open(column) and column.name not in rules.get(table.table, {})])
        for table in tables
    ]
    wanted = [(table, columns) for table, columns in open_columns if columns]
    if wanted:
        source.use_container(container)
        for table, columns in wanted:
            ranges = measure(source, table, columns)
            yield table, [column for column in columns if needs_rule(column, ranges.get(column.name))], ranges
        source.use_container(None)


def needs_rule(column: DictionaryColumn, found: NumberRange | None) -> bool:
    """Return whether the default, DECIMAL(38,10), does not suit a column's values, or nothing is known of them. Decimals that
    it holds get no narrower rule: the next value may have one more, and would hold the table."""
    return found is None or column.type.name == "FLOAT" or not found.decimals or not found.fits_default


def is_open(column: DictionaryColumn) -> bool:
    kind = column.type
    return kind.name == "FLOAT" or (kind.name == "NUMBER" and kind.precision is None and kind.scale is None)


def measure(source: Source, table: DictionaryTable, columns: list[DictionaryColumn]) -> dict[str, NumberRange]:
    """Return the range of each column that has values; nothing for a table that this user may not read."""
    try:
        (row,) = source.query_text(range_sql(table.in_oracle, columns), {}, "number ranges")
    except SourceRefused:
        return {}  # another check reports it
    found = {}
    for number, column in enumerate(columns):
        decimals, digits = getattr(row, f"decimals{number}"), getattr(row, f"digits{number}")
        if digits is not None:
            found[column.name] = NumberRange(int(decimals), int(digits))
    return found


def range_sql(table: TableId, columns: list[DictionaryColumn]) -> str:
    """Return the SELECT of the most decimals and whole digits of each column. TM9 shows .05, or 5E-70 beyond 64 characters."""
    items = []
    for number, column in enumerate(columns):
        name = f"ABS({quote(column.name)})"
        for what, value, shorter in (("decimals", f"{name} - TRUNC({name})", 1), ("digits", f"TRUNC({name})", 0)):
            text = _TEXT.format(value)
            items.append(f"MAX(CASE WHEN {text} LIKE '%E%' THEN {MANY} ELSE LENGTH({text}) - {shorter} END) AS {what}{number}")
    return f"SELECT {', '.join(items)} FROM {quote(table.owner)}.{quote(table.name)} WHERE ROWNUM <= {ROWS}"


def _findings_of(
    table: DictionaryTable, columns: list[DictionaryColumn], ranges: Mapping[str, NumberRange]
) -> Iterator[Finding]:
    known = [column for column in columns if column.name in ranges]
    if not known:
        return
    shown = "; ".join(f"{c.name} {c.type}: {ranges[c.name]}" for c in known)
    wanted = ", ".join(f"{c.name}: {proposal(c, ranges[c.name])}" for c in known)
    stops = any(c.type.name == "NUMBER" and not ranges[c.name].fits_default for c in known)
    yield Finding(
        str(table.table),
        f"numbers of no declared scale; the first {ROWS:,} rows have {shown}",
        f"declare how they are stored: `columns: {{{wanted}}}`",
        "warning" if stops else "note",
    )


def proposal(column: DictionaryColumn, found: NumberRange) -> str | int:
    """Return the rule of a column that needs one."""
    if column.type.name == "FLOAT":
        return "double" if found.decimals + found.digits <= _DOUBLE_DIGITS else "string"
    if not found.decimals and found.digits <= _BIGINT_DIGITS:
        return "integer"
    if found.decimals + found.digits <= _DECIMAL_DIGITS:
        return found.decimals
    return "string"
