"""Tests of pipelines.yml: all findings are reported at once, each with its place in the file."""

from __future__ import annotations

import re

import pytest
from pydantic import ValidationError
from sqlalchemy.engine import make_url

from redolake.config import Retry, parse_configuration
from redolake.config.spark import SparkSettings
from redolake.errors import ConfigurationError, SourceUnavailable
from redolake.values.table import KeyPolicy

GOOD = """
pipelines:
  shop:
    source: {connection: oracle_shop, container: FREEPDB1}
    landing: ${ROOT}/landing
    lake: /lake/
    window: {max_bytes: 512MiB}
    tables:
      - shop.orders
      - {table: '"Shop"."Mixed Case"', target: mixed, columns: {TOTAL: string, RATE: 4}}
"""


def findings_of(text: str, **environment: str) -> dict[str, str]:
    with pytest.raises(ConfigurationError) as caught:
        parse_configuration(text, environment)
    return {finding.subject: finding.what for finding in caught.value.findings}


def test_a_valid_file_gives_pipelines_with_defaults() -> None:
    pipeline = parse_configuration(GOOD, {"ROOT": "/data"}).pipelines["shop"]

    assert (pipeline.name, pipeline.landing, pipeline.window.max_bytes) == ("shop", "/data/landing", 512 * 2**20)
    assert [str(table.id) for table in pipeline.tables] == ["SHOP.ORDERS", '"Shop"."Mixed Case"']
    assert [pipeline.target(table.id) for table in pipeline.tables] == ["/lake/shop/orders", "/lake/mixed"]
    assert pipeline.ledger_url == "sqlite:////data/landing/redolake-ledger.db"


def test_all_findings_are_reported_at_once() -> None:
    text = """
pipelines:
  shop:
    source: {conection: x}
    landing: ${NOPE}
    schedule: 5
    window: {max_bytes: 12 parsecs}
    tables: [A, B.C, b.c]
"""

    found = findings_of(text)

    assert {
        "pipelines.shop.landing",
        "pipelines.shop.source.connection",
        "pipelines.shop.source.conection",
        "pipelines.shop.lake",
        "pipelines.shop.schedule",
        "pipelines.shop.window.max_bytes",
        "pipelines.shop.tables[0]",
    } <= set(found)


KEYS = {
    "": KeyPolicy("primary"),
    ", key: primary": KeyPolicy("primary"),
    ", key: rowid": KeyPolicy("rowid"),
    ", key: append": KeyPolicy("append"),
    """, key: [code, '"Day"']""": KeyPolicy("columns", ("CODE", "Day")),
}


@pytest.mark.parametrize(("text", "policy"), KEYS.items(), ids=KEYS)
def test_each_kind_of_key_is_parsed(text: str, policy: KeyPolicy) -> None:
    pipeline = parse_configuration(GOOD.replace(", target: mixed", f", target: mixed{text}"), {"ROOT": "/data"}).pipelines[
        "shop"
    ]

    assert pipeline.tables[1].key_policy == policy


def test_large_objects_are_assembled_only_where_the_redo_contains_the_key() -> None:
    text = GOOD.replace("target: mixed", "target: mixed, key: rowid").replace("tables:", "large_objects: redo\n    tables:", 1)
    pipeline = parse_configuration(text, {"ROOT": "/data"}).pipelines["shop"]

    assert [pipeline.choice(table.id).large_objects for table in pipeline.tables[:2]] == ["redo", "refuse"]


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ("history: scd2, key: append", "`key: append` names none: use `history: changes`"),
        ("history: changes, large_objects: reread", "with `large_objects` some are not known"),
        ("history: scd2, unsupported_columns: reread", "with `unsupported_columns` some are not known"),
    ],
)
def test_a_history_of_what_is_not_known_at_each_change_is_refused(settings: str, why: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(why)):
        parse_configuration(GOOD.replace("target: mixed", f"target: mixed, {settings}"), {"ROOT": "/data"})


def test_a_table_says_whether_it_has_a_history_before_its_pipeline_does() -> None:
    text = GOOD.replace("target: mixed", "target: mixed, history: none").replace("tables:", "history: changes\n    tables:", 1)
    pipeline = parse_configuration(text, {"ROOT": "/data"}).pipelines["shop"]

    kept = {table.path: pipeline.history_target(table.id) for table in pipeline.tables}
    assert kept["mixed"] is None
    assert [path for path in kept.values() if path] == [f"/lake/_history/{path}" for path in kept if path != "mixed"]


