"""The settings that shape what enters the lake: what is refused, and what is read of them."""

from __future__ import annotations

import pytest

from redolake.config import parse_configuration
from redolake.config.expressions import uses, with_ids
from redolake.config.mapping import ShapedColumn, by_column, of_column
from redolake.errors import ConfigurationError
from redolake.values.table import TableId

TABLE = TableId("SHOP", "PEOPLE")


def file_with(settings: str, of_pipeline: str = "") -> str:
    return f"""
pipelines:
  shop:
    source: {{connection: oracle_shop}}
    landing: /data/landing
    lake: /lake
    {of_pipeline}
    tables:
      - table: SHOP.PEOPLE
        {settings}
"""


def refused(settings: str) -> list[tuple[str, str]]:
    with pytest.raises(ConfigurationError) as caught:
        parse_configuration(file_with(settings), {})
    return [(finding.subject.removeprefix("pipelines.shop.tables[0]."), finding.what) for finding in caught.value.findings]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("amount / 100", ["AMOUNT"]),
        ("concat(Code, ' `x` ', `id`)", ["CODE", "id"]),
        ("CASE WHEN a > 1 THEN `b.c` END", ["A", "b.c"]),
        ("'ERP'", []),
        ("filter(split(tags, ','), t -> t <> 'x')[0]", ["TAGS"]),
        ("unix_timestamp(at)", ["AT"]),
        ("name IN ('a', 'b') AND NOT gone <=> 1", ["NAME", "GONE"]),
        ("a = 'x; y' /* ; */ -- ; no end\n AND b < DATE'2024-01-01'", ["A", "B"]),
        (" OR ".join(f"a = {n}" for n in range(1200)), ["A"] * 1200),  # over 10,000 characters
        ("name LIKE ANY ('a%', 'b%') OR `sysdate` = 1", ["NAME", "sysdate"]),
        ("transform(split(tags, ','), name -> upper(name))[0] -- of tags", ["TAGS"]),
        ("'now() and rand(1)'", []),
    ],
)
def test_the_columns_of_an_expression_are_found_by_oracles_rules_of_names(text: str, names: list[str]) -> None:
    assert sorted(name for name, _, _ in uses(text)) == sorted(names)


def test_only_the_names_of_columns_are_replaced_in_the_text_that_spark_gets() -> None:
    ids = {"A": 1, "a": 2}

    assert with_ids("A + `a`  -- A\n", ids) == "`redolake: 1` + `redolake: 2`  -- A\n"
    assert with_ids("concat('A', a, \"A\")", ids) == "concat('A', `redolake: 1`, \"A\")"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("rand() + a", "calls rand"),
        ("uuid()", "calls uuid"),
        ("now()", "calls now"),
        ("current_timestamp()", "present time"),
        ("current_date", "present time"),
        ("unix_timestamp()", "present time"),
        ("`rand`()", "calls rand"),
        ("(SELECT 1)", "a query"),
        ("a IN (SELECT 1)", "a query"),
        ("sum(a)", "an aggregate"),
        ("row_number() OVER (ORDER BY a)", "a window function"),
        ("explode(a)", "makes rows"),
        ("*", "`*`"),
        ("t.a", "without a table"),
        ("a; DROP TABLE x", "without a semicolon"),
        ("a +", "is no expression"),
        ("", "is no expression"),
        ("java_method('java.lang.System', 'exit', 1)", "calls java_method"),
        ("input_file_name()", "calls input_file_name"),
        ("a = 1;", "without a semicolon"),
        ("-- nothing", "write one"),
        ("DROP TABLE x", "is no expression"),
        ("SET x = 1", "is no expression"),
        ("a = 1 AS b", "is no expression"),
        ("a = 1)", "is no expression"),
        ("a = 1 -- x \\\n AND b = 2", "a backslash at the end of a comment"),  # b is in the comment, for Spark
        ("a < DATE'today'", "present time"),
        ("a < TIMESTAMP ' Now UTC'", "present time"),
        ("a < timestamp_ntz'yesterday'", "present time"),
        ("a = :x", "a parameter"),
        ("(" * 200 + "a = 1" + ")" * 200, "nested too deeply"),
        ("NOT " * 900 + "a", "nested too deeply"),
        ("session_user", "calls session_user"),
        ("current_path()", "calls current_path"),
        ("builtin.rand()", "calls rand"),
        ("sysdate", "SYSDATE, the present time: use `metadata_columns"),
        ("try_sum(a)", "no function of one row"),
        ("json_tuple(a, 'x')", "no function of one row"),
        ("window(at, '10 minutes')", "no function of one row"),
        ("any(a)", "an aggregate"),
        ("some(a)", "an aggregate"),
        ("identifier('a')", "makes a name of a text"),
        ("map(a)", "too few arguments"),
        ("DESCRIBE x", "is no expression"),
        ("TRANSFORM(a) USING 'cat'", "is no expression"),
    ],
)
def test_what_is_no_function_of_the_row_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        uses(text)


