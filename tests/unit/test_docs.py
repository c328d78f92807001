"""Tests of the documentation: generated pages are current, links resolve, every error code has its entry."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from demo.scenarios import SCENARIOS
from docs.pages.assumptions import Assumption, assumptions, words_of
from redolake import errors
from redolake.config import parse_configuration
from redolake.errors import RedolakeError, Terminal, Transient
from redolake.land import layout

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("demo/*.md"), *ROOT.glob("standin/**/*.md")])
FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.+?)\s*$", re.MULTILINE)
CODES = sorted(
    name
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, RedolakeError) and kind not in (RedolakeError, Transient, Terminal)
)


def test_the_generated_pages_are_current() -> None:
    done = subprocess.run(
        [sys.executable, "docs/generate.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr


ASSUMPTIONS = [*assumptions()]


@pytest.mark.parametrize("one", ASSUMPTIONS, ids=lambda one: one.test)
def test_an_assumption_is_said_where_it_is_used(one: Assumption) -> None:
    """A comment that has gone takes its assumption with it."""
    assert (ROOT / one.used_in).is_file()
    assert words_of(one.says) in words_of((ROOT / one.used_in).read_text())


ENGINES = r"Spark(?: Connect)?|[Aa] Connect server|Delta|DuckDB|Polars|delta-rs(?: SQL)?|pandas|SQLite"
LIBRARY = rf"(?:{ENGINES}|Airflow|SQLAlchemy|pyarrow|Arrow|sqlglot|VACUUM)"
HELPERS = "do|does|can|cannot|never|also|only|alone"
DOES = rf"(?!tables|files)(?:(?:{HELPERS}) (?:not )?[a-z]+|[a-z]+[^s\W]s|has|go|find|round|compare|read|take)"
SAYS = re.compile(rf"(?:^|^[*|] (?:\*\*)?|[,;:|] |\b(?:but|because|since|which) ){LIBRARY}(?: and {LIBRARY})* {DOES}\b")
OURS = (  # what Redolake lets them do
    "Airflow lists the assets of a pipeline under the group",
    "Delta gets a column `_rowid`",
    "Spark computes the same over the Delta version",
    "Spark decides which rows count",
    "Spark evaluates the whole condition afterwards",
    "Spark gets none whose SHA-256",
    "VACUUM has removed files of that Delta version",
)
MEASURED = ("comparison.md", "performance.md")  # or by others' manuals
ABOUT_LIBRARIES = [
    page
    for page in PAGES
    if page.is_relative_to(ROOT / "docs") and page.parent.name not in ("reference", "development") and page.name not in MEASURED
]


def sentences(page: Path) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n|\n(?=[|*#-])", text_of(page)):
        yield from re.split(r"(?<=[^.][.!?]) (?=[A-Z`*\[a-z])", " ".join(paragraph.split()))


@pytest.mark.parametrize("page", ABOUT_LIBRARIES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_sentence_about_a_library_has_a_test(page: Path) -> None:
    """It begins with the library, or a clause of it does: others are found by reading only."""
    proven = [words_of(one.says) for one in ASSUMPTIONS if ROOT / one.used_in == page]
    said = [sentence for sentence in sentences(page) if any(SAYS.search(part) for part in re.split(r"(?<=[;:]) ", sentence))]
    assert [sentence for sentence in said if not any(words in sentence for words in (*proven, *OURS))] == []


def text_of(page: Path) -> str:
    """Return the page without code blocks, where brackets and `#` mean something else."""
    return FENCE.sub("", page.read_text())


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub makes of the page's headings."""
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(text_of(page)))
    return {heading.replace(" ", "-") for heading in kept}


def broken_links(page: Path) -> Iterator[str]:
    for link in LINK.findall(text_of(page)):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            yield link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_resolves(page: Path) -> None:
    assert list(broken_links(page)) == []


def test_every_page_can_be_reached_from_the_index() -> None:
    index = ROOT / "docs" / "README.md"
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in LINK.findall(text_of(index))}

    assert {page for page in (ROOT / "docs").rglob("*.md")} - linked == {index}