@pytest.mark.parametrize("names", [("CODE", "DAY"), ("Mixed Case", "NO"), ("it's", "[x]", "A#"), ("Ü",)], ids=str)
def test_the_key_text_of_a_finding_can_be_pasted_into_the_file(names: tuple[str, ...]) -> None:
    wanted = KeyPolicy("columns", names)
    text = GOOD.replace(", target: mixed", f", target: mixed, key: {wanted}")

    assert parse_configuration(text, {"ROOT": "/data"}).pipelines["shop"].tables[1].key_policy == wanted


@pytest.mark.parametrize(
    ("place", "wrong", "meant"),
    [
        ("", "schedul", "schedule"),
        ("", "ddl", "on_ddl"),
        ("", "text", "invalid_text"),
        ("", "names", "column_names"),
        ("", "wait_looks_every_seconds", "wait_max_pause_seconds"),
        ("spark", "tables_at_once", "parallel_tables"),
        ("retry", "most_seconds", "max_seconds"),
        ("resnapshot", "hours", "hours_utc"),
        ("tables", "exclude", "exclude_columns"),
    ],
)
def test_an_unknown_setting_is_refused_with_the_one_that_was_meant(place: str, wrong: str, meant: str) -> None:
    text = {
        "": f"{GOOD}    {wrong}: 1\n",
        "tables": GOOD.replace("target: mixed", f"target: mixed, {wrong}: [A]"),
    }.get(place, f"{GOOD}    {place}: {{{wrong}: 1}}\n")

    with pytest.raises(ConfigurationError) as caught:
        parse_configuration(text, {"ROOT": "/data"})

    assert [(f.subject.rpartition(".")[2], f.what, f.cure) for f in caught.value.findings] == [
        (wrong, "is no setting", f"did you mean `{meant}`?")
    ]


def test_words_that_old_yaml_takes_for_true_and_false_are_names_of_columns() -> None:
    text = GOOD.replace("columns: {TOTAL: string, RATE: 4}", "key: [ON, YES], columns: {NO: string, Off: 4}")

    table = parse_configuration(text, {"ROOT": "/data"}).pipelines["shop"].tables[1]

    assert (table.key, table.columns) == (("ON", "YES"), {"NO": "string", "Off": 4})