@pytest.mark.parametrize(
    ("settings", "place", "why"),
    [
        ("where: rand() < 1", "where", "calls rand"),
        ("add: {region: substr(code}", "add.region", "is no expression"),
        ("add: {region: {expression: a, type: varchar}}", "add.region.type", "not a type of the lake"),
        ("mask: {SSN: sha1}", "mask.SSN", "not a mask: write hash, redact, last4, null"),
        ("columns: {A: {type: string, expression: now()}}", "columns.A", "expression: 'now()' calls now"),
        ("columns: {A: {type: string, expresion: a}}", "columns.A", "expresion"),
        ("columns: {A: {type: integr}}", "columns.A", "not a rule"),
        ("rename: {A: x, B: X}", "", "two columns one name: X, x"),
        ("rename: {A: x, a: y}", "rename", "the column A twice, as A and as a"),
        ("rename: {'\"A\"': x, a: y}", "rename", "the column A twice"),
        ("rename: {'A*': x}", "rename", "takes no wildcards"),
        ("rename: {'': x}", "rename", "an empty name"),
        ('rename: {A: "x\\ny"}', "rename.A", "must not contain U+000A"),
        (f"rename: {{A: {'x' * 256}}}", "rename.A", "at most 255 characters, and this one 256"),
        ("mask: {ssn: hash, SSN: redact}", "mask", "the column SSN twice"),
        ("columns: {a: string, A: {comment: x}}", "columns", "the column A twice"),
        ("columns: {A: {}}", "columns.A", "nothing is said of the column"),
        ("columns: {A: {injective: true}}", "columns.A", "`injective` is said of an `expression`"),
        ("columns: {A: {comment: 5}}", "columns.A", "comment: must be a text"),
        ("add: {x: 5}", "add.x", "write a constant in quotes: '5'"),
        ("add: {x: {expression: a, type: 'decimal(4,20)'}}", "add.x.type", "more decimals than digits"),
        ("column_order: [a, b, a]", "column_order", "names a twice"),
        ("column_order: a", "column_order", "must be a list"),
        ("mask_key: {}", "mask_key", "give connection or variable"),
        ("transform: {function: shop, columns: {A: string}}", "transform", "is no function"),
    ],
)
def test_a_mistake_is_named_with_its_place(settings: str, place: str, why: str) -> None:
    ((where, what),) = refused(settings)

    assert where.rstrip(".").endswith(place)
    assert why in what


def test_a_setting_that_is_written_twice_is_refused_with_both_lines() -> None:
    text = file_with("mask: {SSN: hash}\n        mask: {NOTE: null}")
    with pytest.raises(ConfigurationError) as caught:
        parse_configuration(text, {}, "my.yml")

    (finding,) = caught.value.findings
    first = text.splitlines().index("        mask: {SSN: hash}") + 1
    assert finding.subject == f"my.yml, line {first + 1}"
    assert finding.what == f"`mask` is written twice, here and in line {first}"


