"""The rows of one table that are read again when a window lands: by what they are found, and where their values go."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from redolake.context import Run
from redolake.errors import OF_ALL_TABLES, RedolakeError
from redolake.reconcile.chosen_columns import converted_columns, rules_of
from redolake.reconcile.mappings import masked_columns
from redolake.records.windows import WindowPlan
from redolake.source import Source, Wanted, read_again, require_unfiltered
from redolake.steps.capture.reread.keys import by_rowid, decoded_keys, key_names
from redolake.values.dictionary_table import DictionaryColumn, DictionaryTable
from redolake.values.ora_codes import OUT_OF_REACH
from redolake.values.scn import Scn

log = logging.getLogger(__name__)

Keys = tuple[tuple[object, ...], ...]


@dataclass(frozen=True, slots=True)
class ChangedRows:
    """Rows that the window `made` changes: those with `rowids`, and the `unnamed` rows of the redo, which have none. Their
    files are named by `token` and `number`."""

    context: Run
    oracle: Source
    made: WindowPlan
    token: str
    number: int
    table: DictionaryTable
    rowids: tuple[str, ...]
    unnamed: pa.Table

    @property
    def name(self) -> str:
        return str(self.table.table)

    @property
    def end(self) -> Scn:
        """The window's last SCN."""
        return Scn(self.made.window.scns.end - 1)

    @property
    def container(self) -> str | None:
        return self.context.pipeline.source.container

    @property
    def key(self) -> tuple[str, ...]:
        return key_names(self.context, self.table)

    def keys(self) -> Keys:
        """Return the keys of the unnamed rows, as far as they are known."""
        return tuple(decoded_keys(self.context, self.table, self.key, self.unnamed))

    def to_read(self, columns: Sequence[DictionaryColumn], keys: Keys) -> Wanted:
        pipeline = self.context.pipeline
        return Wanted(
            self.table,
            self.key,
            tuple(columns),
            self.rowids,
            keys,
            rules_of(pipeline, self.table),
            converted_columns(self.table, self.context.landing.encoding()),
            masked_columns(pipeline, self.table),
        )

    def read(self, wanted: Wanted, scn: Scn) -> tuple[str, int]:
        """Read rows AS OF an SCN into a file; return its name and how many there are."""
        require_unfiltered(self.oracle, self.table.in_oracle, self.container)
        found = self.write(read_again(self.oracle, wanted, scn, self.container))
        log.info("window %s: %s row(s) of %s read again AS OF SCN %s", self.made.window.name, found[1], self.name, scn)
        return found

    def write(self, frames: Iterable[Any], *, before: bool = False) -> tuple[str, int]:
        windows = self.context.landing.windows
        return windows.write_reread(self.made.window.name, self.token, self.number, frames, before=before)

    def why_not_read(self, what: str, error: RedolakeError) -> str:
        """Return why rows were not read, for the window's record. Raise an error that concerns all tables: then the window
        lands once the step is repeated."""
        if isinstance(error, OF_ALL_TABLES) and error.ora_code not in OUT_OF_REACH:
            raise error
        log.warning("window %s: %s of %s could not be read again: %s", self.made.window.name, what, self.name, error.what)
        return error.what


def rows_to_reread(
    context: Run, oracle: Source, made: WindowPlan, token: str, number: int, table: DictionaryTable, rows: pa.Table
) -> ChangedRows:
    return ChangedRows(context, oracle, made, token, number, table, *by_rowid(rows))
