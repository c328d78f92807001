"""Names of tables are data: no DAG, form, note or map index runs one as a template, and tables with any name are loaded."""

import html
import json
import re
from types import SimpleNamespace

import pytest
from markdown_it import MarkdownIt

from redolake.config.tables import Match, Table
from redolake.steps.proof.verify import Verification
from redolake.steps.ranges.swap import CopiedTable, Copies
from redolake.steps.snapshots.begin import BegunSnapshot
from redolake.steps.snapshots.load import LoadedSnapshot
from redolake.steps.snapshots.read import TableSnapshot
from redolake.values.table import TableId
from tests.unit.airflow.test_dag_runs import run

__all__ = ["run"]

pytestmark = [pytest.mark.airflow, pytest.mark.usefixtures("airflow_db")]

ODD = ("{{6*7}}", "{% if %}", "{#", "a {{ti.task_id}}", "{{x.sql", "A\nB", "N" * 128)
NAMES = [
    str(TableId(owner, name)) for owner, name in [*(("SHOP", name) for name in ODD), ("O" * 128, "N" * 128), ("{{6*7}}", "{%O")]
]


@pytest.fixture
def odd(run):
    """`odd(build, form)` runs a DAG of a pipeline whose tables have these names."""

    def go(build, form=None, **changed):
        tables = tuple(Table(table=name) for name in NAMES)
        return run(lambda pipeline: build(pipeline.model_copy(update={"tables": tables, **changed})), form)

    return go


def labels(ran, task):
    return [t.rendered_map_index for t in ran.get_task_instances() if t.task_id == task]


def test_a_snapshot_loads_tables_whose_names_look_like_templates(odd, steps):
    from redolake.airflow.snapshot import snapshot_dag

    steps.answers("begin_snapshot", BegunSnapshot(90, tuple(NAMES), replace=False))
    steps.answers("read_snapshot_table", lambda scn, table: TableSnapshot(table, scn, 1))
    steps.answers("prepare_snapshot_load", "/l/{{6*7}}.json")
    steps.answers("record_snapshot_load", LoadedSnapshot(90, ()))

    states, ran = odd(snapshot_dag, {"tables": NAMES})

    (begun,) = [args for name, args, _ in steps.calls if name == "begin_snapshot"]
    read = [args[1] for name, args, _ in steps.calls if name == "read_snapshot_table"]
    (loaded,) = [args[0] for name, args, _ in steps.calls if name == "prepare_snapshot_load"]
    assert (begun[0], sorted(read), sorted(loaded)) == (NAMES, sorted(NAMES), sorted(NAMES))
    assert sorted(labels(ran, "read")) == sorted(name[:250] for name in NAMES)
    assert [args for name, args, _ in steps.calls if name in ("spark", "record_snapshot_load")] == [("/l/{{6*7}}.json",)] * 2
    assert (ran.state, set(states.values())) == ("success", {"success"})


DONE = SimpleNamespace(lines=["done"], without_samples=None, equal=True, left=())
FORMS = {  # by DAG, with a mend: its form, and the step that gets the names, one call for each where it takes one
    "verify": ({}, "verify_tables", Verification(True, (), (), ())),
    "mend, repair": ({"reason": "{{ti}}"}, "repair_table", DONE),
    "mend, swap": ({"copy": "5-9-copy", "reason": "{{ti}}"}, "swap_table", DONE),
    "mend, fill-columns": ({"reason": "{%"}, "fill_columns", DONE),
    "mend, resume": ({"reason": "{{ti}}"}, "resume_tables", tuple(NAMES)),
    "backfill": (
        {"from_scn": 1, "to_scn": 2, "target": "copy"},
        "copy_tables",
        Copies("c", 1, tuple(CopiedTable(name, "/lake/copy", 3, 99, 199) for name in NAMES)),
    ),
    "mend, quarantine retry": ({"reason": "{{ti}}"}, "retry_quarantine", DONE),
}


@pytest.mark.parametrize("part", FORMS)
def test_a_form_hands_on_names_as_they_are(odd, steps, part):
    from redolake.airflow import factory

    form, step, answer = FORMS[part]
    part, _, choice = part.partition(", ")
    form = {"mend": choice, "dry_run": False, **form} if choice else form
    steps.answers(step, answer)

    _, ran = odd(next(build for build in factory.BUILDERS if build.__name__ == f"{part}_dag"), {"tables": NAMES, **form})

    given = [one for name, args, _ in steps.calls if name == step for one in args if one == NAMES or one in NAMES]
    assert (ran.state, given) == ("success", NAMES if given[0] != NAMES else [NAMES])