def test_a_rule_of_a_quoted_name_is_not_that_of_the_same_name_in_capitals() -> None:
    table = (
        parse_configuration(file_with("columns: {ID: integer, '\"id\"': 2, low: string}"), {}).pipelines["shop"].table(TABLE)
    )

    assert [of_column(table.rules, name) for name in ("ID", "id", "low", "LOW", "x")] == [
        "integer",
        2,
        "string",
        "string",
        None,
    ]
    assert by_column(table.rules, ["ID", "id"]) == {"ID": "integer", "id": 2, "low": "string"}


def test_a_tables_own_names_and_masks_come_before_those_of_the_pipeline() -> None:
    text = file_with("mask: {EMAIL: redact, NOTE: null}", "mask: {EMAIL: hash, '*_SSN': hash}\n    rename: {A: b}")
    pipeline = parse_configuration(text, {}).pipelines["shop"]

    assert pipeline.settings(TABLE).masks == {"EMAIL": "redact", "*_SSN": "hash", "NOTE": "null"}
    assert pipeline.settings(TABLE).new_names == {"A": "b"}
    assert pipeline.table(TABLE).masks == {"EMAIL": "redact", "NOTE": "null"}


def test_a_tables_own_mask_comes_before_the_pipelines_whatever_letters_they_are_written_with() -> None:
    text = file_with("mask: {email: redact, 'n*': hash}", "mask: {EMAIL: clear, 'N*': null}")
    pipeline = parse_configuration(text, {}).pipelines["shop"]

    assert pipeline.settings(TABLE).masks == {"EMAIL": "redact", "N*": "hash"}


def test_a_column_with_more_than_a_rule_keeps_its_rule_unless_it_has_an_expression() -> None:
    settings = "columns: {A: string, B: {type: 4, comment: c}, '\"c\"': {expression: a, type: 'decimal(20, 4)'}}"
    table = parse_configuration(file_with(settings), {}).pipelines["shop"].table(TABLE)

    assert table.rules == {"A": "string", "B": 4}
    assert table.shaped["c"] == ShapedColumn(expression="a", type="decimal(20, 4)")


def pattern_with(settings: str) -> str:
    return file_with("").replace("- table: SHOP.PEOPLE", f"- {{match: 'SHOP.*_2?', {settings}}}")