@pytest.mark.parametrize("code", CODES)
def test_every_error_code_has_its_entry(code: str) -> None:
    page = (ROOT / "docs" / "reference" / "errors.md").read_text()
    entry = page.partition(f"### {code}\n")[2].partition("\n### ")[0]

    assert "**Do this:** " in entry


def test_every_named_scenario_of_the_demo_exists() -> None:
    named = {name for page in PAGES for name in re.findall(r"--scenario ([a-z][a-z-]+)", page.read_text())}

    assert named - set(SCENARIOS) == set()


def test_every_example_configuration_is_valid() -> None:
    examples = [block for page in PAGES for block in re.findall(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL)]
    pipeline = "pipelines: {shop: {source: {connection: shop}, landing: /landing, lake: /lake, tables: %s}}"
    whole = [text for text in examples if text.startswith("pipelines:")]
    tables = [pipeline % json.dumps(yaml.safe_load(text)["tables"]) for text in examples if text.startswith("tables:")]

    assert whole
    assert tables
    assert [parse_configuration(text, {}).pipelines.keys() for text in whole + tables] == [{"shop"}] * len(whole + tables)


# By the rows of docs/comparison.md, the tests that prove what it says of Redolake's mappings.
PROVEN = {
    "Names of tables and columns": (
        "integration/test_mapping.py::test_ddl_is_followed_through_names_and_stops_at_what_an_expression_needs",
        "unit/config/test_shape.py::test_groups_of_a_regular_expression_name_the_folders",
    ),
    "Type of a column": (
        "integration/test_type_values.py",
        "unit/config/test_shape.py::test_a_column_with_more_than_a_rule_keeps_its_rule_unless_it_has_an_expression",
    ),
    "Expression per column": (
        "integration/test_mapping.py::"
        "test_names_expressions_masks_and_added_columns_hold_through_snapshot_changes_verify_and_backfill",
        "integration/test_mapped_lives.py::test_the_lake_equals_the_mapping_of_the_source",
    ),
    "New and constant columns": (
        "integration/test_mapping.py::"
        "test_names_expressions_masks_and_added_columns_hold_through_snapshot_changes_verify_and_backfill",
        "integration/test_mapped_lives.py::test_the_lake_equals_the_mapping_of_the_source",
    ),
    "Many tables into one": (
        "integration/test_as_of.py::test_views_have_one_scn_in_each_engine_that_is_here",
        "unit/steps/test_views.py::test_tables_that_do_not_make_one_are_refused_with_their_names",
    ),
    "Masks, keyed hash": (
        "integration/test_mapping.py::test_no_file_plan_error_or_line_has_the_key_of_masks_or_the_clear_text_of_a_masked_key",
        "integration/test_mapping.py::test_no_file_of_an_encrypted_landing_has_clear_text_and_its_tables_equal_the_source",
    ),
    "Row filter": (
        "integration/test_mapping.py::test_a_filter_takes_rows_in_and_out_as_their_values_change",
        "integration/test_mapping.py::test_what_oracle_evaluates_of_a_filter_leaves_out_no_row_that_spark_would_keep",
    ),
    "Users' code": (
        "integration/test_mapping.py::test_users_code_makes_columns_and_holds_its_table_alone_where_it_fails",
        "unit/host/test_user_code.py::test_a_trial_finds_what_is_no_function_of_the_row",
    ),
    "A change of it is noticed": (
        "unit/reconcile/test_mappings.py::test_a_changed_mapping_is_a_conflict_that_names_what_differs",
        "unit/host/test_user_code.py::test_another_version_of_the_code_is_not_called",
    ),
    "Values that UPDATEs lack": (
        "integration/test_mapping.py::test_a_mapping_that_needs_more_than_the_redo_has_is_refused_before_a_load",
    ),
    "Proof that the target is right": ("integration/test_mapped_lives.py::test_the_lake_equals_the_mapping_of_the_source",),
}