def test_a_form_hands_on_columns_and_values_of_a_key_as_they_are(odd, steps):
    from redolake.airflow.mend import mend_dag

    steps.answers("repair_table", DONE)
    key = {"{{6*7}}": "{% if %}", "{#": "{{ti.task_id}};x"}
    form = {"mend": "repair", "tables": NAMES[-1:], "keys": json.dumps(key), "reason": "{{ti}}", "dry_run": False}

    _, ran = odd(mend_dag, form)

    ((table, keys),) = [args for name, args, _ in steps.calls if name == "repair_table"]
    assert (ran.state, table, [*keys]) == ("success", NAMES[-1], [key])


def test_a_form_refuses_what_is_no_name_of_a_copy_as_it_is_written(odd, steps, capfd):
    from redolake.airflow.mend import mend_dag

    steps.answers("swap_table", DONE)

    _, ran = odd(mend_dag, {"mend": "swap", "tables": NAMES[:1], "copy": "{{6*7}}", "reason": "{{ti}}", "dry_run": False})

    assert (ran.state, steps.calls) == ("failed", [])
    assert "'{{6*7}}' is no name of a whole copy" in "".join(capfd.readouterr())


def reading_again(pipeline):
    return pipeline.model_copy(update={"on_ddl": pipeline.on_ddl.model_copy(update={"unknown_ddl": "resnapshot"})})


def test_a_run_that_a_task_starts_gets_names_as_they_are(settings, steps):
    from redolake.airflow.apply import apply_dag
    from redolake.airflow.recover import recover_dag

    for build in (apply_dag, recover_dag):
        start = build(reading_again(settings())).get_task("snapshot")
        started = start.operator_class if start.is_mapped else type(start)
        one = started(task_id="one", trigger_dag_id="shop_snapshot", conf={"tables": NAMES})
        one.render_template_fields({"ti": "run"})
        assert one.conf == {"tables": NAMES}


@pytest.mark.parametrize("mode", ["connect", "submit"])
def test_no_task_of_ours_runs_a_text_as_a_template(settings, mode):
    from redolake.airflow import factory
    from redolake.errors import ConfigurationError

    pipeline = reading_again(settings(mode)).model_copy(update={"new_tables": "capture", "matches": (Match(match="SHOP.X*"),)})
    dags = [*factory.dags_of(pipeline), factory.misconfigured_dag("shop", ConfigurationError([]))]
    text = "{{6*7}}"
    wrong = []
    for task in (task for dag in dags for task in dag.tasks):
        kind = task.operator_class if task.is_mapped else type(task)
        if task.template_fields and kind.render_template(object.__new__(kind), text, {"ti": 1}) != text:
            wrong.append((task.dag_id, task.task_id))

    assert wrong == []
    assert sum(len(dag.tasks) for dag in dags) > 30


MARKED = ("`<img src=x>`", "A|B", "A\n| x | y |\n\n# B", "a``b", "`", "<b>", "[x](http://y)", "A\\|B", " A ", "\u202eB")


def codes_of(text):
    """Return what a reader sees as code in each row of the table below a text, and the other markup of its page."""
    page = MarkdownIt("commonmark").enable("table").render(text)
    rows = [re.findall(r"<td><code>(.*?)</code></td>", row) for row in page.split("<tr>")[1:]]
    return [[html.unescape(code) for code in row] for row in rows if row], re.findall(r"<(?:img|b|h\d|a)\b", page)


def test_a_name_in_the_text_of_a_dag_is_no_markup(settings):
    from redolake.airflow.factory import misconfigured_dag
    from redolake.airflow.texts import APPLY, dag_text
    from redolake.errors import ConfigurationError, Finding, one_line

    names = [str(TableId("SHOP", name)) for name in (*MARKED, *ODD)] + NAMES[-1:]
    tables = tuple(Table(table=name) for name in names)
    matches = (Match(match="SHOP.`|<b>X*"),)
    pipeline = settings().model_copy(update={"tables": tables, "matches": matches, "lake": "/lake/`|<b>"})
    rows, markup = codes_of(dag_text(APPLY, pipeline))

    assert markup == []
    assert [row[0] for row in rows] == [*map(one_line, names), "SHOP.`|<b>X*"]
    assert [row[1] for row in rows[:-1]] == [one_line(pipeline.target(table.id)) for table in tables]

    for name in MARKED:
        doc = misconfigured_dag(name, ConfigurationError([Finding(name, f"```\n# {name}", "x")])).doc_md
        assert codes_of(doc) == ([], [])