def test_the_folders_of_a_patterns_tables_are_made_of_their_names() -> None:
    settings = "target: 'crm/{owner}/{table}-{1}', columns: {A: {type: string, expression: upper(a)}}"
    pipeline = parse_configuration(pattern_with(settings), {}).pipelines["shop"].with_matched([TableId("SHOP", "ORD/ERS_24")])
    (table,) = pipeline.tables

    assert table.path == "crm/shop/ord~2Fers_24-ord~2Fers"
    assert table.shaped["A"].expression == "upper(a)"
    assert pipeline.is_of_pattern(table)


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("crm/{schema}", "{schema} is unknown; write {owner}, {table}, {1}, {2}"),
        ("crm/{3}", "{3} is unknown"),
        ("crm/{owner}", "all matched tables would have one folder"),
        ("../{table}", "contains `.` or `..`"),
        ("_{table}", "Spark hides"),
    ],
)
def test_a_template_that_makes_no_folders_below_the_lake_is_refused(target: str, why: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_configuration(pattern_with(f"target: '{target}'"), {})

    assert why in caught.value.findings[0].what


REGULAR = r"/SHOP(\d)/./ORDERS_(?P<year>\d{4})(_OLD)?/"


def test_groups_of_a_regular_expression_name_the_folders() -> None:
    settings = f"- {{match: '{REGULAR}', target: 'shard{{1}}/{{year}}/{{table}}', rename: {{A: b}}}}"
    pipeline = parse_configuration(file_with("").replace("- table: SHOP.PEOPLE", settings), {}).pipelines["shop"]
    (found,) = pipeline.with_matched([TableId("SHOP2", "ORDERS_2024"), TableId("SHOP2", "ORDERS_24")]).tables

    assert (found.path, found.rename) == ("shard2/2024/orders_2024", {"A": "b"})
    assert not pipeline.patterns[0].pattern.matches(TableId("shop2", "ORDERS_2024"))


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("SHOP./ORDERS_(/", "is no regular expression"),
        ("/.*/.ORDERS", "names no owner"),
        ("SHOP./(?P<table>A)/", "a group cannot be called table"),
    ],
)
def test_a_regular_expression_that_cannot_be_meant_is_refused(pattern: str, why: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_configuration(file_with("").replace("- table: SHOP.PEOPLE", f"- '{pattern}'"), {})

    assert why in caught.value.findings[0].what


@pytest.mark.parametrize(
    ("view", "why"),
    [
        ("all.orders: {tables: SHOP.OTHER, discriminator: shard}", "SHOP.OTHER, which is no table of the pipeline"),
        ("all.orders: {tables: 'SHOP.*', discriminator: shard, value: '{2}'}", "{2} is unknown for SHOP.*"),
        ("orders: {tables: 'SHOP.*', discriminator: shard}", "'orders' is no name of a view"),
        ("all.orders: {tables: '!SHOP.*', discriminator: shard}", "a view has no exclusions"),
    ],
)
def test_a_view_over_tables_that_are_not_there_is_refused(view: str, why: str) -> None:
    text = file_with("").replace("    tables:\n", f"    union_views:\n      {view}\n    tables:\n", 1)
    with pytest.raises(ConfigurationError) as caught:
        parse_configuration(text, {})

    assert why in caught.value.findings[0].what


def test_a_mistake_has_its_line() -> None:
    text = file_with("add:\n          a: upper(x)\n          b: rand()")
    with pytest.raises(ConfigurationError) as caught:
        parse_configuration(text, {}, "my.yml")

    (finding,) = caught.value.findings
    assert finding.cure.startswith(f"correct my.yml, line {text.splitlines().index('          b: rand()') + 1};")


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ("key: append, on_error: {value: quarantine}", "append is none"),
        ("large_objects: reread, on_error: {undecodable: quarantine}", "read again or assembled"),
        ("on_error: {filter: quarantine}", "hold"),
        ("on_error: {value: skip}", "quarantine"),
        ("on_error: {at_most: {rows: 0}}", "at least 1"),
    ],
)
def test_a_quarantine_that_would_hide_a_loss_is_refused(settings: str, what: str) -> None:
    lines = settings.replace(", on_error", "\n        on_error")
    assert what in "; ".join(text for _, text in refused(lines))


@pytest.mark.parametrize("written", ["null", "~", '"null"'])
def test_null_is_a_policy_of_values_and_nothing_after_the_colon_is_a_mistake_with_its_line(written: str) -> None:
    (pipeline,) = parse_configuration(file_with(f"on_error:\n          value: {written}"), {}).pipelines.values()
    assert pipeline.settings(TABLE).on_error.value == "null"
    assert pipeline.settings(TABLE).on_error.quarantined == ()

    empty = file_with("on_error:\n          value:")
    with pytest.raises(ConfigurationError, match="has no value") as caught:
        parse_configuration(empty, {}, "my.yml")
    assert caught.value.findings[0].subject == f"my.yml, line {empty.splitlines().index('          value:') + 1}"


def test_a_tables_policies_of_errors_are_completed_by_the_pipelines() -> None:
    text = file_with("on_error: {at_most: {rows: 7}}", "on_error: {value: quarantine, at_most: {rows: 5, percent: 1}}")
    pipeline = parse_configuration(text, {}).pipelines["shop"]

    found = pipeline.settings(TABLE).on_error
    assert (found.quarantined, found.at_most.rows, found.at_most.percent) == (("value",), 7, 1)
    assert pipeline.quarantine_path(TABLE) == "/lake/_quarantine/shop.people"