def test_each_of_our_cells_in_the_comparison_of_mappings_has_tests_that_are_there() -> None:
    compared = text_of(ROOT / "docs" / "comparison.md").split("## Shaping")[1].split("\n## ")[0]

    assert re.findall(r"^\| ([A-Z][^|]*?) \|", compared, re.MULTILINE) == [*PROVEN]
    assert all(PROVEN.values())
    for file, _, function in (name.partition("::") for names in PROVEN.values() for name in names):
        assert not function or f"def {function}(" in (ROOT / "tests" / file).read_text(), (file, function)
        assert (ROOT / "tests" / file).exists()


def test_the_kinds_and_parts_are_those_of_the_test_that_runs_them() -> None:
    module = ast.parse((ROOT / "tests" / "integration" / "test_mapping_matrix.py").read_text())
    found = {
        node.targets[0].id: node.value
        for node in module.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    uses, kinds = ast.literal_eval(found["USES"]), [ast.literal_eval(key) for key in found["KINDS"].keys]  # type: ignore[attr-defined]
    text = text_of(ROOT / "docs" / "comparison.md").split("### Each kind of mapping")[1].split("\n## ")[0]

    assert "Each kind works in each part: `integration/test_mapping_matrix.py`" in text
    assert re.findall(r"^\* Kinds: (.*)$", text, re.MULTILINE) == [" · ".join(kinds)]
    assert re.findall(r"^\* Parts: (.*)$", text, re.MULTILINE) == [" · ".join(uses)]


def test_every_folder_of_the_landing_is_on_its_page() -> None:
    names = {value for name, value in vars(layout).items() if name.isupper() and isinstance(value, str)}
    shown = {f"{name}/" if name.isalpha() else name for name in names}
    page = (ROOT / "docs" / "reference" / "landing-layout.md").read_text()

    assert {name for name in shown if name not in page} == set()


def test_pre_commit_runs_the_commands_of_make_check() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    recipe = (ROOT / "Makefile").read_text().partition("\ncheck:")[2].partition("\n\n")[0]

    assert {hook["language"] for hook in hooks} == {"system"}
    assert [hook["entry"].removeprefix(".venv/bin/") for hook in hooks] == re.findall(r"^\t@?\$\(BIN\)/(.+)$", recipe, re.M)


def test_every_named_module_exists() -> None:
    """Where a page names a file of the code by its path, or by the end of it, the file is there."""
    rooms = ("pipelines", "standin", "demo", "docs", "tests", "dags", "benchmarks", "plugins")
    files = [f"/{path.relative_to(ROOT)}" for room in rooms for path in (ROOT / room).rglob("*.py")]
    missing = {
        f"{page.relative_to(ROOT)}: {name}"
        for page in PAGES
        for name in re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", text_of(page))
        if not any(file.endswith(f"/{name}") for file in files)
    }

    assert missing == set()


def test_the_rooms_on_the_page_are_the_layers_that_imports_obey() -> None:
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    page = (ROOT / "docs" / "architecture.md").read_text().partition("| Rooms of `pipelines/redolake/`")[2].partition("\n\n")[0]
    rows = [re.findall(r"`(\w+)`", line.split("|")[1]) for line in page.splitlines()[2:]]

    assert rows == [layer.split(" | ") for layer in contract["layers"]]


def test_every_dag_of_a_pipeline_is_on_the_page() -> None:
    factory = (ROOT / "pipelines" / "redolake" / "airflow" / "factory.py").read_text()
    built = re.findall(r"(\w+)_dag\b", re.findall(r"^BUILDERS = \((.*?)\)", factory, re.MULTILINE | re.DOTALL)[0])
    page = (ROOT / "docs" / "architecture.md").read_text().partition("## DAGs")[2]

    assert re.findall(r"^\| `<name>_(\w+)` \|", page, re.MULTILINE) == built
    assert "Each pipeline has nine." in page
    assert "nine DAGs" in (ROOT / "README.md").read_text()
    assert len(built) == 9
