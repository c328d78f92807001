"""The DAGs as Airflow runs them, over spark-submit, against the stand-in: what changed in Oracle is in Delta."""

import os
import sys

import pytest
import yaml

from pipelines import steps

pytestmark = [pytest.mark.airflow, pytest.mark.spark]


@pytest.fixture
def pipeline(shop, monkeypatch, airflow_db):
    """pipelines.yml and connections, as a user has them."""
    from pipelines.config import load_pipeline

    shop.run_sql(
        "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20), quantity NUMBER(9,2))",
        "ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
    )
    settings = {
        "source": {"connection": "e2e_oracle", "container": "FREEPDB1"},
        "landing": str(shop.folder / "landing"),
        "lake": str(shop.folder / "lake"),
        "schedule": None,
        "spark": {"connection": "e2e_spark", "conf": {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}},
        "tables": ["SHOP.PARTS"],
    }
    file = shop.folder / "pipelines.yml"
    file.write_text(yaml.safe_dump({"pipelines": {"parts": settings}}))
    params = shop.params
    oracle = params.dsn.replace("//", "")
    monkeypatch.setenv("REDOLAKE_CONFIG", str(file))
    monkeypatch.setenv("AIRFLOW_CONN_E2E_ORACLE", f"oracle://{params.user.replace('#', '%23')}:{params.password}@{oracle}")
    monkeypatch.setenv("AIRFLOW_CONN_E2E_SPARK", '{"conn_type": "spark", "host": "local[2]"}')
    for name in ("JAVA_HOME", "PATH", "PYSPARK_PYTHON", "PYTHONSAFEPATH"):  # the task sets them, in this process here
        monkeypatch.setenv(name, os.environ.get(name, "") if name != "PYSPARK_PYTHON" else sys.executable)
    return load_pipeline("parts", file)


def run(pipeline, part, conf=None):
    from pipelines.airflow import factory

    build = {build.__name__: build for build in factory.BUILDERS}[f"{part}_dag"]
    ran = build(pipeline).test(run_conf=conf)
    return str(ran.state), {t.task_id: str(t.state) for t in ran.get_task_instances()}


def test_rows_changed_after_a_snapshot_reach_delta_through_the_dags(shop, pipeline):
    shop.run_sql("INSERT INTO parts VALUES (1, 'shelf', 1.5)", "INSERT INTO parts VALUES (2, 'floor', 2)")
    assert run(pipeline, "snapshot")[0] == "success"
    shop.run_sql("UPDATE parts SET place = 'it''s here' WHERE id = 1", "DELETE FROM parts WHERE id = 2")
    shop.run_sql("INSERT INTO parts VALUES (3, NULL, -0.25)")
    shop.switch_logs()

    assert run(pipeline, "capture")[0] == "success"
    assert run(pipeline, "apply")[0] == "success"

    (found,) = steps.verify(pipeline)["tables"]
    assert (found["source_rows"], found["delta_rows"], found["differing_cells"]) == (2, 2, 0)
    state, tasks = run(pipeline, "apply")
    assert (state, tasks["spark"]) == ("success", "skipped")
