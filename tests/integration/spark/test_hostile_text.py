"""Names, defaults and comments of the source are data for Spark: nothing in them is replaced, run or cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redolake.apply.delta.commit import session_with_tag
from redolake.apply.delta.log import read_log
from redolake.apply.spark.quoting import quote, text_literal, typed_literal
from redolake.apply.spark.session import AS_WRITTEN, read_as_written, run_sql, session_like
from redolake.apply.target import Tag
from redolake.errors import ConfigurationError
from redolake.job.batch import run_batch
from redolake.job.job import run
from redolake.job.snapshot import run_snapshot
from redolake.records.batches.spec import ColumnChange
from redolake.values.table import Column, OracleType, TableId
from tests.integration.spark.landing import land
from tests.integration.spark.redo_rows import committed, insert, of_table
from tests.integration.spark.specs import ID, batch_spec, loaded, snapshot_spec, task, version, with_course, with_destination

pytestmark = pytest.mark.spark

SECRET = "${env:PATH}"
HOSTILE = [
    SECRET, "${PATH}", "${system:java.home}", "${spark:spark.master}", "${user}", "${env:PATH", "$", "$$", "a$b",
    "'", "''", "'); DROP TABLE t; --", '"', "`", "``", "\\", "\\'", "\\\\", "\\u0041", "\\u0024{env:PATH}", "\\x41", "\\101",
    "\\%_", "a\nb", "a\r\nb", "\t\b\x1a", "a\0b", "/* x */ -- y", ":a ? @b", "\u2028", "\U0001f600", "ü\u0301", " ", "R'x'",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from([*"$'\\{}`\"u0041\0\n :", "env:PATH", "${"]), max_size=12).map("".join) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=20
)


@pytest.fixture
def substituting(spark: Any) -> Iterator[Any]:
    """The session as somebody else has set it meanwhile."""
    for name in AS_WRITTEN:
        spark.conf.set(name, "true")
    yield spark
    read_as_written(spark)


def read_back(spark: Any, texts: list[str]) -> list[str]:
    literals = [text_literal(text) for text in texts] + [typed_literal(text, "string") for text in texts]
    (row,) = run_sql(spark, f"SELECT {', '.join(literals)}")
    assert list(row[: len(texts)]) == list(row[len(texts) :])
    return list(row[: len(texts)])


def test_spark_reads_hostile_texts_and_names_as_they_are_written(substituting: Any) -> None:
    spark = substituting

    assert read_back(spark, HOSTILE) == HOSTILE

    names = [name for name in HOSTILE if "\0" not in name]
    frame = spark.createDataFrame([tuple(names)], [f"c{n}" for n in range(len(names))]).toDF(*names)
    (row,) = frame.select(*map(quote, names)).collect()
    assert list(row) == names
    frame.createOrReplaceTempView("hostile")
    (found,) = run_sql(spark, f"SELECT {', '.join(f't.{quote(name)} AS {quote(name)}' for name in names)} FROM hostile AS t")
    assert found.asDict() == dict(zip(names, names, strict=True))


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(texts=st.lists(TEXTS, min_size=20, max_size=40))
def test_spark_reads_any_text_as_it_is_written(spark: Any, texts: list[str]) -> None:
    assert read_back(spark, texts) == texts


def test_a_table_whose_names_defaults_and_comments_name_variables_has_them_as_they_are(
    substituting: Any, tmp_path: Path
) -> None:
    spark = substituting
    table = TableId(SECRET, SECRET)
    named = Column(2, SECRET, OracleType("VARCHAR2", length=100), 2)
    added = Column(3, f"{SECRET}`' \\u0041", OracleType("VARCHAR2", length=100), 3)
    versions = (version(table, columns=(ID, named)), version(table, 40, (ID, named, added)))
    default = f"v {SECRET} '\\u0041 \\"
    ddl = (
        ColumnChange(40, "add_column", added, default),
        ColumnChange(40, "comment", named, comment=default),
        ColumnChange(40, "comment_table", ID, comment=default),
    )
    mine = with_destination(task(tmp_path, table, versions=versions, ddl=ddl), target=str(tmp_path / "back`tick"))
    mine = with_destination(mine, app_id=f"p/{str(table).replace('${', '$%7B')}/1")  # as reconcile.table_versions writes it
    first = with_course(mine, versions=(version(table),), deliveries=())
    spec = snapshot_spec(tmp_path, replace(first, table=TableId("SHOP", "T")), 5, [{"ID": 1, "V": "a"}])
    read = replace(spec.tables[0], table=table, version=versions[0])
    source = spark.read.parquet(*read.files).withColumnRenamed("V", SECRET)
    source.write.parquet(str(tmp_path / "source"))
    files = tuple(str(file) for file in (tmp_path / "source").glob("*.parquet"))
    read = replace(read, files=files, comment=SECRET)
    assert [one.error for one in run_snapshot(spark, replace(spec, tables=(read,))).tables] == [None]
    name = f'"{SECRET}"."{SECRET}"'
    rows = [
        *committed(0, 20, (1, f"""insert into {name}("ID","{SECRET}") values ('2','{SECRET}');""", "R2")),
        *committed(10, 50, (1, f"""insert into {name}("ID","{SECRET}","{added.name}") values ('3','c','d');""", "R3")),
        *committed(20, 60, (3, f"""update {name} set "{SECRET}" = 'z' where "ID" = '1' and "{SECRET}" = 'a';""", "R1")),
    ]
    landed = [{**row, "seg_owner": SECRET, "table_name": SECRET} for row in of_table(rows, SECRET, 100)]

    (result,) = run_batch(spark, batch_spec(tmp_path, [land(tmp_path / "w", 10, 100, landed)], [mine])).tables

    assert result.error is None
    frame = spark.read.format("delta").load(mine.destination.target)
    assert frame.columns == ["ID", SECRET, added.name, "_commit_scn"]
    found = sorted((int(row[0]), row[1], row[2]) for row in frame.collect())
    assert found == [(1, "z", default), (2, SECRET, default), (3, "c", "d")]
    log = read_log(mine.destination.target)
    assert log is not None
    assert (log.description(), frame.schema[SECRET].metadata["comment"]) == (default, default)
    assert log.last_txn(log.current_id(mine.destination.app_id)) is not None
    path = spark._jvm.java.lang.System.getenv("PATH")
    assert [file.name for file in Path(mine.destination.target, "_delta_log").glob("*.json") if path in file.read_text()] == []


def test_the_description_of_a_commit_is_kept_as_it_is(spark: Any, tmp_path: Path) -> None:
    target = str(tmp_path / "t")
    spark.range(2).write.format("delta").save(target)

    with session_with_tag(spark, Tag("p/T/1", 7, {"table": SECRET})) as session:
        run_sql(session, f"DELETE FROM delta.{quote(target)} WHERE id = 1")

    log = read_log(target)
    assert log is not None
    (row,) = spark.sql(f"DESCRIBE HISTORY delta.`{target}` LIMIT 1").collect()
    assert spark._jvm.java.lang.System.getenv("PATH") not in row["userMetadata"]


class Stubborn:
    """A session whose server has substitution on, whatever a client sets."""

    def __init__(self, spark: Any) -> None:
        self.spark, self.conf = spark, self

    def set(self, name: str, value: str) -> None:
        """Take no notice."""

    def get(self, name: str, default: str | None = None) -> str:
        return "true"

    def sql(self, statement: str) -> Any:
        raise AssertionError(f"{statement} must not run")


def test_a_session_that_goes_on_substituting_runs_nothing(spark: Any, tmp_path: Path) -> None:
    with session_like(spark) as copy:
        stubborn: Any = Stubborn(copy)
        with pytest.raises(ConfigurationError, match=r"variable\.substitute is not false"):
            run_sql(stubborn, f"SELECT {text_literal(SECRET)}")
        with pytest.raises(ConfigurationError, match=r"variable\.substitute is not false"):
            run(stubborn, batch_spec(tmp_path, [land(tmp_path / "w", 10, 100, committed(0, 20))], [task(tmp_path)]))


def test_the_error_of_a_commit_that_fails_contains_no_value_of_a_row(
    spark: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mine = task(tmp_path)
    loaded(spark, tmp_path, mine, 5, [{"ID": 1, "V": "1"}])
    spark.sql(f"ALTER TABLE delta.`{mine.destination.target}` ADD CONSTRAINT whole CHECK (CAST(V AS INT) > 0)").collect()
    window = land(tmp_path / "w", 10, 100, committed(0, 20, (1, insert(2, "hunter2"))))
    caplog.set_level("DEBUG", "redolake")

    (result,) = run_batch(spark, batch_spec(tmp_path, [window], [mine])).tables

    assert result.state == "held"
    assert "CAST_INVALID_INPUT" in str(result.error)
    assert "hunter2" not in str(result.error) + caplog.text
