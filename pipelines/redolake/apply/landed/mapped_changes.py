"""Changes with the values of Oracle's columns become changes with those of the lake's (apply/mapping.py).

The redo of an UPDATE may lack columns that it does not set. A value of which all columns are absent stays as it is. One of
which some are absent cannot be computed, and holds the table: doctor refuses such a mapping unless all columns are logged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import and_

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from redolake.apply.landed.decoded import is_absent
from redolake.apply.landed.findings import TROUBLE
from redolake.apply.landed.key_texts import shown_key
from redolake.apply.mapping import NULL_KEY, maps_key, needed, shape
from redolake.apply.spark.probes import Probe
from redolake.apply.spark.shallow import any_of
from redolake.errors import MappingFailed
from redolake.values import frames
from redolake.values.frames import Kind
from redolake.values.mapping import Computed, source_value
from redolake.values.redo import Operation
from redolake.values.table import TableVersion

KEY_IN_ORACLE = "key_in_oracle"  # see net.key_collisions
PASSES = "passes"  # see net.net_change.without_filtered


def with_mapping(decoded: DataFrame, version: TableVersion, key: Sequence[int], *, isolates: bool = False) -> DataFrame:
    """Return the changes with b<id> and a<id> of the lake's columns, and `passes` where the mapping has a filter: whether
    the lake shall have the row after the change. With `isolates`, a row for which users' code raises gets a finding."""
    mapping = version.mapping
    if mapping is None or not mapping.changes_rows:
        return decoded
    in_key = [one.id for one in mapping.computed if one.id in key]
    if in_key:
        before = shape(version, in_key).values
        values = {frames.key_before(i): value for i, value in before.items()}
        decoded = with_sources(decoded, key, frames.key_before).withColumns(values).drop(*map(source_value, key))
    ids = needed(version)
    is_there = F.col("operation_code") != Operation.DELETE
    inputs = () if mapping.transform is None else [i for i, _ in mapping.transform.inputs]
    shaped = shape(version, is_whole=is_there & ~any_of(map(is_absent, inputs)), isolates=isolates)
    if maps_key(version):
        decoded = decoded.withColumn(KEY_IN_ORACLE, shown_key(version, lambda column: F.col(frames.after(column.id))))
    values = {
        frames.after(one.id): F.when(is_there & ~any_of(map(is_absent, one.needs)), shaped.values[one.id])
        for one in mapping.computed
    }
    wrong = [(~any_of(map(is_absent, one.needs)) & is_wrong, misfit(one)) for one, is_wrong in shaped.misfits]
    wrong += [(partly_absent(one), not_logged(str(one))) for one in mapping.computed if len(one.needs) > 1]
    if maps_key(version):
        is_null = any_of(shaped.values[i].isNull() for i in in_key)
        wrong.append((is_null if shaped.passes is None else is_null & shaped.passes, null_key()))
    if shaped.failed is not None:
        wrong.append((shaped.failed.isNotNull(), why("MappingFailed", shaped.failed)))
    more = {**values, "absent": in_lake("absent", mapping.computed, all_absent)}
    if mapping.where is not None and shaped.passes is not None:
        lacks = any_of(map(is_absent, mapping.where.needs))
        wrong.append((lacks, not_logged(f"where: {mapping.where.text}")))
        more[PASSES] = is_there & shaped.passes
    found = (
        F.coalesce("finding", *(F.when(is_there & condition, why) for condition, why in wrong)) if wrong else F.col("finding")
    )
    if TROUBLE in decoded.columns:
        failed = F.col("finding").isNull() & (found["code"] == MappingFailed.__name__)
        more[TROUBLE] = F.when(failed, F.lit("transform")).otherwise(F.col(TROUBLE))
    return with_sources(decoded, ids, frames.after).withColumns({**more, "finding": found}).drop(*map(source_value, ids))


def probe_filtered(decoded: DataFrame) -> Probe:
    """Return the probe that counts the changes after which the filter leaves the row out."""
    is_out = (F.col("operation_code") != Operation.DELETE) & ~F.col(PASSES)
    return Probe(decoded.select(is_out.alias("is_out")), ("count_if(is_out) AS filtered",))


def filtered_by_window(decoded: DataFrame) -> dict[int, int]:
    """Return how many changes the filter leaves out, by the start of the window in which they were landed."""
    is_out = (F.col("operation_code") != Operation.DELETE) & ~F.col(PASSES)
    return {row["window_start"]: row["count"] for row in decoded.filter(is_out).groupBy("window_start").count().collect()}


def with_sources(decoded: DataFrame, ids: Sequence[int], side: Kind) -> DataFrame:
    return decoded.withColumns({source_value(i): F.col(side(i)) for i in ids}) if ids else decoded


def all_absent(one: Computed) -> Expression:
    return reduce(and_, map(is_absent, one.needs)) if one.needs else F.lit(False)


def partly_absent(one: Computed) -> Expression:
    """Return whether the redo of a change contains some of the columns, and not all."""
    return any_of(map(is_absent, one.needs)) & ~all_absent(one)


def in_lake(absent: str, computed: Sequence[Computed], is_absent: Callable[[Computed], Expression]) -> Expression:
    """Return the columns of the lake whose value a change does not contain, by those of Oracle in the column `absent`, which
    may be NULL."""
    if not computed:
        return F.col(absent)
    others = F.array_except(absent, F.array(*(F.lit(one.id) for one in computed)))
    own = F.array_compact(F.array(*(F.when(is_absent(one), F.lit(one.id)) for one in computed)))
    return F.when(F.col(absent).isNotNull(), F.concat(others, own))


def misfit(one: Computed) -> Expression:
    return why("MappingFailed", f"a value of {one} cannot be cast to {one.type}")


def null_key() -> Expression:
    """Return the finding of a row whose key in the lake is NULL: no later change would find it there."""
    return why("MappingFailed", F.concat(F.lit(f"{NULL_KEY}: "), F.col(KEY_IN_ORACLE)))


def not_logged(what: str) -> Expression:
    return why("NotLogged", f"the redo of an UPDATE does not contain all columns that {what} needs")


def why(code: str, what: str | Expression) -> Expression:
    text = F.lit(what) if isinstance(what, str) else what
    return F.struct("commit_scn", "scn", F.lit(code).alias("code"), text.alias("what"))
