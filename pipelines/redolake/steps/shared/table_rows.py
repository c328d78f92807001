"""Read a table's rows AS OF an SCN, for a snapshot or a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

from redolake.config.mapping import of_column
from redolake.context import Run
from redolake.errors import ValueDoesNotFit
from redolake.reconcile.chosen_columns import converted_columns, rules_of
from redolake.reconcile.mappings import masked_columns
from redolake.source import NO_ITEMS, WHOLE, Part, Source, read_snapshot, require_unfiltered
from redolake.steps.shared.same_container import read_same_container
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.scn import Scn
from redolake.values.table import TableId

T = TypeVar("T")


def read_rows(
    context: Run,
    oracle: Source,
    table: DictionaryTable,
    scn: Scn,
    rowid: bool,
    write: Callable[[Iterator[Any]], T],
    *parts: Part,
    more: Mapping[str, str] = NO_ITEMS,
) -> T:
    """Read the rows, all or those of some parts, with `more` expressions from `oracle`, and return what `write` makes of them.

    If the driver cannot convert a DATE, read again with all dates as text: so the load can name the row, and hold the table.
    Raise PdbChanged if the rows may be those of another PDB, ConfigurationError if a policy filters or masks them.
    """
    pipeline = context.pipeline
    declared = pipeline.table(table.table).rules
    texts = frozenset(c.name.upper() for c in table.columns if of_column(declared, c.name) == "string")
    read = partial(
        read_snapshot,
        table=table,
        scn=scn,
        fetch_rows=pipeline.source.fetch_rows,
        container=pipeline.source.container,
        rowid=rowid,
        rules=rules_of(pipeline, table),
        converted=converted_columns(table, context.landing.encoding()),
        hidden=masked_columns(pipeline, table),
        more=more,
    )

    def frames(opened: Source, dates_as_text: Any) -> Iterator[Any]:
        for part in parts or (WHOLE,):
            yield from read(opened, dates_as_text=dates_as_text, part=part)

    try:
        written = write(frames(oracle, texts))
    except ValueDoesNotFit:
        with context.connect(pipeline.source.container) as again:  # the other one stopped in an answer
            written = write(frames(again, "all"))
            check_rows(context, again, table.in_oracle)
    else:
        check_rows(context, oracle, table.in_oracle)
    return written


def check_rows(context: Run, oracle: Source, table: TableId) -> None:
    read_same_container(context, oracle)
    require_unfiltered(oracle, table, context.pipeline.source.container)
