"""The settings that Spark is started with."""

from __future__ import annotations

from types import SimpleNamespace
from unittest import mock

import pytest

from redolake.apply.spark import session
from redolake.apply.spark.session import (
    COMPILES_ALL,
    EXECUTOR_JAVA_OPTIONS,
    JAVA_OPTIONS,
    LOGGING_ON_HOSTS,
    choose_kept,
    divide_by_cores,
    follow_cores,
    logging_option,
    plan_for_few_rows,
    side_by_side,
    spark_conf,
)
from redolake.context.spark import open_spark
from redolake.errors import ConfigurationError
from redolake.host.spark_settings import AS_WRITTEN, CHECKPOINTS, FIXED, KEPT
from redolake.job.connect_server import server_command


def test_java_compiles_the_code_of_wide_tables_in_the_driver_and_the_executors():
    for name in (JAVA_OPTIONS, EXECUTOR_JAVA_OPTIONS):
        assert COMPILES_ALL in spark_conf({})[name].split()
        assert {"-Xss4m", COMPILES_ALL} <= {*spark_conf({name: "-Xss4m"})[name].split()}


def test_drivers_servers_and_executors_log_without_the_texts_of_exceptions():
    ours = logging_option(LOGGING_ON_HOSTS)
    for name in (JAVA_OPTIONS, EXECUTOR_JAVA_OPTIONS):
        assert ours in spark_conf({name: "-Xss4m"})[name].split()
    command = server_command("local[1]", "127.0.0.1", 15002, "1g", False, [])
    assert len([part for part in command if ours in part and "extraJavaOptions" in part]) == 2


@pytest.mark.parametrize("own", ["-Dlog4j2.configurationFile=/mine.xml", "-Dlog4j.configurationFile=file:/mine.xml"])
def test_a_configuration_of_logging_of_ones_own_is_kept(own: str):
    for name in (JAVA_OPTIONS, EXECUTOR_JAVA_OPTIONS):
        assert [one for one in spark_conf({name: own})[name].split() if "configurationFile" in one] == [own]


def test_a_spark_of_the_process_itself_gets_the_jars_for_the_places_of_its_pipeline(monkeypatch):
    builder = mock.Mock()
    for name in ("appName", "master", "config"):
        getattr(builder, name).return_value = builder
    builder.getOrCreate.return_value.conf = SimpleNamespace(get=FIXED.get, set=mock.Mock(), getAll={}, unset=mock.Mock())
    builder.getOrCreate.return_value.sql.return_value.collect.return_value = [(PLAN,)]
    monkeypatch.setattr(session, "SparkSession", SimpleNamespace(builder=builder))
    monkeypatch.setattr(session, "spark_jars", lambda *places: [f"jar of {place}" for place in places])
    monkeypatch.setattr(session, "prepare_this_process", lambda: None)
    spark = SimpleNamespace(mode="submit", master="local[1]", settings={"spark.log.level": "ERROR"})

    open_spark(SimpleNamespace(spark=spark, landing="/landing", lake="s3://lake"))

    settings = dict(call.args for call in builder.config.call_args_list)
    assert settings["spark.jars"] == "jar of /landing,jar of s3://lake"
    assert (settings["spark.log.level"], settings["spark.hadoop.fs.s3.impl"]) == (
        "ERROR",
        session.S3["spark.hadoop.fs.s3.impl"],
    )
    builder.master.assert_called_once_with("local[1]")


PLAN = "== Physical Plan ==\n*(1) Range (0, 1000000, step=1, splits=64)\n"


@pytest.mark.parametrize(
    ("plan", "free", "tasks"),
    [
        (PLAN, ("shuffle", "state"), {"shuffle": "64", "state": "64"}),
        (PLAN.replace("64", "1"), ("shuffle", "state"), {"shuffle": "2", "state": "2"}),
        (PLAN, ("state",), {"state": "64"}),
        (PLAN, (), {}),
        ("another form of the plan", ("shuffle", "state"), {"shuffle": "2", "state": "2"}),
    ],
)
def test_tasks_follow_the_cores_unless_somebody_has_chosen(plan: str, free: tuple[str, ...], tasks: dict[str, str]) -> None:
    spark, names = mock.Mock(), {"shuffle": session.SHUFFLE, "state": session.SNAPSHOT}
    spark.sql.return_value.collect.return_value = [(plan,)]

    divide_by_cores(spark, [names[name] for name in free])

    assert {call.args for call in spark.conf.set.call_args_list} == {(names[name], n) for name, n in tasks.items()}


