"""Give apply the stages it does not import: how redo is decoded, and which types Spark gets."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import partial

import pyarrow as pa
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql.functions import arrow_udf
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from redolake.apply.translation import Translation
from redolake.decode.changes import changes_schema, decode_changes, decode_pieces, pieces_schema
from redolake.decode.choice import decoder_of
from redolake.decode.datatypes import Unfit, family_of, spark_ddl_type, target_type
from redolake.decode.datatypes.character import CODECS, decode_text
from redolake.host.arrow_check import check_arrow
from redolake.values.delivery import Delivery, as_shown
from redolake.values.null_rule import is_else_null, own_rule
from redolake.values.redo import Encoding
from redolake.values.table import OracleType, Rules, TableVersion, TypeRule


def translation(encoding: Encoding, *, show_row_data: bool, single_quotes: bool = False) -> Translation:
    decode = partial(decode_frame, encoding=encoding, show_row_data=show_row_data, single_quotes=single_quotes)
    in_process = partial(decode_rows, encoding=encoding, show_row_data=show_row_data, single_quotes=single_quotes)
    return Translation(
        decode=decode,
        decode_rows=in_process,
        decode_pieces=partial(decode, pieces=True),
        spark_type=spark_ddl_type,
        cast_text=cast_text,
        read_text=partial(read_text, encoding),
    )


def read_text(encoding: Encoding, octets: bytes) -> str:
    codec = CODECS.get(encoding.text)
    if codec is None:
        raise ValueError(f"character set {encoding.text} has no decoder")
    return decode_text(octets, codec)


def as_read(version: TableVersion, delivery: Delivery, rules: Rules) -> tuple[TableVersion, dict[int, TypeRule]]:
    """Return the version as the redo shows it, and the rule of each of its columns."""
    shown = as_shown(version, delivery)
    return shown, {column.id: rules.get(column.id) for column in shown.columns}


def decode_frame(
    frame: DataFrame,
    version: TableVersion,
    delivery: Delivery,
    rules: Rules,
    names: Mapping[str, int] | None = None,
    before: Collection[int] | None = None,
    *,
    encoding: Encoding,
    show_row_data: bool,
    single_quotes: bool,
    pieces: bool = False,
) -> DataFrame:
    version, types = as_read(version, delivery, rules)
    schema_of = pieces_schema if pieces else changes_schema
    arrow = schema_of(to_arrow_schema(frame.schema), version, types, before)

    def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        check_arrow()
        for batch in batches:
            decode_batch = decode_pieces if pieces else decoder_of(batch.column("sql_redo"), delivery)
            yield decode_batch(
                batch,
                version,
                types,
                names=names,
                encoding=encoding,
                show_row_data=show_row_data,
                single_quotes=single_quotes,
                before=before,
                delivery=delivery,
            )

    return frame.mapInArrow(decode, from_arrow_schema(arrow, prefer_timestamp_ntz=True))


def decode_rows(
    rows: pa.RecordBatch,
    version: TableVersion,
    delivery: Delivery,
    rules: Rules,
    before: Collection[int],
    *,
    encoding: Encoding,
    show_row_data: bool,
    single_quotes: bool,
) -> pa.RecordBatch:
    """Decode few rows in this process, without the compiled loops, which take 120 MB."""
    check_arrow()
    version, types = as_read(version, delivery, rules)
    return decode_changes(
        rows, version, types, encoding=encoding, show_row_data=show_row_data, single_quotes=single_quotes, before=before,
        delivery=delivery,
    )  # fmt: skip


def cast_text(texts: Expression, oracle_type: OracleType, rule: TypeRule) -> Expression:
    """Return a struct of `value`, `refused`, the reason why there is no value, and `nulled`, whether it is NULL by rule: the
    cast of redo's literals."""
    target, own, is_lenient = target_type(oracle_type, rule), own_rule(rule), is_else_null(rule)

    def cast(batch: pa.Array) -> pa.Array:
        check_arrow()
        given = family_of(oracle_type).cast(batch.cast(pa.string()), target, own)
        unfit = {i for i, reason in given.refused.items() if is_lenient and isinstance(reason, Unfit)}
        reasons = pa.array([None if i in unfit else given.refused.get(i) for i in range(len(batch))], pa.string())
        nulled = pa.array([i in unfit for i in range(len(batch))], pa.bool_())
        return pa.StructArray.from_arrays([given.values, reasons, nulled], ["value", "refused", "nulled"])

    return arrow_udf(cast, f"struct<value: {spark_ddl_type(oracle_type, rule)}, refused: string, nulled: boolean>")(texts)


TRANSLATION = translation(Encoding(), show_row_data=False)  # for snapshot loads and comparisons, which decode no redo
