"""Names of the source are data: each becomes one path segment, which leaves no folder and belongs to no other name."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from redolake.config.tables import Table
from redolake.host.paths import find_crowded, fold, segment, unfit_place, unfit_target
from redolake.land import layout
from redolake.values.table import TableId

HOSTILE = [
    "..",
    ".",
    "",
    "../SHOP/VICTIM",
    "../../ESC",
    "/etc",
    "a\\b",
    "a:b",
    "a::b",
    "~root",
    "a~7Eb",
    ".hidden",
    "_shadow",
    "_delta_log",
    "trailing.",
    "trailing ",
    " leading",
    "a\x00b",
    "a\nb",
    "\x7f",
    "CON",
    "nul",
    "Com1",
    "LPT9",
    "*",
    "a?",
    "[1]",
    "{a,b}",
    "a%2Fb",
    "${env:X}",
    "a#b",
    "e\u0301",
    "\u1100\u1161",
    "\u202e",
    "\ufeff",
    "\U0001f600",
    "x" * 128,
    "/" * 128,
    "日" * 128,
    "a" * 199 + "/",
    "\ud800",
]


def check(name: str, made: str) -> None:
    assert made not in ("", ".", "..")
    assert os.path.basename(made) == made
    assert "\\" not in made
    assert ":" not in made
    assert made.isprintable()
    assert not set(made) & set('*?[]{}^%|<>"`')
    assert made[0] not in "._ "
    assert made[-1] not in ". "
    assert made.split(".")[0].upper() not in ("CON", "PRN", "AUX", "NUL", "COM1", "LPT1")
    assert len(made.encode()) <= 240, "unfinished files add a suffix, and file systems take 255 bytes"
    assert unicodedata.normalize("NFC", made) == made


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_hostile_name_becomes_one_harmless_segment(name: str, tmp_path: Path) -> None:
    made = segment(name)

    check(name, made)
    (tmp_path / "folder" / made).mkdir(parents=True)
    assert [found.name for found in (tmp_path / "folder").iterdir()] == [made]


@given(st.text(max_size=130))
@example("~").via("the escape itself")
def test_any_name_becomes_one_harmless_segment(name: str) -> None:
    check(name, segment(name))


@given(st.lists(st.text(alphabet="aA~2FE./ _\u00e9\u0301-", max_size=6), min_size=2, max_size=2, unique=True))
def test_different_names_have_different_segments(names: list[str]) -> None:
    assert len({segment(name) for name in names}) == 2


@pytest.mark.parametrize(
    "name", ["ORDERS", "orders", "V$SESSION", "A#1", "order_lines", "my table", "a-b", "ÜBERSICHT", "訂單"]
)
def test_an_ordinary_name_stays_as_it_is(name: str) -> None:
    assert segment(name) == name


@pytest.mark.parametrize("name", HOSTILE[1:], ids=ascii)
def test_no_name_of_a_table_leads_out_of_the_lake_or_its_owners_folder(name: str) -> None:
    if '"' not in name and name:
        path = Table(table=f'SHOP."{name}"').path

        assert os.path.normpath(path) == path
        assert path.startswith("shop/")
        assert path.count("/") == 1


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_no_name_leads_out_of_its_folder_in_the_landing(name: str) -> None:
    table, hostile = TableId("SHOP", name or "X"), TableId(name or "X", "ORDERS")
    paths = {
        layout.snapshot_folder(table, 7): "snapshots",
        layout.snapshot_folder(hostile, 7): "snapshots",
        layout.window_manifest(name): "windows",
        layout.in_window(name, name): "windows",
        layout.drop_file(name): "drops",
        layout.split_file(name, name): "split",
        layout.unlisted_file(name): "unlisted",
        layout.load_spec(name): "loads",
        layout.load_manifest(name): "loads",
        layout.batch_spec(name, name): "batches",
        layout.batch_carry(name, name): "batches",
        layout.replay_manifest(layout.backfill_folder(name)): "backfills",
        layout.approval_file(name): "approvals",
        layout.verify_file(name, 1): "verify",
        layout.gap_file(name): "gaps",
        layout.chain_link(name): "chain",
        layout.dictionary_content(name): "dictionary",
    }

    for path, folder in paths.items():
        assert os.path.normpath(path) == path, path
        assert path.startswith(f"{folder}/"), path
        assert path.startswith(f"{folder}/"), path
        assert all(len(part.encode()) <= 255 for part in path.split("/")), path


def test_the_files_of_ordinary_names_keep_their_paths() -> None:
    window = "0000000001-00000000000000000002-00000000000000000003"

    assert layout.snapshot_folder(TableId("SHOP", "ORDERS$1"), 7) == "snapshots/SHOP.ORDERS$1/00000000000000000007"
    assert layout.window_manifest(window) == f"windows/{window}/manifest.json"
    assert (
        layout.drop_file("0000000001-00000000000000000002-3-4.12.345")
        == "drops/0000000001-00000000000000000002-3-4.12.345.json"
    )


def test_tables_whose_names_differ_by_case_or_a_dot_have_different_folders_in_the_landing() -> None:
    tables = [("SHOP", "ORDERS"), ("SHOP", "Orders"), ("SHOP", "orders"), ("A.B", "C"), ("A", "B.C"), ("a", "B.C")]
    folders = [layout.snapshot_folder(TableId(*table), 7) for table in tables]

    assert len({fold(folder) for folder in folders}) == len(tables)


UNFIT = {
    "k2": "is not absolute",
    "./lake": "is not absolute",
    "~/lake": "is not absolute",
    "": "is not absolute",
    "file://lake": "is not absolute",
    "/lake[1]": "contains [",
    "/{a,b}": "contains {",
    "/a?": "contains ?",
    "/a*b": "contains *",
    "/a\\b": "contains \\",
    "/pre%20x": "contains %",
    "/a#b": "contains #",
    "s3://bucket/a%20b": "contains %",
    "s3://bucket/[1]": "contains [",
    "/a/../b": "`..`",
    "s3://bu cket/a": "bucket or host",
    "/a\nb": "U+000A",
    "/a /b": "blank",
    "/a./b": "dot",
    "memory://a::b/c": None,
    "s3://AKIA:secret@bucket/a": "a user or a key before @",
    "s3://AKIA@bucket/a": "a user or a key before @",
    "gs://u:p@b/x": "a user or a key before @",
    "hdfs://u:p@nn:8020/x": "a user or a key before @",
    "abfss://container:key@account.dfs.core.windows.net/p": "a user or a key before @",
    "C:\\lake": "is not absolute",
}


@pytest.mark.parametrize(("place", "why"), UNFIT.items(), ids=map(ascii, UNFIT))
def test_a_place_that_spark_or_a_url_would_read_as_another_is_refused(place: str, why: str | None) -> None:
    assert why is None or why in (unfit_place(place) or "")


@pytest.mark.parametrize(
    "place",
    [
        "/lake",
        "/lake/",
        "/my lake/a-b_c",
        "/é/ü",
        "s3://bucket/lake",
        "s3://bucket",
        "file:///lake",
        "hdfs:///lake",
        "hdfs://nn:8020/lake",
        "abfss://container@account.dfs.core.windows.net/lake",
        "/a+b=c,d;e@f&g'h",
    ],
)
def test_a_place_that_all_read_alike_is_taken(place: str) -> None:
    assert unfit_place(place) is None


@pytest.mark.parametrize(
    "target",
    [
        "/etc",
        "..",
        "a/../../b",
        "./a",
        "",
        "/",
        "s3://b/x",
        "_shadow/1-2/shop/orders",
        "a/_delta_log",
        ".a",
        "a[1]",
        "a%20",
        "a ",
        "a/b.\t",
        "a/" + "x" * 256,
        "\u00e9" * 128,
    ],
)
def test_a_target_that_is_not_plainly_below_the_lake_is_refused(target: str) -> None:
    assert unfit_target(target) is not None


def test_folders_that_some_store_takes_for_one_or_that_lie_in_each_other_crowd_out_the_later_one() -> None:
    folders = [
        ("/lake/shop/orders", "ORDERS"),
        ("/lake/shop/Orders", "Orders"),
        ("/lake/shop/orders/archive", "inside"),
        ("/lake/shop", "around"),
        ("/lake/shop/stra\u00dfe", "STRA\u00dfE"),
        ("/lake/shop/strasse", "STRASSE"),
        ("/lake/shop/caf\u00e9", "NFC"),
        ("/lake/shop/cafe\u0301", "NFD"),
        ("/lake//shop/order", "ORDER"),
        ("s3a://lake/x", "s3a"),
        ("s3://lake/x/y", "s3"),
        ("/lake/shop/K", "K"),
        ("/lake/shop/\u212a", "Kelvin"),
        ("/lake/shop/a", "A"),
        ("/lake/shop/a.", "A."),
    ]

    assert find_crowded(folders) == {
        "Orders": "ORDERS",
        "inside": "ORDERS",
        "around": "ORDERS",
        "STRASSE": "STRA\u00dfE",
        "NFD": "NFC",
        "s3": "s3a",
        "Kelvin": "K",
        "A.": "A",
    }
