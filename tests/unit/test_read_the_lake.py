"""The lines of docs/how-to/read-the-lake.md are those that `redolake views` prints, and each reader that is here runs them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import duckdb
import polars
import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake

from redolake.config import Pipeline
from redolake.context import Run
from redolake.errors import ConfigurationError
from redolake.steps.shown.history_views import write_history_views
from redolake.steps.shown.views import IN_PYTHON, NAMES, STATEMENTS, Engine, ViewOf, check_names, write_views
from redolake.values.scn import Scn
from redolake.values.table import TableId
from tests.support.assumes import assumes
from tests.support.lake_readers import delta_extension

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "read-the-lake.md").read_text()
PATH = "/data/lake/shop/orders"
ORDERS = TableId("SHOP", "ORDERS")
ROWS = {"ID": [1, 2, 3, 4], "STATUS": ["NEW", "PAID", "NEW", "GONE"], "_deleted": [False, False, False, True]}


def block_of(engine: Engine) -> str:
    found = re.search(rf"^## {NAMES[engine]}$.*?^```\w+\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def new_table(folder: Path) -> Path:
    write_deltalake(folder, pa.table(ROWS))
    return folder


def in_python(lines: str) -> Any:
    names: dict[str, Any] = {}
    exec(lines, names)
    return names


@pytest.mark.parametrize("engine", get_args(Engine))
def test_the_page_begins_with_the_lines_that_views_prints(engine: Engine) -> None:
    printed = STATEMENTS[engine]([ViewOf(ORDERS, PATH)], [])

    assert block_of(engine).splitlines()[: len(printed)] == printed


# A group of rows, by reader: what the page's query leaves in `found`.
COUNTED: dict[str, Callable[[Any], Any]] = {
    "delta-rs": lambda found: pa.table(found).to_pylist(),
    "polars": lambda found: found.to_dicts(),
    "pandas": lambda found: found.to_dict("records"),
}


@pytest.mark.parametrize("engine", COUNTED)
def test_each_block_of_python_runs_as_it_is_printed(engine: Engine, tmp_path: Path) -> None:
    found = in_python(block_of(engine).replace(PATH, str(new_table(tmp_path / "orders"))))["found"]

    assert [(row["STATUS"], int(row["n"])) for row in COUNTED[engine](found)] == [("GONE", 1), ("NEW", 2), ("PAID", 1)]


@pytest.mark.skipif(not delta_extension(), reason="DuckDB's extension is not here for this version")
def test_the_block_of_duckdb_runs_with_its_extension(tmp_path: Path) -> None:
    lines = block_of("duckdb").replace(PATH, str(new_table(tmp_path / "orders")))
    with duckdb.connect() as connection:
        connection.load_extension(delta_extension())
        found = connection.execute(lines.removeprefix("INSTALL delta;\nLOAD delta;\n")).fetchall()

    assert found == [("GONE", 1), ("NEW", 2), ("PAID", 1)]


HOSTILE = ('odd "', "it's", "a\\b", "${x}", "日本", "\U0001f600", "#\n# x", '"); raise SystemExit("')


@pytest.mark.parametrize("path", HOSTILE)
@pytest.mark.parametrize("engine", IN_PYTHON)
def test_a_path_is_a_literal(engine: Engine, path: str) -> None:
    lines = "\n".join(STATEMENTS[engine]([ViewOf(ORDERS, path)], []))

    assert path in [node.value for node in ast.walk(ast.parse(lines)) if isinstance(node, ast.Constant)]


@pytest.mark.parametrize("engine", IN_PYTHON)
def test_a_marked_row_is_left_out(engine: Engine, tmp_path: Path) -> None:
    path = str(new_table(tmp_path / ("t$~2E" if engine == "polars" else "t$ #1 ~2E")))
    names = in_python("\n".join(STATEMENTS[engine]([ViewOf(TableId("SHOP", "T$"), path, None, True)], [])))

    if engine == "delta-rs":
        ids = pa.table(names["lake"].execute('SELECT "ID" FROM shop_t_x24_').read_all())["ID"].to_pylist()
    elif engine == "polars":
        ids = names["shop_t_x24_"].collect()["ID"].to_list()
    else:
        ids = names["shop_t_x24_"]["ID"].to_list()
    assert sorted(ids) == [1, 2, 3]


@pytest.mark.parametrize("folder", ["a b", "a#b", "日本"])
@assumes(
    "a local path with a blank, # or a letter beyond ASCII is not found",
    of="polars",
    used_in="docs/how-to/read-the-lake.md",
    says="Polars opens no local path with a blank, `#` or a letter beyond ASCII",
)
def test_polars_opens_no_local_path_with_these_characters_as_the_page_says(folder: str, tmp_path: Path) -> None:
    path = str(new_table(tmp_path / folder))

    with pytest.raises(FileNotFoundError):
        in_python("\n".join(STATEMENTS["polars"]([ViewOf(ORDERS, path)], [])))["shop_orders"].collect()
    assert len(polars.scan_delta(path, use_pyarrow=True).collect()) == 4


@pytest.mark.parametrize("engine", IN_PYTHON)
def test_a_version_is_the_one_that_is_asked_for(engine: Engine, tmp_path: Path) -> None:
    path = str(new_table(tmp_path / "orders"))
    write_deltalake(path, pa.table(ROWS), mode="append")
    names = in_python("\n".join(STATEMENTS[engine]([ViewOf(ORDERS, path, 0)], [])))

    if engine == "delta-rs":
        (row,) = pa.table(names["lake"].execute("SELECT count(*) AS n FROM shop_orders").read_all()).to_pylist()
        assert row["n"] == 4
    else:
        frame = names["shop_orders"]
        assert len(frame.collect() if engine == "polars" else frame) == 4


def new_pipeline(folder: Path) -> Pipeline:
    body = {"name": "shop", "source": {"connection": "c"}, "landing": f"{folder}/landing", "lake": f"{folder}/lake"}
    views = {"all.orders": {"tables": "/SHOP\\d/.ORDERS", "discriminator": "shard"}}
    tables = ["SHOP1.ORDERS", "SHOP2.ORDERS", 'SHOP1."a\n$"', 'SHOP1."1"', "SHOP1.NEW_ONE"]
    return Pipeline.model_validate({**body, "tables": tables, "union_views": views})


@pytest.mark.parametrize("engine", IN_PYTHON)
def test_comments_are_those_of_python_and_name_what_is_not_made(engine: Engine, tmp_path: Path) -> None:
    pipeline = new_pipeline(tmp_path)
    with Run(pipeline) as context:
        for table in (one.id for one in pipeline.tables if one.id.name != "NEW_ONE"):
            context.ledger.add_table(table, Scn(5))
            context.ledger.record_complete_to(table, Scn(5), 2, 0)

    text = write_views(pipeline, engine).text

    compile(text, "views", "exec")
    comments = [line for line in text.splitlines() if line.startswith("#")]
    assert not [line for line in text.splitlines() if line.startswith("--")]
    assert comments[0] == f"# Views of the tables of pipeline shop, as they are, for {NAMES[engine]}."
    assert "# SHOP1.NEW_ONE is left out: it has no contents yet." in comments
    assert any("is shop1_a_xa__x24_: Python takes no such name." in line for line in comments)
    assert "# all.orders is not made: a view over several tables is SQL, for Spark, DuckDB or Trino." in comments
    with pytest.raises(ConfigurationError, match="versions of rows are SQL"):
        write_history_views(pipeline, engine)


def test_two_tables_whose_names_would_be_one_in_python_are_refused() -> None:
    one, other = TableId("A", "B_C"), TableId("A_B", "C")

    check_names("duckdb", [one, other])
    with pytest.raises(ConfigurationError, match="would both be a_b_c"):
        check_names("polars", [one, other])


def test_names_that_begin_with_a_digit_are_names_in_python(tmp_path: Path) -> None:
    path = str(new_table(tmp_path / "orders"))

    for engine in IN_PYTHON:
        in_python("\n".join(STATEMENTS[engine]([ViewOf(TableId("1", "2"), path)], [])))  # type: ignore[index]
    lines = "\n".join(STATEMENTS["delta-rs"]([ViewOf(TableId("1", "2"), path)], []))
    assert '"_1_2"' in lines
    assert isinstance(in_python(lines)["lake"], QueryBuilder)
    assert DeltaTable(path).version() == 0
