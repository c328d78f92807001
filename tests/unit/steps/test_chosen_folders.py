"""Which folders a form or an option may name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from redolake.cli import app
from redolake.config import Pipeline
from redolake.errors import ConfigurationError
from redolake.host.filesystem import open_filesystem
from redolake.steps.ranges.mine_range import files_of
from redolake.steps.ranges.shadows import prepare_backfill
from redolake.steps.ranges.swap import swap_table
from redolake.steps.shared.chosen_folders import check_folder_to_write, check_paths_to_write


def delta(folder: str, pipeline: str) -> str:
    """Write a Delta table that says whose it is."""
    action = {"metaData": {"configuration": {"redolake.pipeline": pipeline, "redolake.table": "SHOP.U"}, "schemaString": "{}"}}
    filesystem, root = open_filesystem(folder)
    filesystem.makedirs(f"{root}/_delta_log", exist_ok=True)
    filesystem.pipe_file(f"{root}/_delta_log/{0:020d}.json", json.dumps(action).encode())
    return folder


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    (tmp_path / "lake" / "shop" / "orders").mkdir(parents=True)
    (tmp_path / "exports").mkdir()
    (tmp_path / "exports" / "link").symlink_to("/etc")
    (tmp_path / "exports" / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "lake" / "out").symlink_to(tmp_path)
    return Pipeline.model_validate(
        {
            "name": "shop",
            "source": {"connection": "shop"},
            "landing": f"{tmp_path}/landing",
            "lake": f"{tmp_path}/lake",
            "tables": ["SHOP.ORDERS", "SHOP.X*", {"match": "CRM.*", "target": "crm/{table}"}],
            "allowed_folders": [f"{tmp_path}/exports", f"{tmp_path}/landing", "s3://ours/exports", "memory://ours/exports"],
        }
    )


@pytest.mark.parametrize("place", ["exports", "exports/a/b", "lake/exports", "lake/shop/other", "memory://ours/exports/a"])
def test_files_are_written_below_an_allowed_folder_or_the_lake(pipeline: Pipeline, tmp_path: Path, place: str) -> None:
    check_folder_to_write(pipeline, "--folder", place if "://" in place else f"{tmp_path}/{place}")


@pytest.mark.parametrize(
    "place",
    [
        "/etc",
        "{}",
        "{}/exports2",
        "{}/exports/../other",
        "{}/exports/link",
        "{}/exports/link/redolake",
        "{}/exports/_delta_log",
        "{}/lake",
        "{}/lake/_shadow/1-2-copy",
        "{}/lake/shop/orders",
        "{}/lake/shop/orders/part",
        "{}/lake/SHOP/Orders",
        "{}/lake/shop/orders/_delta_log",
        "{}/landing",
        "{}/landing/shop/windows",
        "{}/landing/shop/keys",
        "{}/landing/another",
        "file:///etc",
        "s3://ours",
        "s3://ours/exports2",
        "s3://strangers/exports",
        "exports",
        "",
        "{}/EXPORTS/a",
        "{}/exports/dangling/y",
        "{}/lake/out/x",
        "{}//exports/./../other",
        "file:{}/exports/a",
        "S3://ours/exports/a",
        "s3a://ours/exports/a",
        "s3://ours@other/exports/a",
        "s3://ours/exports/%2e%2e/x",
        "s3://ours/exports//..//x",
        "simplecache::s3://ours/exports",
        "zip://a::/etc",
        "{}/exports/a ",
        "{}/exports/{{{{6*7}}}}",
        "{}/lake/shop/xnew",
        "{}/lake/Shop/Xnew/part",
        "{}/lake/crm/later",
    ],
)
def test_no_other_folder_is_written_to(pipeline: Pipeline, tmp_path: Path, place: str) -> None:
    with pytest.raises(ConfigurationError, match="--folder"):
        check_folder_to_write(pipeline, "--folder", place.format(tmp_path))


@pytest.mark.parametrize(
    "place", ["other/tab", "other/tab/part", "other/tab/K=1/x", "link/tab", "memory://ours/exports/other/tab/part"]
)
def test_the_mark_of_another_pipeline_s_table_refuses_its_folder_and_names_it(
    pipeline: Pipeline, tmp_path: Path, place: str
) -> None:
    whole = place if "://" in place else f"{tmp_path}/exports/{place}"
    (tmp_path / "exports" / "link").unlink()
    (tmp_path / "exports" / "other").mkdir()
    (tmp_path / "exports" / "link").symlink_to(tmp_path / "exports" / "other")
    delta(whole[: whole.index("/tab") + 4], "sales")

    with pytest.raises(ConfigurationError, match=r"SHOP\.U of pipeline sales") as refused:
        check_folder_to_write(pipeline, "--folder", whole)

    assert "--folder" in str(refused.value)
    check_folder_to_write(pipeline, "--folder", whole[: whole.index("/tab")] + "/beside")


@pytest.mark.parametrize("place", ["", "/windows/1-2-3", "/keys", "/new"])
def test_the_landing_of_another_pipeline_is_refused(pipeline: Pipeline, tmp_path: Path, place: str) -> None:
    folder = tmp_path / "exports" / "landings" / "sales"
    folder.mkdir(parents=True)
    (folder / "handover.json").touch()

    with pytest.raises(ConfigurationError, match="the landing of another pipeline"):
        check_folder_to_write(pipeline, "--folder", f"{folder}{place}")


def test_a_read_writes_no_table_into_that_of_another_pipeline(pipeline: Pipeline, tmp_path: Path) -> None:
    taken = delta(str(tmp_path / "exports" / "shop" / "orders"), "sales")

    with pytest.raises(ConfigurationError, match=f"SHOP.U of pipeline sales.*{taken}"):
        check_paths_to_write(pipeline, "--to", f"{tmp_path}/exports", ["shop/orders"])


def test_a_backfill_refuses_such_a_folder_before_it_reads_anything(pipeline: Pipeline) -> None:
    with pytest.raises(ConfigurationError, match="allowed_folders"):
        prepare_backfill(pipeline, 1, 2, target="files", folder="/etc")


def test_only_allowed_folders_of_logs_are_listed(pipeline: Pipeline, tmp_path: Path) -> None:
    (tmp_path / "exports" / "1.arc").touch()

    assert files_of(pipeline, [f"{tmp_path}/exports", "+DATA/1.arc"]) == (f"{tmp_path}/exports/1.arc", "+DATA/1.arc")
    for folder in ("/etc", f"{tmp_path}/lake", f"{tmp_path}/exports/link", "."):
        with pytest.raises(ConfigurationError, match="--logs"):
            files_of(pipeline, [folder])


@pytest.mark.parametrize("name", ["../../elsewhere", "/etc", "1-2", "1-2-copy/..", "1-2-changes", "", "_shadow", "1-2-copy\n"])
def test_a_swap_takes_nothing_but_a_whole_copy(pipeline: Pipeline, name: str) -> None:
    with pytest.raises(ConfigurationError, match="--copy"):
        swap_table(pipeline, "SHOP.ORDERS", name)


def test_a_read_replaces_nothing_that_is_there(pipeline: Pipeline, tmp_path: Path) -> None:
    """Of two tables the first would be written before Spark finds that the second one's folder exists."""
    (tmp_path / "exports" / "b").mkdir()
    (tmp_path / "exports" / "c").write_text("a file of others")
    (tmp_path / "exports" / "d").symlink_to(tmp_path / "exports" / "b")

    assert check_paths_to_write(pipeline, "--to", f"{tmp_path}/exports", ["a"]) == [f"{tmp_path}/exports/a"]
    for path in ("b", "c", "d"):
        with pytest.raises(ConfigurationError, match="exists already"):
            check_paths_to_write(pipeline, "--to", f"{tmp_path}/exports/", ["a", path])


