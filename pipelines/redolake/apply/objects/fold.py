"""Apply the changes of large objects in their order: a stream that holds one row's values at a time, however many changes there
are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby
from typing import Any

import pyarrow as pa

from redolake.apply.objects.content import Content, Unfollowable
from redolake.apply.objects.xml_document import Document, ReadText
from redolake.values import frames


class Kind(StrEnum):
    """What a large object contains."""

    TEXT = "text"
    BYTES = "bytes"
    DOCUMENT = "document"


Columns = Mapping[int, Kind]  # by column id
# Steps that are no piece: a whole value; an empty one where Oracle may have moved the row; a document in other rows; the value
# from before the batch.
SET, BEGIN, EXPECT, KEEP = "set", "begin", "expect", "keep"
STEP = ("life", "column", "commit_scn", "kind", "at", "amount", "counts", "text", "octets")
_ROWS, _BYTES = 1_000, 16 << 20  # of a batch of results


def apply_step(content: Content, step: Mapping[str, Any]) -> None:
    value = step["text"] if step["octets"] is None else step["octets"]
    match step["kind"]:
        case "set":
            content.set(value)
        case "begin":
            content.begin(value, step["commit_scn"])
        case "write":
            content.write(step["at"], value, step["counts"], step["commit_scn"])
        case "trim":
            content.trim(step["at"])
        case "erase":
            content.erase(step["at"], step["amount"])
        case "keep":
            content.keep()
        case kind:
            raise Unfollowable(f"a row of kind {kind} is about a large object that is no document")


def apply_to_document(document: Document, step: Mapping[str, Any]) -> None:
    value = step["text"] if step["octets"] is None else step["octets"]
    match step["kind"]:
        case "set":
            document.set(value)
        case "expect":
            document.expect()
        case "keep":
            document.keep()
        case "document" | "text document" as kind:
            document.begin(has_plain_parts=kind == "text document")
        case "part" | "text" as kind:
            document.add(value, is_plain=kind == "text")
        case "end":
            document.end()
        case kind:
            raise Unfollowable(f"a {kind} changes a part of a document")


@dataclass(slots=True)
class _Rows:
    """Results that wait for their batch."""

    columns: Columns
    rows: list[dict[str, Any]] = field(default_factory=list)
    size: int = 0

    def add(self, life: str, found: Mapping[int, str | bytes | None], why: str | None) -> None:
        values = {frames.object_value(i): found.get(i) for i in self.columns}
        self.rows.append({"life": life, "why": why, **values, **{frames.has_object(i): i in found for i in self.columns}})
        self.size += sum(len(value) for value in values.values() if value is not None)

    @property
    def is_full(self) -> bool:
        return len(self.rows) >= _ROWS or self.size >= _BYTES

    def take(self, schema: pa.Schema) -> pa.RecordBatch:
        batch = pa.RecordBatch.from_pylist(self.rows, schema)
        self.rows, self.size = [], 0
        return batch


def values_ddl(columns: Columns) -> str:
    """Return the schema of the results for Spark."""
    kinds = {"string": "string", "binary": "binary", "bool": "boolean"}
    return ", ".join(f"{field.name} {kinds[str(field.type)]}" for field in _schema(columns))


def _schema(columns: Columns) -> pa.Schema:
    kinds = {i: pa.binary() if kind is Kind.BYTES else pa.string() for i, kind in columns.items()}
    values = [pa.field(frames.object_value(i), kind) for i, kind in kinds.items()]
    return pa.schema(
        [("life", pa.string()), ("why", pa.string()), *values, *((frames.has_object(i), pa.bool_()) for i in columns)]
    )


def fold_steps(
    columns: Columns, names: Mapping[int, str], read_text: ReadText
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function over the steps, ordered by life, column, rank and change. It yields v<id> and h<id> for each life: the
    value, and whether a step gave it; or `why` the changes cannot be followed."""
    schema = _schema(columns)

    def fold(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        done = _Rows(columns)
        steps = (step for batch in batches for step in batch.to_pylist())
        for life, of_life in groupby(steps, lambda step: step["life"]):
            found: dict[int, str | bytes | None] = {}
            why = None
            for column, of_column in groupby(of_life, lambda step: step["column"]):
                try:
                    found[column] = fold_value(of_column, columns[column], read_text)
                except Unfollowable as refused:
                    why = why or f"{names[column]}: {refused}"
            done.add(life, found, why)
            if done.is_full:
                yield done.take(schema)
        yield done.take(schema)

    return fold


def fold_value(steps: Iterable[Mapping[str, Any]], kind: Kind, read_text: ReadText) -> str | bytes | None:
    if kind is Kind.DOCUMENT:
        document = Document(read_text)
        for step in steps:
            apply_to_document(document, step)
        return document.value()
    content = Content(is_text=kind is Kind.TEXT)
    for step in steps:
        apply_step(content, step)
    return content.value()
