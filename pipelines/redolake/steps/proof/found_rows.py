"""Rows that a comparison has found, read again from Oracle: by their keys, or by the hashes of these."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from redolake.records.file_digest import FileDigest
from redolake.records.proofs import FoundRow
from redolake.source.buckets import MOST_BUCKETS, Hashing, in_buckets
from redolake.source.quoting import quote
from redolake.source.snapshot import Part as RowsOf
from redolake.steps.proof.table_to_compare import TableToCompare, hashing_of, read_columns, read_part, rows_of, task_of
from redolake.values.canonical import (
    BUCKET,
    Form,
    HashPlan,
    of_key,
)
from redolake.values.table import ROWID_COLUMN, TableVersion

KEYS_AT_ONCE = 100  # in a statement
# How a key's text in the lake is given to Oracle. Other forms are found by their hash.
KEY_VALUES: Mapping[Form, Callable[[str], object]] = {
    "number": Decimal,
    "text": str,
    "date": datetime.fromisoformat,
    "timestamp": datetime.fromisoformat,
}


def read_found(one: TableToCompare, plan: HashPlan, rows: Sequence[FoundRow]) -> tuple[str, FileDigest]:
    """Read rows by their keys, where Oracle can be given these as they are, else by the hashes of them, which reads the whole
    table inside the database. A key that a mapping computes does not say which one it is in Oracle: all keys are read there,
    and mapped."""
    if plan.clear_key:
        return read_part(one, (), conditions_of(hashing_of(one, plan), clear_hashes(one, plan, rows)), 0)
    conditions = key_conditions(one.version, plan, rows) or hash_conditions(hashing_of(one, plan), rows)
    return read_part(one, (), conditions, 0)


def hash_conditions(hashing: Hashing, rows: Sequence[FoundRow]) -> tuple[RowsOf, ...]:
    return conditions_of(hashing, {row.hash for row in rows})


def conditions_of(hashing: Hashing, hashes: Collection[str]) -> tuple[RowsOf, ...]:
    """Return the conditions of the rows whose keys have these hashes; one that is never true if there are none."""
    ordered = sorted(hashes)
    parts = [ordered[i : i + MOST_BUCKETS] for i in range(0, len(ordered), MOST_BUCKETS)]
    return tuple(RowsOf(condition=in_buckets(hashing, part)) for part in parts) or (RowsOf(condition="1 = 0"),)


def clear_hashes(one: TableToCompare, plan: HashPlan, rows: Sequence[FoundRow]) -> frozenset[str]:
    """Return the hashes of the keys in Oracle of the rows, which are named by their keys in the lake."""
    from redolake.job.repair import map_keys

    version = of_key(one.version)
    items = {BUCKET: hashing_of(one, plan).key_hash}
    path, digest = read_columns(one, {c.id for c in version.columns}, (RowsOf(),), 3, rows_of(one), more=items)
    task = replace(task_of(one), version=version, files=(path,), digests={path: digest}, hashing=plan)
    return map_keys(one.context.spark.session(), task, frozenset(row.hash for row in rows))


def key_conditions(version: TableVersion, plan: HashPlan, rows: Sequence[FoundRow]) -> tuple[RowsOf, ...]:
    """Return conditions of the rows' keys; none where a key, or one of its values, cannot be given to Oracle as it is."""
    makers = [KEY_VALUES.get(form) for _, form in plan.key]
    names = [quote(version.column(i).name) for i, _ in plan.key if i != ROWID_COLUMN]
    keys = sorted({row.key for row in rows}, key=str)
    if not makers or None in makers or any(None in key or len(key) != len(makers) for key in keys):
        return ()
    try:
        values = [[make(text) for make, text in zip(makers, key, strict=True) if make and text is not None] for key in keys]
    except (ArithmeticError, ValueError):  # the lake has a key that no value of Oracle's is
        return ()
    found = []
    for start in range(0, len(values), KEYS_AT_ONCE):
        chunk = values[start : start + KEYS_AT_ONCE]
        one = [" AND ".join(f"{name} = :k{n}_{m}" for m, name in enumerate(names)) for n in range(len(chunk))]
        binds = {f"k{n}_{m}": value for n, key in enumerate(chunk) for m, value in enumerate(key)}
        found.append(RowsOf(condition=" OR ".join(f"({text})" for text in one), binds=binds))
    return tuple(found)
