"""The versions of each row, as a query over a history (values/history.py): the same text for Spark, DuckDB and Trino.

A version is valid from the commit that made it, inclusively, to the one that ended it, exclusively. What happened in between
two changes of one transaction was never to be seen, and is no version.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

FOR_EVER = 9223372036854775807  # an SCN after all others; NULLs of LEAST differ between engines
OF_CHANGE = ("_op", "_xid", "_user", "_redo_thread")


def versions_sql(source: str, columns: Sequence[str], key: Sequence[str], quote: Callable[[str], str]) -> str:
    """Return the query of all versions: the columns, valid_from_scn, valid_to_scn, valid_from, valid_to (times of commits; NULL
    of rows that were loaded), is_current, and of the change that made them OF_CHANGE. Without a key, each row is its own."""
    named = ", ".join(map(quote, columns))
    row = ", ".join(["r._epoch", *(f"r.{quote(name)}" for name in key)])
    following = f"OVER (PARTITION BY {row} ORDER BY r._commit_scn, r._seq)"
    next_scn, next_time = (f"LEAD(r.{name}) {following}" if key else "NULL" for name in ("_commit_scn", "_commit_time"))
    return f"""\
WITH epochs AS (
  SELECT _epoch, _commit_scn AS since,
    COALESCE(MIN(_commit_scn) OVER (ORDER BY _epoch ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING), {FOR_EVER}) AS until
  FROM {source} WHERE _op = 'begin'
), images AS (
  SELECT {", ".join(f"r.{quote(name)}" for name in columns)}, {", ".join(f"r.{name}" for name in OF_CHANGE)}, r._image,
    r._commit_scn AS valid_from_scn, r._commit_time AS valid_from, e.until,
    COALESCE({next_scn}, {FOR_EVER}) AS next_scn, {next_time} AS next_time
  FROM {source} r JOIN epochs e ON r._epoch = e._epoch
  WHERE r._image IS NOT NULL AND r._commit_scn < e.until
), versions AS (
  SELECT {named}, {", ".join(OF_CHANGE)}, valid_from_scn, LEAST(next_scn, until) AS ends, valid_from,
    CASE WHEN next_scn <= until THEN next_time END AS valid_to
  FROM images WHERE _image = 'after'
)
SELECT {named}, valid_from_scn, CASE WHEN ends < {FOR_EVER} THEN ends END AS valid_to_scn, valid_from, valid_to,
  ends = {FOR_EVER} AS is_current, {", ".join(OF_CHANGE)}
FROM versions WHERE ends > valid_from_scn"""


def as_of_sql(source: str, columns: Sequence[str], key: Sequence[str], quote: Callable[[str], str], scn: int) -> str:
    """Return the query of the rows that there were at an SCN."""
    versions = versions_sql(source, columns, key, quote)
    there = f"valid_from_scn <= {int(scn)} AND (valid_to_scn IS NULL OR valid_to_scn > {int(scn)})"
    return f"SELECT {', '.join(map(quote, columns))} FROM ({versions}) v WHERE {there}"
