"""One wrong pipeline in pipelines.yml does not take the others away."""

from __future__ import annotations

import pytest

from pipelines.config import parse_each
from pipelines.errors import ConfigurationError

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