PLACES = {
    "backfill --folder": "written: check_folder_to_write",
    "backfill --target": "no place: what is made",
    "backfill --logs": "read by the database: check_folder",
    "close-gap --logs": "read by the database: check_folder",
    "history rebuild --logs": "read by the database: check_folder",
    "init --config": "written in the terminal: an existing file only with --force",
    "init --from-olr": "read in the terminal",
    "init --lake": "written into the new file: checked as a setting",
    "init --landing": "written into the new file: checked as a setting",
    "init --ledger": "no place: the id of a connection",
    "olr-config --thread": "no place: a number",
    "olr-config --check": "read in the terminal",
    "read --to": "written: check_folder_to_write, and nothing there is replaced",
    "selftest --dba-connection": "no place: the id of a connection",
    "spark pack ARCHIVE": "written in the terminal: an existing file only with --force",
    "spark pack --python": "a path on other hosts, which is tried",
    "setup-sql --key-logging": "no place: a choice",
    "setup-sql --retention-hours": "no place: a number",
}
PLACE = re.compile(r"\b(folders?|files?|paths?|URLs?|archives?|director(y|ies)|spool|logs?)\b|path", re.IGNORECASE)


def places(command: Any, names: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield each option and argument of the commands that names a folder or a file, or whose help speaks of one."""
    for name, one in getattr(command, "commands", {}).items():
        yield from places(one, (*names, name))
    for option in command.params if not getattr(command, "commands", None) else ():
        is_of_all = option.name in ("pipeline", "config") and names != ("init",)
        text = f"{option.help} {option.name} {command.callback.__annotations__.get(option.name)}"
        if not is_of_all and not getattr(option, "is_flag", False) and PLACE.search(text):
            yield f"{' '.join(names)} {option.opts[0] if option.opts[0].startswith('-') else option.name.upper()}"


def test_each_option_that_names_a_place_is_sorted_by_what_keeps_it_in_its_folders() -> None:
    """A new one is checked as those of its kind are, and gets a line here. Forms have the operations' options alone."""
    assert sorted(places(get_command(app))) == sorted(PLACES)
