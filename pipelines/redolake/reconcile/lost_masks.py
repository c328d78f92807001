"""Find columns that a mask covered until Oracle renamed them: under the new name, a mask for a name or a pattern is not theirs
any more, and the next snapshot would put their clear text into the lake."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from redolake.config import Pipeline
from redolake.config.mapping import mask_for, mask_name
from redolake.errors import SchemaConflict
from redolake.reconcile.mappings import Problem, has_mask
from redolake.values.table import Column, TableVersion


def lost_masks(pipeline: Pipeline, known: Sequence[TableVersion], wanted: TableVersion) -> Iterator[Problem]:
    """Yield a problem for each such column of a version with which a table shall be read again; `known` are its versions until
    now. A mask that was taken out of pipelines.yml is not lost."""
    last = known[-1] if known else None
    if last is None or last.mapping is None:
        return
    masks = pipeline.settings(wanted.table).masks
    for column in last.columns:
        if column.id not in last.mapping.masked or (now := found_again(column, last, wanted)) is None:
            continue
        names = dict.fromkeys(one.name for version in known for one in version.columns if one.id == column.id)
        before = next((name for name in names if mask_for(masks, name) is not None), None)
        if before is not None and not has_mask(masks, now):
            yield Problem(
                f"{now} was masked as {before} before it was renamed, and no mask of pipelines.yml names it now",
                f"add it to `mask`, for example `{now}: {mask_for(masks, before)}`, or `{now}: clear` if the lake may have it",
                ("mask", mask_name(masks, before)),
            )


def found_again(column: Column, last: TableVersion, wanted: TableVersion) -> str | None:
    """Return the name that a column has now: its own; or, after a RENAME that no window contains yet, that of the new column in
    its place of the same segment."""
    if wanted.named(column.name) is not None or wanted.ignores(column.name):
        return column.name
    if wanted.object_id != last.object_id:
        return None
    new = (one for one in wanted.columns if last.named(one.name) is None and one.segment_id == column.segment_id)
    return next((one.name for one in new), None)


def check_masks(pipeline: Pipeline, known: Sequence[TableVersion], wanted: TableVersion) -> None:
    """Raise SchemaConflict for the first such column."""
    for one in lost_masks(pipeline, known, wanted):
        raise SchemaConflict(
            one.what, cure=f"{one.cure}; then run `redolake snapshot {wanted.table} --replace`", table=wanted.table
        )