WRONG = {
    "no YAML": ("pipelines: [", "is not YAML"),
    "no YAML, which the parser says on lines of its own": ("a: [1, 2\nb: 3", "is not YAML: while parsing a flow sequence in "),
    "a key column that is left out": (
        GOOD.replace("target: mixed", "target: mixed, key: [CODE], exclude_columns: [c*]"),
        "`exclude_columns` names CODE",
    ),
    "a rule after which two keys may be one": (
        GOOD.replace("columns: {TOTAL: string", "key: [CODE, AT], columns: {AT: truncate, CODE: string"),
        "AT has the rule `truncate`, after which two values may be one, and `key` names it",
    ),
    "a mask after which two declared keys are one": (
        GOOD.replace("target: mixed", "target: mixed, key: [CODE], mask: {'C*': last4}"),
        "CODE is part of the `key`, and two keys become one by `mask: last4`",
    ),
    "a mask of the pipeline after which two keys of tables by pattern are one": (
        GOOD.replace("    tables:", "    mask: {CODE: redact}\n    tables:", 1) + "      - {match: SHOP.T*, key: [CODE]}\n",
        "CODE is part of the `key`, and two keys become one by `mask: redact`",
    ),
    "an expression after which two declared keys may be one": (
        GOOD + "      - {match: SHOP.T*, key: [CODE], columns: {CODE: {expression: upper(CODE)}}}\n",
        "CODE is part of the `key`, and two keys may become one by `upper(CODE)`",
    ),
    "a rule after which two partitions may be one": (
        GOOD.replace("columns: {", "partition_by: [DAY], columns: {day: {type: truncate, comment: d}, "),
        "DAY has the rule `truncate`, after which two values may be one, and `partition_by` names it",
    ),
    "a rule after which two texts may be one, of tables by pattern": (
        GOOD + "      - {match: SHOP.T*, cluster_by: [CODE], columns: {CODE: replace}}\n",
        "CODE has the rule `replace`, after which two values may be one, and `cluster_by` names it",
    ),
    "large objects of the redo, which names rows by their key, in a table keyed by ROWID": (
        GOOD.replace("target: mixed", "target: mixed, key: rowid, large_objects: redo"),
        "`large_objects: redo` needs a key",
    ),
    "columns left out that are no list": (
        GOOD.replace("target: mixed", "target: mixed, exclude_columns: PHOTO"),
        "list of column names",
    ),
    "no mapping": ("- 1", "contains no settings"),
    "a table twice": (GOOD.replace('"Shop"."Mixed Case"', "SHOP.ORDERS"), "listed twice"),
    "a target twice": (GOOD.replace("target: mixed", "target: shop/orders"), "its own folder"),
    "a target in another": (
        GOOD.replace("target: mixed", "target: shop//orders/x/"),
        "its own folder",
    ),
    "another pipeline's target": (GOOD + GOOD.removeprefix("\npipelines:\n").replace("shop:", "more:"), "its own folder"),
    "another name": (GOOD.replace("shop:", "shop:\n    name: other"), "the key is the pipeline's name"),
    "a name that is no DAG id": (GOOD.replace("shop:", "my-shop:"), "letters, digits"),
    "a scale beyond 38": (GOOD.replace("RATE: 4", "RATE: 39"), "between 0 and 38"),
    "a key of one word": (GOOD.replace("target: mixed", "target: mixed, key: code"), "write primary, rowid, append, or"),
    "a key of nothing": (GOOD.replace("target: mixed", "target: mixed, key: []"), "not a key"),
    "a key with a column twice": (GOOD.replace("target: mixed", "target: mixed, key: [a, A]"), "not a key"),
    "hours that are none": (GOOD + '    resnapshot: {hours_utc: "22"}\n', "write two hours of the day in UTC from 00 to 23"),
    "a policy without a value": (GOOD + "    on_ddl: {truncate: maybe}\n", "'follow', 'keep' or 'hold'"),
    "a landing that cannot keep two writers apart": (GOOD.replace("landing: ", "landing: hdfs://"), "both can succeed"),
    "a lake below each process's own folder": (GOOD.replace("lake: /lake/", "lake: k2"), "k2 is not absolute"),
    "a landing below each process's own folder": (GOOD.replace("${ROOT}/landing", "./landing"), "./landing is not absolute"),
    "a lake whose name is a pattern": (GOOD.replace("lake: /lake/", "lake: '/lake[1]'"), "contains ["),
    "a landing that a URL reads as another": (GOOD.replace("${ROOT}/landing", "/pre%20x"), "contains %"),
    "an absolute target": (GOOD.replace("target: mixed", "target: /etc"), "is not below `lake`"),
    "a target outside of the lake": (GOOD.replace("target: mixed", "target: ../../etc"), "contains `.` or `..`"),
    "a target among the shadows": (GOOD.replace("target: mixed", "target: _shadow/1-2/shop/orders"), "Spark hides"),
    "a target that differs by case from another's": (GOOD.replace("target: mixed", "target: Shop/Orders"), "its own folder"),
    "two names that are one in lower case": (
        GOOD.replace('"Shop"."Mixed Case"', '"shop"."Orders"').replace(", target: mixed", ""),
        "its own folder",
    ),
    "a landing in the folder of a table": (GOOD.replace("${ROOT}/landing", "/lake/mixed"), "the landing of shop"),
    "a table in the landing": (GOOD.replace("lake: /lake/", "lake: ${ROOT}/landing/shop"), "the landing of shop"),
    "a property that says whose the table is": (GOOD + "    properties: {redolake.pipeline: other}\n", "whose the table is"),
    "a ledger below each process's own folder": (GOOD + "    ledger: {url: 'sqlite:///x.db'}\n", "is not absolute"),
    "a standby that is its own primary": (
        GOOD.replace("{connection: oracle_shop", "{connection: oracle_shop, primary: oracle_shop"),
        "`primary` is `connection`",
    ),
    "two ledgers": (GOOD + "    ledger: {url: 'sqlite:///x', connection: y}\n", "not both"),
}


@pytest.mark.parametrize(("text", "what"), WRONG.values(), ids=WRONG)
def test_an_invalid_file_is_refused_with_its_reason(text: str, what: str) -> None:
    found = findings_of(text, ROOT="/data").values()
    assert any(what in one for one in found)
    assert not any("\\n" in one for one in found)


@pytest.mark.parametrize("landing", ["/my data/a+b", "/a@b/c=d;e&f", "/\u00e9", "file:///data/landing/"])
def test_the_default_ledger_is_in_the_landing_whatever_its_name(landing: str) -> None:
    pipeline = parse_configuration(GOOD.replace("${ROOT}/landing", landing), {}).pipelines["shop"]

    folder = landing.removeprefix("file://").rstrip("/")
    assert make_url(pipeline.ledger_url).database == f"{folder}/redolake-ledger.db"
    assert pipeline.ledger_url == f"sqlite:///{folder}/redolake-ledger.db"  # SQLAlchemy 2.0 does not read what is quoted there