@pytest.mark.parametrize(("noted", "divided"), [(session.SHUFFLE, [session.SHUFFLE]), ("", []), (None, [])])
def test_each_job_divides_by_the_cores_that_a_cluster_has_by_then(noted: str | None, divided: list[str]) -> None:
    """What nobody has chosen is noted when the session of a cluster is opened."""
    spark = mock.Mock()
    spark.conf.get.return_value = noted
    spark.sql.return_value.collect.return_value = [(PLAN,)]

    follow_cores(spark)

    assert [call.args for call in spark.conf.set.call_args_list] == [(name, "64") for name in divided]


@pytest.mark.parametrize(
    ("chosen", "plan", "tables"),
    [
        ({"spark.master": "local[64]"}, PLAN, 8),
        ({"spark.master": "local[*]", "spark.driver.cores": "1"}, PLAN.replace("64", "6"), 6),
        ({"spark.master": "local"}, PLAN.replace("64", "1"), 2),
        ({"spark.master": "spark://h:7077"}, PLAN, 2),
        ({"spark.master": "k8s://h", "spark.driver.cores": "4"}, PLAN, 4),
        ({"spark.master": "yarn", "spark.driver.cores": "32"}, PLAN, 8),
    ],
)
def test_tables_side_by_side_follow_the_cores_of_the_driver(chosen: dict[str, str], plan: str, tables: int) -> None:
    """Those of executors merge nothing by themselves."""
    spark = mock.Mock()
    spark.conf.getAll = chosen
    spark.sql.return_value.collect.return_value = [(plan,)]

    assert side_by_side(spark) == tables


ALLOCATES, DECOMMISSIONS = {"spark.dynamicAllocation.enabled": "true"}, {"spark.decommission.enabled": "True"}


@pytest.mark.parametrize(
    ("chosen", "kept"),
    [
        ({"spark.master": "spark://h:7077"}, None),
        ({"spark.master": "spark://h:7077", **ALLOCATES}, "replicated"),
        ({"spark.master": "k8s://h", **DECOMMISSIONS}, "replicated"),
        ({"spark.master": "yarn", "spark.dynamicAllocation.enabled": "false"}, None),
        ({"spark.master": "local[4]", **ALLOCATES}, None),
        ({"spark.master": "yarn", **ALLOCATES, KEPT: "local"}, None),
        ({"spark.master": "yarn", KEPT: "checkpoint", CHECKPOINTS: "hdfs:///c"}, None),
    ],
)
def test_rows_are_kept_twice_where_executors_come_and_go(chosen: dict[str, str], kept: str | None) -> None:
    spark = mock.Mock()

    choose_kept(spark, chosen)

    assert [call.args for call in spark.conf.set.call_args_list] == ([] if kept is None else [(KEPT, kept)])


def test_a_checkpoint_without_a_folder_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="needs a folder, and Spark has no"):
        choose_kept(mock.Mock(), {KEPT: "checkpoint"})


def test_a_server_is_told_where_rows_are_kept() -> None:
    assert session._runtime({KEPT: "replicated", "spark.executor.memory": "9g"}) == {KEPT: "replicated"}


class EndedSession:
    """A session that accepts settings until its server has ended."""

    def __init__(self) -> None:
        self.conf, self.is_over = self, False

    def get(self, name: str, default: str | None) -> str | None:
        return default

    def set(self, name: str, value: str | None = None) -> None:
        if self.is_over:
            raise ConnectionError("no server answers")

    unset = set


def test_the_error_that_ended_a_session_is_not_lost_when_its_settings_cannot_be_restored() -> None:
    ended = EndedSession()

    def run() -> None:
        with plan_for_few_rows(ended):
            ended.is_over = True
            raise ArithmeticError("the first error")

    with pytest.raises(ArithmeticError, match="the first error") as caught:
        run()

    assert isinstance(caught.value.__cause__, ConnectionError)


def test_no_setting_lets_spark_replace_variables_in_our_statements() -> None:
    assert spark_conf(dict.fromkeys(AS_WRITTEN, "true")).items() >= AS_WRITTEN.items()


def test_no_setting_changes_what_spark_reads_and_writes() -> None:
    assert spark_conf(dict.fromkeys(FIXED, "LEGACY")).items() >= FIXED.items()
