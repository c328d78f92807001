"""One wrong pipeline in pipelines.yml does not take the others away."""

from __future__ import annotations

import pytest

from redolake.config import parse_configuration, parse_each
from redolake.config.yaml_text import read_yaml
from redolake.errors import ConfigurationError

RIGHT = '{source: {connection: x}, landing: "/landing/%s", lake: "/lake/%s", tables: [SHOP.ORDERS]}'


def file_of(**pipelines: str) -> str:
    return "pipelines:\n" + "".join(f"  {name}: {body}\n" for name, body in pipelines.items())


def test_the_right_pipelines_are_kept_and_each_wrong_one_has_its_findings() -> None:
    text = file_of(shop=RIGHT % ("a", "a"), broken="{source: {connection: x}, typo: 1, lake: /b, tables: [ORDERS]}")

    found, wrong = parse_each(text, {})

    assert (list(found.pipelines), list(wrong)) == (["shop"], ["broken"])
    subjects = {finding.subject for finding in wrong["broken"].findings}
    assert {"pipelines.broken.typo", "pipelines.broken.landing"} <= subjects


def test_a_variable_that_is_not_set_is_missed_by_its_own_pipeline_alone() -> None:
    found, wrong = parse_each(file_of(shop=RIGHT % ("a", "a"), other=RIGHT % ("${PLACE}", "b")), {})

    assert (list(found.pipelines), list(wrong)) == (["shop"], ["other"])


@pytest.mark.parametrize(
    "text",
    [
        "pipelines: [",
        "nothing: here",
        file_of(one=RIGHT % ("a", "same"), two=RIGHT % ("b", "same")),  # each is right, but not both
        file_of(one="{typo: 1}"),
    ],
)
def test_a_mistake_that_is_not_of_one_pipeline_stops_all(text: str) -> None:
    with pytest.raises(ConfigurationError):
        parse_each(text, {})


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10)
)
MERGED = "a0: &a0 {x: 1}\n" + "".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}\n" for n in range(1, 10))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BOMB + "pipelines: {p: *a9}", r"line 5.*stands for \d+ values"),
        (MERGED + "pipelines: {p: *a9}", "line 6.*stands for"),
        ("pipelines: &all {p: *all}", "line 1.*contains itself"),
        ("pipelines: " + "[" * 3_000 + "]" * 3_000, "nested too deep"),
        ("pipelines:\n  p: 2026-99-99", "(?s)is not YAML.*line 2"),
        ("pipelines:\n  p: " + "9" * 5_000, "(?s)is not YAML.*line 2"),
    ],
    ids=["lists", "merged", "itself", "deep", "date", "digits"],
)
def test_a_text_that_is_no_file_of_settings_is_refused_at_once_with_its_line(text: str, said: str) -> None:
    for read in (parse_each, parse_configuration):
        with pytest.raises(ConfigurationError, match=said):
            read(text, {})


def test_anchors_that_repeat_settings_are_read() -> None:
    found, _ = parse_each(
        file_of(shop=RIGHT % ("a", "a")).replace("source: {", "source: &db {")
        + "  other:\n    <<: {source: *db}\n    landing: /l\n    lake: /k\n    tables: [S.T]\n",
        {},
    )

    assert found.pipelines["other"].source.connection == "x"


def test_thousands_of_tables_share_the_rules_of_one_anchor() -> None:
    rules = ", ".join(f"C{number}: string" for number in range(30))
    entries = "".join(f"  - {{table: SHOP.T{number}, columns: *rules}}\n" for number in range(2_000))

    found = read_yaml(f"rules: &rules {{{rules}}}\ntables:\n{entries}", "pipelines.yml")

    assert found["tables"][-1]["columns"]["C29"] == "string"


def test_a_doubled_dollar_keeps_a_name_that_looks_like_a_variable() -> None:
    tables = """['SHOP."$${HOME}"']"""
    found = parse_configuration(file_of(shop=(RIGHT % ("a", "a")).replace("[SHOP.ORDERS]", tables)), {"HOME": "/root"})

    assert [table.id.name for table in found.pipelines["shop"].tables] == ["${HOME}"]
