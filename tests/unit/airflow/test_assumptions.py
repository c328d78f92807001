"""What the product's comments say of Airflow, asked of its own models and defaults."""

from __future__ import annotations

from airflow.configuration import conf
from airflow.models.dagrun import DagRunNote
from airflow.models.taskinstance import TaskInstance

from redolake.airflow.groups import LABEL
from redolake.airflow.run_notes import LONGEST
from tests.support.assumes import assumes


@assumes(
    "a note has at most 1,000 characters", of="apache-airflow",
    used_in="pipelines/redolake/airflow/run_notes.py", says="characters of a note that Airflow's database takes",
)  # fmt: skip
def test_a_note_has_so_many_characters() -> None:
    assert DagRunNote.__table__.c.content.type.length == LONGEST


@assumes(
    "the name of a mapped task's instance has at most 250 characters", of="apache-airflow",
    used_in="pipelines/redolake/airflow/groups.py", says="characters of a name that Airflow's database takes",
)  # fmt: skip
def test_the_name_of_an_instance_has_so_many_characters() -> None:
    assert TaskInstance.__table__.c.rendered_map_index.type.length == LABEL


@assumes(
    "a mapped task has at most `[core] max_map_length` instances, by default 1,024", of="apache-airflow",
    used_in="pipelines/redolake/airflow/groups.py", says="instances of a task, by default 1,024",
)  # fmt: skip
def test_a_mapped_task_has_so_many_instances() -> None:
    assert conf.get_default_value("core", "max_map_length") == "1024"