@pytest.mark.parametrize("landing", ["s3://bucket/landing", "abfss://lake@account/landing"])
def test_the_default_ledger_is_refused_beside_a_landing_that_several_hosts_reach(landing: str) -> None:
    text = f"pipelines: {{shop: {{source: {{connection: x}}, landing: '{landing}', lake: /lake, tables: [SHOP.ORDERS]}}}}"

    with pytest.raises(ConfigurationError, match=r"SQLite file on each host: set `ledger\.connection`"):
        parse_configuration(text, {})

    shared = text.replace("lake: /lake", "lake: /lake, ledger: {url: 'postgresql+psycopg://db/ledger'}")
    assert parse_configuration(shared, {}).pipelines["shop"].landing == landing


def test_errors_are_in_plain_words_at_the_place_in_the_file():
    text = """
    pipelines:
      shop:
        source: {connection: x}
        landing: /l
        lake: /d
        schedul: x
        parallel_sessions: many
        new_tables: maybe
        tables:
          - SHOP.*
          - "!SHOP.TMP_*"
          - {table: SHOP.ORDERS, kee: primary, columns: {A: 3.5}}
          - {match: "HR.*", key: 5}
          - {match: "!HR.X", key: rowid}
          - {match: "*.X"}
    """

    found = {where.removeprefix("pipelines.shop."): what for where, what in findings_of(text).items()}

    assert found.pop("tables[3].key").startswith("not a key: write primary, rowid, append")
    assert found.pop("tables[2].columns.A").startswith("not a rule: write string")
    assert found == {
        "schedul": "is no setting",
        "parallel_sessions": "must be a whole number",
        "new_tables": "must be 'announce' or 'capture'",
        "tables[2].kee": "is no setting",
        "tables[4]": "!HR.X excludes tables, so it takes no other settings",
        "tables[5]": "*.X names no owner: the tables of Oracle's own users would match too",
    }


def test_a_pipeline_can_be_written_to_a_file_and_read_again() -> None:
    """The tests that kill processes hand their pipeline over in a file."""
    pipeline = parse_configuration(GOOD, {"ROOT": "/data"}).pipelines["shop"]

    body = pipeline.model_dump(mode="json", exclude_unset=True)

    assert type(pipeline).model_validate(body).model_dump(mode="json", exclude_unset=True) == body


def test_a_table_has_its_own_policies_at_ddl_and_the_pipelines_for_the_rest() -> None:
    text = (
        GOOD.replace("target: mixed", "target: mixed, on_ddl: {truncate: keep}")
        + "    on_ddl: {truncate: follow, narrow: follow}\n"
    )
    pipeline = parse_configuration(text, {"ROOT": "/data"}).pipelines["shop"]
    orders, mixed = (pipeline.ddl_policies(table.id) for table in pipeline.tables)

    assert (orders.truncate, orders.narrow, orders.rename_column) == ("follow", "follow", "follow")
    assert (mixed.truncate, mixed.narrow, mixed.rename_column) == ("keep", "follow", "follow")


def test_a_table_has_its_own_limits_for_reading_it_again_and_the_pipelines_for_the_rest() -> None:
    text = GOOD.replace("target: mixed", "target: mixed, resnapshot: {max_rows: 5}") + '    resnapshot: {hours_utc: "22-05"}\n'
    pipeline = parse_configuration(text, {"ROOT": "/data"}).pipelines["shop"]
    orders, mixed = (pipeline.settings(table.id).resnapshot for table in pipeline.tables)

    assert (orders.max_rows, orders.hours_utc) == (1_000_000, "22-05")
    assert (mixed.max_rows, mixed.hours_utc) == (5, "22-05")


def test_a_table_is_read_again_by_itself_only_where_a_policy_says_so() -> None:
    of_one_table = GOOD.replace("target: mixed", "target: mixed, on_ddl: {recreate: resnapshot}")
    found = [parse_configuration(text, {"ROOT": "/data"}).pipelines["shop"].may_resnapshot for text in (GOOD, of_one_table)]

    assert found == [False, True]


