"""Give apply the stages it does not import: how redo is decoded, and which types and literals Spark gets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from pipelines.apply.translation import Translation
from pipelines.decode.changes import changes_schema, decode_changes
from pipelines.decode.datatypes import spark_ddl_type
from pipelines.schema.constant import spark_literal
from pipelines.table import Rules, TableVersion


def translation(character_set: str, show_row_data: bool) -> Translation:
    decode = partial(decode_frame, character_set=character_set, show_row_data=show_row_data)
    return Translation(decode=decode, spark_type=spark_ddl_type, literal=spark_literal)


def decode_frame(
    frame: DataFrame,
    version: TableVersion,
    rules: Rules,
    names: Mapping[str, int] | None = None,
    *,
    character_set: str,
    show_row_data: bool,
) -> DataFrame:
    types = {column.id: rules.get(column.id) for column in version.columns}
    arrow = changes_schema(to_arrow_schema(frame.schema), version, types)

    def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield decode_changes(batch, version, types, names=names, charset=character_set, show_row_data=show_row_data)

    return frame.mapInArrow(decode, from_arrow_schema(arrow, prefer_timestamp_ntz=True))


TRANSLATION = translation("AL32UTF8", show_row_data=False)  # for snapshot loads and comparisons, which decode no redo
