"""What the product's comments say of Spark and Delta, asked of a plain table or expression."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import functions as F

from redolake.apply.delta.sql import table_at
from redolake.values.lake_rules import MAPPED_CHARACTERS, OF_MERGE
from tests.fixtures.spark import setting
from tests.support.assumes import assumes

pytestmark = pytest.mark.spark


def value(spark: Any, expression: str) -> Any:
    return spark.sql(f"SELECT {expression}").collect()[0][0]


def refusal(call: Any) -> str:
    with pytest.raises(Exception) as raised:  # noqa: PT011 each caller looks at the text
        call()
    return str(raised.value)


WHOLE, HALF = "CAST(12345678901234567890123456789012345678 AS DECIMAL(38,0))", "CAST(0.5 AS DECIMAL(38,10))"
RETAIN = "spark.sql.legacy.decimal.retainFractionDigitsOnTruncate"


@assumes(
    "where decimal(38,0) meets decimal(38,10), Spark's default rounds 0.5 to 1: COALESCE, CASE, IN, =, UNION",
    of="pyspark",
    used_in="pipelines/redolake/host/spark_settings.py",
    says="else 0.5 that meets a decimal(38,0) is rounded to 1",
)
def test_two_decimals_that_meet_are_rounded_by_default(spark: Any) -> None:
    with setting(spark, RETAIN, "false"):
        assert value(spark, f"COALESCE({HALF}, {WHOLE})") == 1
        assert value(spark, f"{HALF} = CAST(1 AS DECIMAL(38,0))") is True
        assert value(spark, f"CASE WHEN rand() < 2 THEN {HALF} ELSE {WHOLE} END") == 1


@pytest.mark.parametrize(
    "meeting",
    [
        "COALESCE({0}, {1})",
        "CASE WHEN rand() < 2 THEN {0} ELSE {1} END",
        "GREATEST({0}, CAST(0 AS DECIMAL(38,0)))",
        "NVL({0}, {1})",
        "ARRAY({0}, CAST(0 AS DECIMAL(38,0)))[0]",
        "IF(rand() < 2, {0}, {1})",
        "(SELECT max(v) FROM (SELECT {0} v UNION ALL SELECT CAST(0 AS DECIMAL(38,0))))",
    ],
)
def test_two_decimals_that_meet_keep_their_digits_or_are_refused_in_our_session(spark: Any, meeting: str) -> None:
    assert str(value(spark, meeting.format(HALF, WHOLE))) == "0.5000000000"
    # The other one has too many digits in front of the point, and is never cut.
    given = meeting.format(WHOLE, HALF)
    if "rand" in given or "COALESCE" in given or "NVL" in given:
        assert "NUMERIC_VALUE_OUT_OF_RANGE" in refusal(lambda: value(spark, given))


@pytest.mark.parametrize(
    "condition", ["{0} = CAST(1 AS DECIMAL(38,0))", "{0} IN (CAST(1 AS DECIMAL(38,0)))", "{0} >= CAST(1 AS DECIMAL(38,0))"]
)
def test_two_decimals_that_differ_never_compare_as_equal_in_our_session(spark: Any, condition: str) -> None:
    assert value(spark, condition.format(HALF)) is False


@assumes(
    "a decimal that is stored in one with fewer decimals is rounded, also in ANSI mode",
    of="pyspark",
    used_in="pipelines/redolake/apply/delta/rewrite.py",
    says="value.isNotNull() & ~value.eqNullSafe(cast.try_cast(old))",
)
def test_an_insert_rounds_a_decimal(spark: Any, tmp_path: Path) -> None:
    table = table_at(str(tmp_path / "t"))
    spark.sql(f"CREATE TABLE {table} (a DECIMAL(38,0)) USING delta")
    spark.sql(f"INSERT INTO {table} VALUES (CAST(2.5 AS DECIMAL(38,10)))")
    assert spark.sql(f"SELECT a FROM {table}").collect()[0][0] == 3


@assumes(
    "no column is written whose name has a blank, a tab, a newline or one of ,;{}()=",
    of="delta-spark",
    used_in="pipelines/redolake/values/lake_rules.py",
    says="Delta writes no column whose name contains one of these",
)
def test_delta_refuses_characters_in_names(spark: Any, tmp_path: Path) -> None:
    for n, character in enumerate(sorted(MAPPED_CHARACTERS)):
        rows = spark.range(1).select(F.lit(1).alias(f"a{character}b"))
        assert "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAME" in refusal(
            lambda rows=rows, n=n: rows.write.format("delta").save(f"{tmp_path}/{n}")
        )


@assumes(
    "names are compared without case, and the two small sigmas apart",
    of="delta-spark",
    used_in="pipelines/redolake/values/lake_rules.py",
    says="It ignores case, and tells the two small sigmas apart",
)
def test_delta_compares_names_in_lower_case(spark: Any, tmp_path: Path) -> None:
    both = spark.range(1).selectExpr("1 AS `\u03c3`", "1 AS `\u03c2`")
    both.write.format("delta").save(str(tmp_path / "t"))
    twice = spark.range(1).selectExpr("1 AS a", "1 AS A").write.format("delta")
    assert "DELTA_DUPLICATE_COLUMNS_FOUND" in refusal(lambda: twice.save(str(tmp_path / "u")))


@assumes(
    "a MERGE into a table with a column of one of Delta's own names fails",
    of="delta-spark",
    used_in="pipelines/redolake/values/lake_rules.py",
    says="a MERGE into a table with such a column fails",
)
@pytest.mark.parametrize("name", [name for name in OF_MERGE if name.startswith("_row")])
def test_delta_merges_into_no_table_with_a_column_of_its_own(spark: Any, tmp_path: Path, name: str) -> None:
    table = table_at(str(tmp_path / "t"))
    spark.sql(f"CREATE TABLE {table} (id INT, `{name}` INT) USING delta")
    spark.sql(f"INSERT INTO {table} VALUES (1, 1)")
    merge = f"MERGE INTO {table} t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.`{name}` = 2"
    assert refusal(lambda: spark.sql(merge).collect())


@assumes(
    "a commit whose transaction the table has already is skipped, and its statement returns no row",
    of="delta-spark",
    used_in="pipelines/redolake/apply/delta/merge.py",
    says="Delta skipped the commit",
)
@assumes(
    "a commit whose transaction is there already is skipped",
    of="delta-spark",
    used_in="docs/architecture/lake.md",
    says="Delta skips MERGE's by its txn",
)
@assumes(
    "a commit is skipped whose transaction the table has, and no other",
    of="delta-spark",
    used_in="docs/architecture/writes.md",
    says="Delta skips only a version that it has",
)
def test_delta_skips_a_transaction_that_it_has(spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    for number in (5, 5, 4, 6):
        writer = spark.range(1).write.format("delta").mode("append").option("txnAppId", "x").option("txnVersion", number)
        writer.save(path)
    assert spark.read.format("delta").load(path).count() == 2


@assumes(
    "a clone has no transactions of the other table",
    of="delta-spark",
    used_in="pipelines/redolake/apply/delta/target.py",
    says="Delta does not copy the positions of the other one",
)
def test_delta_clones_no_transactions(spark: Any, tmp_path: Path) -> None:
    one, other = tmp_path / "t", tmp_path / "u"
    spark.range(1).write.format("delta").option("txnAppId", "x").option("txnVersion", 5).save(str(one))
    spark.sql(f"CREATE TABLE {table_at(str(other))} SHALLOW CLONE {table_at(str(one))}")
    assert "txn" in actions(one)
    assert "txn" not in actions(other)


def actions(path: Path) -> set[str]:
    return {next(iter(json.loads(line))) for file in path.glob("_delta_log/*.json") for line in file.read_text().splitlines()}


@assumes(
    "statistics are of the first 32 columns",
    of="delta-spark",
    used_in="pipelines/redolake/values/lake_rules.py",
    says="of so many columns, 32 by default, Delta keeps minima",
)
def test_delta_measures_32_columns(spark: Any, tmp_path: Path) -> None:
    spark.range(1).selectExpr(*(f"{n} AS c{n}" for n in range(40))).write.format("delta").save(str(tmp_path / "t"))
    assert set(minima(tmp_path / "t")) == {f"c{n}" for n in range(32)}


@assumes(
    "a BOOLEAN and a binary column have a count of NULLs and no minimum; zero with seven decimals has an exponent",
    of="delta-spark",
    used_in="pipelines/redolake/apply/delta/features.py",
    says="with a count of NULLs and no minimum (BOOLEAN) or with one such as 0E-10",
)
def test_delta_measures_no_boolean(spark: Any, tmp_path: Path) -> None:
    rows = spark.range(1).selectExpr(
        "true AS flag", "X'00' AS raw", "CAST(0 AS DECIMAL(38,10)) AS zero", "CAST(1E-6 AS DECIMAL(15,6)) AS alike"
    )
    rows.write.format("delta").save(str(tmp_path / "t"))
    (file,) = tmp_path.glob("t/_delta_log/*.json")
    assert set(minima(tmp_path / "t")) == {"zero", "alike"}
    assert '\\"zero\\":0E-10' in file.read_text()
    assert '\\"alike\\":0.000001' in file.read_text()


def minima(path: Path) -> dict[str, Any]:
    (file,) = path.glob("_delta_log/*.json")
    (added,) = (json.loads(line)["add"] for line in file.read_text().splitlines() if line.startswith('{"add"'))
    found: dict[str, Any] = json.loads(added["stats"])["minValues"]
    return found


@assumes(
    "an empty text, and the word for NULL, are NULL as a partition",
    of="delta-spark",
    used_in="pipelines/redolake/apply/partitions.py",
    says="and NULL as a word of its own",
)
@pytest.mark.parametrize("text", ["", "__HIVE_DEFAULT_PARTITION__"])
def test_delta_reads_null_for_some_texts_of_a_partition(spark: Any, tmp_path: Path, text: str) -> None:
    rows = spark.createDataFrame([(1, text)], "id INT, p STRING")
    rows.write.format("delta").partitionBy("p").save(str(tmp_path / "t"))
    assert spark.read.format("delta").load(str(tmp_path / "t")).collect()[0]["p"] is None


@assumes(
    "${env:NAME} in a statement is the environment's value, unless substitution is off",
    of="pyspark",
    used_in="pipelines/redolake/host/spark_settings.py",
    says="would read the environment of Spark's driver",
)
def test_spark_replaces_variables_in_statements(spark: Any) -> None:
    with setting(spark, "spark.sql.variable.substitute", "true"):
        assert value(spark, "'${env:PATH}'") != "${env:PATH}"
    assert value(spark, "'${env:PATH}'") == "${env:PATH}"


@assumes(
    "without ANSI mode a value that does not fit becomes NULL",
    of="pyspark",
    used_in="pipelines/redolake/host/spark_settings.py",
    says="else a value that does not fit becomes NULL",
)
def test_spark_makes_null_of_what_does_not_fit_without_ansi(spark: Any) -> None:
    with setting(spark, "spark.sql.ansi.enabled", "false"):
        assert value(spark, "CAST('x' AS INT)") is None
    assert "CAST_INVALID_INPUT" in refusal(lambda: value(spark, "CAST('x' AS INT)"))


@assumes(
    "NaN is larger than infinity",
    of="pyspark",
    used_in="pipelines/redolake/apply/delta/rewrite.py",
    says="Spark orders NaN above infinity",
)
def test_spark_orders_nan_above_infinity(spark: Any) -> None:
    assert value(spark, "double('NaN') > double('Infinity')") is True


@assumes(
    "JSON of a timestamp has milliseconds, unless a format is given",
    of="pyspark",
    used_in="pipelines/redolake/apply/landed/keys.py",
    says="Spark writes milliseconds if nobody says otherwise",
)
def test_spark_writes_milliseconds_into_json(spark: Any) -> None:
    assert ".123Z" in value(spark, "to_json(struct(TIMESTAMP'2024-01-01 00:00:00.123456Z' AS t))")


@assumes(
    "a whole number is taken for a decimal of 10 digits, or of 20",
    of="delta-spark",
    used_in="pipelines/redolake/apply/delta/rewrite.py",
    says="that a decimal must have to hold one, by Delta's rules",
)
@pytest.mark.parametrize(
    ("old", "new", "widens"),
    [
        ("INT", "DECIMAL(10,0)", True),
        ("INT", "DECIMAL(9,0)", False),
        ("BIGINT", "DECIMAL(20,0)", True),
        ("BIGINT", "DECIMAL(19,0)", False),
    ],
)
def test_delta_widens_whole_numbers_to_decimals(spark: Any, tmp_path: Path, old: str, new: str, widens: bool) -> None:
    table = table_at(str(tmp_path / "t"))
    spark.sql(f"CREATE TABLE {table} (a {old}) USING delta TBLPROPERTIES ('delta.enableTypeWidening' = 'true')")

    def widen() -> None:
        spark.sql(f"ALTER TABLE {table} ALTER COLUMN a TYPE {new}")

    widen() if widens else refusal(widen)


@assumes(
    "VACUUM leaves what is below a folder whose name begins with _ or a dot, unless it is that of a partition",
    of="delta-spark",
    used_in="pipelines/redolake/apply/delta/nested.py",
    says="VACUUM passes over names that begin with _ or a dot",
)
@assumes(
    "VACUUM removes no commit", of="delta-spark", used_in="docs/how-to/mask-columns.md", says="VACUUM alone leaves the log"
)
def test_vacuum_passes_over_hidden_folders(spark: Any, tmp_path: Path) -> None:
    table = tmp_path / "t"
    spark.range(1).selectExpr("id", "1 AS _k").write.format("delta").partitionBy("_k").save(str(table))
    places = {name: table / name / "a.parquet" for name in ("_own", ".own", "other", "_k=1/other")}
    for place in places.values():
        place.parent.mkdir(parents=True)
        place.write_bytes(b"x")
    with setting(spark, "spark.databricks.delta.retentionDurationCheck.enabled", "false"):
        spark.sql(f"VACUUM {table_at(str(table))} RETAIN 0 HOURS")
    assert {name for name, place in places.items() if place.exists()} == {"_own", ".own"}
    assert (table / "_delta_log" / f"{0:020}.json").exists()


@assumes(
    "dates before 1582 are moved, where files are read as those of Spark 2",
    of="pyspark",
    used_in="pipelines/redolake/host/spark_settings.py",
    says="else dates before 1582 are moved",
)
def test_spark_moves_old_dates_by_setting(spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    with setting(spark, "spark.sql.parquet.datetimeRebaseModeInWrite", "LEGACY"):
        spark.sql("SELECT DATE'1500-01-01' AS d").write.parquet(path)
    import pyarrow.parquet as pq

    (file,) = Path(path).glob("*.parquet")
    assert str(pq.read_table(file)["d"][0].as_py()) != "1500-01-01"


@assumes(
    "ALTER COLUMN to the type that the column has makes no commit",
    of="delta-spark",
    used_in="pipelines/redolake/apply/delta/plain_types.py",
    says="ALTER COLUMN would be skipped: for Spark the types are equal",
)
def test_delta_skips_an_alter_to_the_same_type(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t"
    spark.sql("SELECT 'a' AS s").write.format("delta").save(str(path))
    spark.sql(f"ALTER TABLE {table_at(str(path))} ALTER COLUMN s TYPE STRING")
    spark.sql(f"ALTER TABLE {table_at(str(path))} REPLACE COLUMNS (s STRING)")
    assert len(list(path.glob("_delta_log/*.json"))) == 2


@assumes(
    "NOT NULL is dropped by a commit of its own",
    of="delta-spark",
    used_in="pipelines/redolake/apply/schema.py",
    says="Delta could not drop NOT NULL in one commit with the change that needs it",
)
def test_delta_keeps_not_null_in_a_commit_of_rows(spark: Any, tmp_path: Path) -> None:
    table = table_at(str(tmp_path / "t"))
    spark.sql(f"CREATE TABLE {table} (a INT NOT NULL) USING delta")
    rows = spark.sql("SELECT CAST(NULL AS INT) AS a")
    append = rows.write.format("delta").mode("append").option("mergeSchema", "true")
    assert "DELTA_NOT_NULL_CONSTRAINT_VIOLATED" in refusal(lambda: append.save(str(tmp_path / "t")))


@assumes(
    "a sum or product of decimals of 38 digits is rounded to fewer decimals", of="pyspark",
    used_in="docs/how-to/shape-columns.md", says="a sum or a product of two numbers of 38 digits keeps as few as 6 decimals",
)  # fmt: skip
def test_arithmetic_of_long_decimals_is_rounded(spark: Any) -> None:
    small = "CAST(0.0000000001 AS DECIMAL(38,10))"
    assert value(spark, f"CAST(1 AS DECIMAL(38,0)) + {small}") == 1
    assert value(spark, f"{small} * CAST(1 AS DECIMAL(38,10))") == 0
    assert value(spark, f"CAST({small} AS DECIMAL(18,10)) * CAST(1 AS DECIMAL(18,10))") == Decimal("1E-10")


@assumes(
    "an expression of more than a hundred levels is refused by a Connect server", of="pyspark",
    used_in="pipelines/redolake/apply/spark/shallow.py", says="Spark Connect refuses more than a hundred levels",
)  # fmt: skip
def test_connect_refuses_deep_expressions(connect_beside: Any) -> None:
    from pyspark.sql.connect import functions as CF

    deep = CF.lit(0)
    for _ in range(150):
        deep = deep + CF.lit(1)
    assert refusal(lambda: connect_beside.range(1).select(deep).collect())


@assumes(
    "a Connect client refuses `withColumns` without columns", of="pyspark",
    used_in="pipelines/redolake/apply/net/missing_columns.py", says="a Connect client refuses withColumns without columns",
)  # fmt: skip
def test_connect_refuses_no_columns(spark: Any, connect_beside: Any) -> None:
    assert spark.range(1).withColumns({}).columns == ["id"]
    with pytest.raises(AssertionError):
        _ = connect_beside.range(1).withColumns({}).columns


@assumes(
    "a Connect session says the master of its server", of="pyspark",
    used_in="pipelines/redolake/apply/spark/session.py", says="a Connect session says its server's master",
)  # fmt: skip
def test_connect_says_its_master(connect_beside: Any) -> None:
    assert connect_beside.conf.get("spark.master", "") == "local[2]"


@assumes(
    "a bigint is taken for a decimal of 20 digits, and a number with 19 decimals keeps them beside it in our session",
    of="pyspark",
    used_in="pipelines/redolake/reconcile/pushed_filter.py",
    says="the 20th that Spark allows for a bigint costs no decimal in our sessions",
)
def test_a_bigint_costs_no_decimal(spark: Any) -> None:
    assert value(spark, "typeof(coalesce(CAST(1 AS BIGINT), CAST(1 AS DECIMAL(1,0))))") == "decimal(20,0)"
    number, close = "CAST(9223372036854775807 AS BIGINT)", "9223372036854775807.0000000000000000001"
    assert value(spark, f"{number} = {close}") is False
    assert value(spark, f"{number} < {close}") is True


@assumes(
    "a schema has no name with a sign or a letter beyond ASCII, in quotes either",
    of="pyspark",
    used_in="pipelines/redolake/steps/shown/views.py",
    says="Spark takes no other name of a schema or view, however it is quoted",
)
@pytest.mark.parametrize("name", ["a-b", "a b", "\u00fc", "a$"])
def test_spark_refuses_names_of_schemas(spark: Any, name: str) -> None:
    assert "INVALID_SCHEMA_OR_RELATION_NAME" in refusal(lambda: spark.sql(f"CREATE SCHEMA `{name}`"))


@assumes(
    "a setting gives a property to each new table",
    of="delta-spark",
    used_in="pipelines/redolake/host/spark_settings.py",
    says="Properties that Delta gives to each new table",
)
def test_delta_gives_properties_to_new_tables(spark: Any, tmp_path: Path) -> None:
    table = table_at(str(tmp_path / "t"))
    with setting(spark, "spark.databricks.delta.properties.defaults.logRetentionDuration", "interval 3 days"):
        spark.sql(f"CREATE TABLE {table} (a INT) USING delta")
    assert ("delta.logRetentionDuration", "interval 3 days") in map(tuple, spark.sql(f"SHOW TBLPROPERTIES {table}").collect())


@assumes(
    "the name of a property is the same in capital letters",
    of="delta-spark",
    used_in="pipelines/redolake/values/target_options.py",
    says="Delta does not distinguish upper and lower case in it",
)
def test_delta_ignores_the_case_of_a_property(spark: Any, tmp_path: Path) -> None:
    table = table_at(str(tmp_path / "t"))
    spark.sql(f"CREATE TABLE {table} (a INT) USING delta TBLPROPERTIES ('delta.APPENDONLY' = 'true')")
    spark.sql(f"INSERT INTO {table} VALUES (1)")
    assert "DELTA_CANNOT_MODIFY_APPEND_ONLY" in refusal(lambda: spark.sql(f"DELETE FROM {table}").collect())


@assumes(
    "a folder has a file _SUCCESS once all its files are written",
    of="pyspark",
    used_in="pipelines/redolake/apply/range_changes.py",
    says="Spark writes it last",
)
def test_spark_writes_success_last(spark: Any, tmp_path: Path) -> None:
    spark.range(3).write.parquet(str(tmp_path / "t"))
    last = max((tmp_path / "t").glob("[!.]*"), key=lambda file: file.stat().st_mtime_ns)
    assert last.name == "_SUCCESS"


@assumes(
    "a feature that readers must know leaves the protocol with the history only, which is kept a day",
    of="delta-spark",
    used_in="docs/concepts/reading-the-lake.md",
    says="as Delta removes none without giving up the history",
)
def test_delta_drops_no_feature_at_once(spark: Any, tmp_path: Path) -> None:
    table = table_at(str(tmp_path / "t"))
    spark.range(9).write.format("delta").option("delta.enableDeletionVectors", "true").save(str(tmp_path / "t"))
    said = refusal(lambda: spark.sql(f"ALTER TABLE {table} DROP FEATURE deletionVectors TRUNCATE HISTORY"))
    assert "history" in said.lower()


@assumes(
    "a table is clustered only by columns of which it keeps statistics",
    of="delta-spark",
    used_in="docs/concepts/reading-the-lake.md",
    says="and of the columns of `cluster_by`, which Delta needs",
)
def test_delta_clusters_by_measured_columns(spark: Any, tmp_path: Path) -> None:
    table = table_at(str(tmp_path / "t"))
    only_a = "TBLPROPERTIES ('delta.dataSkippingStatsColumns' = 'a')"
    said = refusal(lambda: spark.sql(f"CREATE TABLE {table} (a INT, b INT) USING delta CLUSTER BY (b) {only_a}"))
    assert "statistics" in said or "stats" in said.lower()


@assumes(
    "extensions are read when a server starts",
    of="pyspark",
    used_in="docs/how-to/configure-spark.md",
    says="A Connect server needs Delta's jars and settings when it starts",
)
def test_spark_takes_no_extension_later(spark: Any) -> None:
    assert "CANNOT_MODIFY_STATIC_CONFIG" in refusal(lambda: spark.conf.set("spark.sql.extensions", "x"))


@assumes(
    "a row group whose footer leaves NaN out is passed over, unless filters are not pushed down",
    of="pyspark",
    used_in="docs/concepts/reading-the-lake.md",
    says="in Spark set `spark.sql.parquet.filterPushdown` to `false`",
)
def test_spark_finds_nan_in_a_file_of_another_writer_without_pushed_filters(spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    write_deltalake(path, pa.table({"d": [1.0, float("inf"), float("nan")]}))
    spark.sql(f"ALTER TABLE {table_at(path)} SET TBLPROPERTIES ('delta.dataSkippingNumIndexedCols' = '0')")
    DeltaTable(path).update(updates={"d": "d"})  # its statistics are not Delta's now
    found = {}
    for pushed in ("true", "false"):
        with setting(spark, "spark.sql.parquet.filterPushdown", pushed):
            found[pushed] = spark.sql(f"SELECT d FROM {table_at(path)} WHERE d = CAST('NaN' AS DOUBLE)").count()
    assert found == {"true": 0, "false": 1}