def test_a_tables_own_settings_of_the_lake_count_before_the_pipelines():
    shop = parse_configuration(
        """
        pipelines:
          shop:
            source: {connection: c}
            landing: /landing
            lake: /lake
            column_names: lower
            change_data_feed: true
            properties: {delta.logRetentionDuration: interval 60 days, owner: us}
            tables:
              - A.T
              - {table: A.U, column_names: as_is, metadata_columns: [], deletes: mark, change_data_feed: false, readers: any,
                 cluster_by: [id, '"x"'], properties: {owner: them}}
        """,
        {},
    ).pipelines["shop"]

    plain, own = (shop.target_options(table.id) for table in shop.tables)
    assert (plain.name("ID"), plain.own_columns, plain.readers) == ("id", ("_commit_scn",), "spark")
    assert dict(plain.properties)["delta.enableChangeDataFeed"] == "true"
    assert (own.name("ID"), own.own_columns, own.readers) == ("ID", ("_deleted",), "any")
    assert own.cluster_by == ("ID", "x")
    assert dict(own.properties) == {"delta.logRetentionDuration": "interval 60 days", "owner": "them"}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("properties: {delta.columnMapping.mode: name}", "not for `properties`"),
        ("properties: {delta.enableChangeDataFeed: 'true'}", "change_data_feed"),
        ("properties: {Delta.APPENDonly: 'true'}", "no row could be changed"),
        ("properties: {delta.constraints.few: id < 5}", "Oracle decides which rows there are"),
        ("properties: {delta.setTransactionRetentionDuration: interval 7 days}", "forget how far an idle table is applied"),
        ("properties: {delta.coordinatedCommits.commitCoordinator-preview: x}", "where Redolake does not read them"),
        ("properties: {delta.redirectReaderWriter-preview: x}", "where Redolake does not read them"),
        ("properties: {delta.enableIcebergCompatV2: 'true'}", "forbids deletion vectors"),
        ("properties: {delta.universalFormat.enabledFormats: iceberg}", "forbids deletion vectors"),
        ("properties: {delta.compatibility.symlinkFormatManifest.enabled: 'true'}", "forbids deletion vectors"),
        ("properties: {delta.ignoreProtocolDefaults: 'true'}", "`readers` decides on features"),
        ("cluster_by: [A], partition_by: [B]", "not both"),
        ("metadata_columns: [_commit_scm]", "_commit_scn"),
    ],
)
def test_settings_of_the_lake_that_cannot_be_followed_are_refused(wrong, said):
    with pytest.raises(ConfigurationError, match=said):
        parse_configuration(
            f"pipelines: {{shop: {{source: {{connection: c}}, landing: /a, lake: /b, tables: [{{table: A.T, {wrong}}}]}}}}", {}
        )


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("spark.sql.timestampType", "TIMESTAMP_NTZ", "stays TIMESTAMP_LTZ"),
        ("spark.sql.ansi.enabled", "false", "stays true"),
        ("spark.sql.files.ignoreCorruptFiles", "true", "leave out rows"),
        ("spark.databricks.delta.properties.defaults.appendOnly", "true", "no row could be changed"),
        ("spark.databricks.delta.properties.defaults.setTransactionRetentionDuration", "interval 1 day", "would forget"),
    ],
)
def test_settings_of_spark_that_would_change_values_or_tables_are_refused(name: str, value: str, why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        SparkSettings(conf={name: value})


def test_where_rows_are_kept_is_a_setting_of_spark() -> None:
    assert SparkSettings(conf={"a": "b"}).settings == {"a": "b"}
    assert SparkSettings(conf={"a": "b"}, kept="replicated").settings == {"a": "b", "spark.redolake.kept": "replicated"}
    with pytest.raises(ValidationError, match="`kept` says it"):
        SparkSettings(conf={"spark.redolake.kept": "local"})
    assert SparkSettings(few_changes="direct").settings == {"spark.redolake.fewChanges": "direct"}
    with pytest.raises(ValidationError, match="`few_changes` says it"):
        SparkSettings(conf={"spark.redolake.fewChanges": "direct"})
    with pytest.raises(ValidationError):
        SparkSettings(kept="somewhere")


def test_other_settings_of_spark_are_passed_on() -> None:
    given = {
        "spark.sql.timestampType": "timestamp_ltz",
        "spark.databricks.delta.properties.defaults.autoOptimize.optimizeWrite": "true",
        "spark.sql.shuffle.partitions": "8",
    }

    assert SparkSettings(conf=given).conf == given


def test_what_a_call_within_a_step_has_tried_often_is_not_tried_as_often_by_each_attempt_of_the_step() -> None:
    retry, tries = Retry(attempts=3, initial_seconds=0.001, max_seconds=0.001), []

    def connect() -> None:
        tries.append(1)
        raise SourceUnavailable("no listener")

    with pytest.raises(SourceUnavailable):
        retry.call(lambda: retry.call(connect))
    assert len(tries) == 3

    with pytest.raises(SourceUnavailable):  # what leaves it to the step
        retry.call(lambda: Retry(attempts=1).call(connect))
    assert len(tries) == 6
