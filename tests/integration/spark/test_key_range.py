"""MERGE reads only those files of a large table that may have a key of the batch."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from redolake.apply import key_range
from redolake.apply.verify.compare import in_ranges
from redolake.apply.verify.comparison import CompareTask, KeyRanges
from redolake.job.batch import run_batch
from redolake.records.batches.manifest import TableResult
from redolake.values.table import Column, OracleType
from tests.integration.spark.landing import land
from tests.integration.spark.redo_rows import committed, delete, insert, update
from tests.integration.spark.specs import V, batch_spec, contents, created, loaded, task, version
from tests.references.delta_table import replay
from tests.support.assumes import assumes

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("large", [True, False])
def test_a_batch_of_young_rows_does_not_read_the_file_of_old_ones(spark, tmp_path: Path, monkeypatch, large: bool) -> None:
    """That file is away meanwhile. A batch with one of its keys fails, and so does any batch of a table that is not large."""
    if large:
        monkeypatch.setattr(key_range, "LARGE_BYTES", 0)
    mine = task(tmp_path)
    loaded(spark, tmp_path, mine, rows=[{"ID": n, "V": f"v{n}"} for n in range(1, 9)])
    (name,) = replay(Path(mine.destination.target))[1]
    old = Path(mine.destination.target, name)

    def batch(number: int, *changes: tuple[int, str]) -> TableResult:
        start, end = 100 * number, 100 * number + 100
        window = land(tmp_path / "w", start, end, committed(100 * number, start + 5, *changes))
        spec = batch_spec(tmp_path, [window], [mine])
        Path(spec.manifest).unlink(missing_ok=True)  # of the batch that failed
        (result,) = run_batch(spark, spec).tables
        return result

    (tmp_path / "away").mkdir()
    assert batch(1, (1, insert(1001, "a")), (1, insert(1002, "b"))).error is None
    old.rename(tmp_path / "away" / old.name)
    young = batch(2, (3, update(1001, "a", "A")), (2, delete(1002, "b")), (1, insert(1003, "c")))
    both = batch(3, (3, update(1, "v1", "V1")), (1, insert(1004, "d")))
    (tmp_path / "away" / old.name).rename(old)

    assert (young.error is None, both.error is None) == (large, False)
    if large:
        assert batch(3, (3, update(1, "v1", "V1")), (1, insert(1004, "d"))).error is None
        old_rows = {n: f"v{n}" for n in range(2, 9)}
        assert contents(mine) == {1: "V1", **old_rows, 1001: "A", 1003: "c", 1004: "d"}


@assumes(
    "a MERGE whose first join ends with the target's keys warns of fewer rows",
    of="delta-spark",
    used_in="docs/troubleshooting.md",
    says="Spark warns `Merge source has .. rows in initial scan but .. in second scan`",
)
@pytest.mark.usefixtures("merged_by_spark")
def test_keys_beyond_those_of_the_target_are_inserted_though_merge_reads_them_once(spark, tmp_path: Path) -> None:
    """MERGE first joins both sides to find the files with rows of these keys. A join of sorted rows ends where the target's
    keys end, so Delta counts fewer net changes there than in the join that writes, and logs a warning. Nothing is lost: what
    was not read has no row in the target."""
    mine = task(tmp_path)
    loaded(spark, tmp_path, mine, rows=[{"ID": n, "V": f"v{n}"} for n in range(1, 9)])
    rows = committed(10, 20, *[(1, insert(n, "new")) for n in range(101, 140)], (3, update(8, "v8", "V8")))
    spec = batch_spec(tmp_path, [land(tmp_path / "w", 10, 100, rows)], [mine], rows=len(rows))
    before = spark.conf.get("spark.sql.autoBroadcastJoinThreshold")
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")  # as for rows that may be many
    try:
        with warnings_of(spark, "org.apache.spark.sql.delta.commands.MergeIntoCommand") as warned:
            (result,) = run_batch(spark, spec).tables
    finally:
        spark.conf.set("spark.sql.autoBroadcastJoinThreshold", before)

    assert result.error is None
    assert contents(mine) == {**{n: f"v{n}" for n in range(1, 8)}, 8: "V8", **dict.fromkeys(range(101, 140), "new")}
    assert (result.inserted, result.updated) == (39, 1)
    assert re.search(r"Merge source has .* value: 2\) rows in initial scan but .* value: 40\) rows in second scan", warned())


@assumes(
    "Delta passes over a file by statistics that delta-rs has written, which may be wrong for more than 18 digits",
    of="delta-spark",
    used_in="pipelines/redolake/apply/key_range.py", says="MERGE would pass over a file that has the key",
)  # fmt: skip
@pytest.mark.parametrize("digits", [18, 19])
def test_a_row_of_a_table_that_another_program_has_compacted_is_found(spark, tmp_path: Path, monkeypatch, digits: int) -> None:
    """delta-rs cuts the statistics of a decimal above 18 digits at 2^63-1. MERGE must not believe them: it would insert the
    row twice, and delete none."""
    monkeypatch.setattr(key_range, "LARGE_BYTES", 0)
    long = Column(1, "ID", OracleType("NUMBER", precision=digits, scale=0), 1, False)
    mine, key = task(tmp_path, versions=(version(columns=(long, V)),)), 10**digits - 9
    created(spark, mine)

    def batch(start: int, *changes: tuple[int, str]) -> TableResult:
        window = land(tmp_path / "w", start, start + 50, committed(start, start + 5, *changes))
        return run_batch(spark, batch_spec(tmp_path / str(start), [window], [mine])).tables[0]

    assert batch(50, (1, insert(key, "a")), (1, insert(key + 1, "gone"))).error is None
    assert batch(100, (1, insert(key + 2, "c"))).error is None
    DeltaTable(mine.destination.target).optimize.compact()
    ranges = KeyRanges(1, "number", ((str(key), None),))
    compared = CompareTask(mine.table, mine.destination.target, mine.course.versions[0], (), 150, 0, ranges=ranges)
    rows = spark.read.format("delta").load(mine.destination.target)
    assert rows.where(f"ID >= {key}").count() == (3 if digits == 18 else 0), "delta-rs writes other statistics now"
    assert in_ranges(rows, compared).count() == 3, "`verify` sees the rows too"
    assert batch(150, (2, delete(key + 2, "c"))).error is None  # its commit knows the size of the table again
    done = batch(200, (3, update(key, "a", "A")), (2, delete(key + 1, "gone")))

    assert done.error is None
    assert [(int(row["ID"]), row["V"]) for row in spark.read.format("delta").load(mine.destination.target).collect()] == [
        (key, "A")
    ]


@contextmanager
def warnings_of(spark: Any, name: str) -> Iterator[Callable[[], str]]:
    """Yield a function that returns what Spark's logger has warned of since."""
    log4j, lines = spark.sparkContext._jvm.org.apache.logging.log4j, spark.sparkContext._jvm.java.io.StringWriter()
    appender = log4j.core.appender.WriterAppender.createAppender(None, None, lines, name, False, True)
    appender.start()
    logger, configurator = log4j.LogManager.getLogger(name), log4j.core.config.Configurator
    before = logger.getLevel()
    configurator.setLevel(name, log4j.Level.WARN)
    logger.addAppender(appender)
    try:
        yield lines.toString
    finally:
        logger.removeAppender(appender)
        configurator.setLevel(name, before)
