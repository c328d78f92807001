"""Preflight reports every problem at once, each with the statement that fixes it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from redolake.errors import Finding
from redolake.source.capture_findings import ConfiguredTable
from redolake.source.facts import DatabaseFacts
from redolake.source.preflight import OpenedLog, ProbeResult, preflight_findings, preflight_notes
from redolake.source.stored_objects import StoredObject
from redolake.source.supplemental import LoggedColumns
from redolake.values.dictionary_table import DictionaryColumn, DictionaryTable
from redolake.values.redo import Encoding, Incarnation, LogCopy, LogFile, RedoFacts, RedoThread
from redolake.values.scn import Scn
from redolake.values.table import PRIMARY, ColumnChoice, KeyPolicy, OracleType, Part, TableId, UniqueIndex

ORDERS = TableId("SHOP", "ORDERS")
DATABASE = DatabaseFacts(
    7, "FREE", "ARCHIVELOG", "YES", "YES", frozenset(), True, "PRIMARY", "READ WRITE", "19.23.0.0.0",
    {"archive_lag_target": "300"},
)  # fmt: skip
TABLE = DictionaryTable(
    ORDERS, 1, 1, (DictionaryColumn("ID", OracleType("NUMBER"), 1, 1, False),), ("ID",), frozenset({"ALL COLUMN LOGGING"}),
    Scn(1), Scn(2),
)  # fmt: skip
ENCODING = Encoding("AL32UTF8", "AL16UTF16")
GOOD = ProbeResult(DATABASE, (), "PDB1", {"PDB1": "READ WRITE"}, 5, {ORDERS: TABLE}, {}, encoding=ENCODING)


def supported(kind, rule, large_objects):
    return "is not captured yet" if kind.name == "CLOB" else None


def findings(probed, *wanted):
    return preflight_findings(probed, wanted or (ConfiguredTable(ORDERS),), supported)


def test_a_correct_source_has_no_findings():
    assert findings(GOOD) == ()


def with_database(**changes):
    return replace(GOOD, database=replace(DATABASE, **changes))


def with_table(**changes):
    return replace(GOOD, tables={ORDERS: replace(TABLE, **changes)})


CLOB = DictionaryColumn("NOTE", OracleType("CLOB"), 2, 2, True)
LONG_NAME = DictionaryColumn("N" * 31, OracleType("NUMBER"), 2, 2, True)
EXTENDED = DictionaryColumn("NOTE", OracleType("EXTENDED VARCHAR2", length=4000), 2, 2, True, bytes=16000)
PERIOD = DictionaryColumn("VALID", OracleType("NUMBER"), None, None, True, hidden=True, virtual=True, user_generated=False)
STORAGE = DictionaryColumn("SYS_NC00003$", OracleType("BLOB"), 2, None, True, hidden=True, user_generated=False)
CASES = {
    "no archiving": (with_database(log_mode="NOARCHIVELOG"), "ALTER DATABASE ARCHIVELOG", "error"),
    "no minimal logging": (with_database(supplemental_min="NO"), "ADD SUPPLEMENTAL LOG DATA", "error"),
    "a logical standby": (with_database(role="LOGICAL STANDBY"), "physical standby", "error"),
    "a mounted database": (with_database(open_mode="MOUNTED"), "ALTER DATABASE OPEN", "error"),
    "NOLOGGING loads": (with_database(force_logging="NO"), "FORCE LOGGING", "warning"),
    "no keep time for control file records": (
        with_database(parameters={"archive_lag_target": "300", "control_file_record_keep_time": "0"}),
        "CONTROL_FILE_RECORD_KEEP_TIME = 7",
        "warning",
    ),
    "no lag target": (with_database(parameters={}), "ARCHIVE_LAG_TARGET = 300", "warning"),
    "a container in a database that has none": (with_database(is_cdb=False), "remove `container`", "error"),
    "no container in a database that has some": (replace(GOOD, container=None), "one of: PDB1", "error"),
    "a misspelt container": (replace(GOOD, container="PDB2"), "one of PDB1", "error"),
    "a closed container": (replace(GOOD, visible_containers={"PDB1": "MOUNTED"}), "PLUGGABLE DATABASE PDB1 OPEN", "error"),
    "another container that is closed": (
        replace(GOOD, visible_containers={"PDB1": "READ WRITE", "PDB2": "MOUNTED"}),
        "PLUGGABLE DATABASE PDB2 OPEN",
        "warning",
    ),
    "containers not visible": (replace(GOOD, visible_tables=0), "CONTAINER_DATA = ALL", "error"),
    "a table without a key": (with_table(key=()), "ADD PRIMARY KEY", "error"),
    "a partitioned table": (with_table(partitioned=True), "SELECT ANY DICTIONARY", "error"),
    "an index-organized table": (with_table(iot=True), "SELECT ANY DICTIONARY", "error"),
    "columnar compression": (with_table(columnar=True), "COMPRESS ADVANCED", "error"),
    "a hybrid partitioned table": (with_table(hybrid=True), "remove it", "error"),
    "an external table": (with_table(external=True), "remove it", "error"),
    "a temporary table": (with_table(temporary=True), "remove it", "error"),
    "a column of a type that is not supported": (with_table(columns=(*TABLE.columns, CLOB)), "drop or move", "error"),
    "a long name": (with_table(columns=(*TABLE.columns, LONG_NAME)), "shorter names", "error"),
    "a long owner": (with_table(table=TableId("O" * 31, "ORDERS")), "shorter names", "error"),
    "a 32K text": (with_table(columns=(*TABLE.columns, EXTENDED)), "`unsupported_columns: reread`", "error"),
    "a 32K raw": (
        with_table(columns=(*TABLE.columns, replace(EXTENDED, type=OracleType("EXTENDED RAW", length=2001), bytes=2001))),
        "`unsupported_columns: reread`",
        "error",
    ),
    "a primary key of a virtual column": (
        with_table(columns=tuple(replace(c, virtual=True, segment_id=None) for c in TABLE.columns)),
        "declare a key",
        "error",
    ),
    "a valid-time period": (with_table(columns=(*TABLE.columns, PERIOD)), "remove SHOP.ORDERS", "error"),
    "the storage of an XMLTYPE": (with_table(columns=(*TABLE.columns, STORAGE)), "remove SHOP.ORDERS", "error"),
    "an invisible column of a type that is not supported": (
        with_table(columns=(*TABLE.columns, replace(CLOB, hidden=True, column_id=None))),
        "drop or move",
        "error",
    ),
    "a misspelt table": (
        replace(GOOD, tables={}, tables_of_owner={"SHOP": ("ORDER", "CUSTOMERS")}),
        "did you mean SHOP.ORDER?",
        "error",
    ),
    "an owner without tables": (replace(GOOD, tables={}, tables_of_owner={"SHOP": ()}), "correct the owner", "error"),
}


@pytest.mark.parametrize(("probed", "cure", "severity"), CASES.values(), ids=CASES)
def test_preflight_finds(probed, cure, severity):
    found = findings(probed)

    assert len(found) == 1, found
    assert cure in found[0].cure
    assert found[0].severity == severity


@pytest.mark.parametrize(("forced", "severities"), [("YES", []), ("NO", ["warning", "error"])])
def test_a_nologging_table_is_refused_unless_the_database_forces_logging(forced, severities):
    probed = replace(with_database(force_logging=forced), tables={ORDERS: replace(TABLE, logging=False)})

    found = findings(probed)

    assert [f.severity for f in found] == severities
    assert all("FORCE LOGGING" in f.cure for f in found)


CODE, DAY = (DictionaryColumn(n, OracleType("VARCHAR2", 9), i, i, False) for i, n in ((2, "CODE"), (3, "DAY")))
MAYBE = replace(DAY, name="MAYBE", nullable=True)
BY_CODE_AND_DAY = UniqueIndex("BY_CODE", 9, ("CODE", "DAY"))
KEYLESS = with_table(
    columns=(*TABLE.columns, CODE, DAY, MAYBE), key=(), unique=(BY_CODE_AND_DAY, UniqueIndex("BY_MAYBE", 10, ("CODE", "MAYBE")))
)
KEYS = {
    "none declared and no primary key": (PRIMARY, ["`key: [CODE, DAY]`", "`key: rowid`", "`key: append`"]),
    "columns, one of them nullable": (KeyPolicy("columns", ("CODE", "MAYBE")), ["MODIFY (.. NOT NULL)", "`key: rowid`"]),
    "part of an index": (KeyPolicy("columns", ("CODE",)), ["`key: [CODE, DAY]`"]),
    "an unknown column": (KeyPolicy("columns", ("CODE", "DAX")), ["`key: [CODE, DAY]`"]),
    "columns of a unique index, in another order": (KeyPolicy("columns", ("DAY", "CODE")), []),
    "ROWID": (KeyPolicy("rowid"), []),
    "only appends": (KeyPolicy("append"), []),
}


@pytest.mark.parametrize(("key", "named"), KEYS.values(), ids=KEYS)
def test_a_key_that_does_not_identify_rows_is_reported_with_keys_that_do(key, named):
    found = findings(KEYLESS, ConfiguredTable(ORDERS, key=key))

    assert len(found) == bool(named), found
    assert all(part in found[0].cure for part in named)
    assert not any("MAYBE" in f.cure for f in found)


KEY, ALL = LoggedColumns.KEY, LoggedColumns.ALL


def logged(table=(), database=(), container=(), key=("ID",)):
    """Return a source with these logging levels on table, database and container."""
    groups = frozenset(f"{'ALL COLUMN' if level is ALL else 'PRIMARY KEY'} LOGGING" for level in table)
    probed = with_table(log_groups=groups | {"UNIQUE KEY LOGGING"}, key=key)
    asked = None if container is None else frozenset(container)
    return replace(probed, database=replace(DATABASE, supplemental=frozenset(database)), container_logging=asked)


ENOUGH = {
    "the table's key": (logged(table=[KEY]), "the primary key, set on the table"),
    "all of the table": (logged(table=[ALL]), "all columns, set on the table"),
    "keys of the database": (logged(database=[KEY]), "the primary key, set on the database"),
    "all of the database": (logged(table=[KEY], database=[ALL]), "all columns, set on the database"),
    "keys of the container": (logged(container=[KEY]), "the primary key, set on its container"),
    "all of the container": (logged(container=[ALL], database=[KEY]), "all columns, set on its container"),
    "the container's is not readable": (logged(table=[KEY], container=None), "the primary key, set on the table"),
}


@pytest.mark.parametrize(("probed", "note"), ENOUGH.values(), ids=ENOUGH)
def test_logging_of_the_key_is_enough_at_any_level_and_is_noted(probed, note):
    assert findings(probed) == ()
    assert [str(found) for found in preflight_notes(probed)] == [f"SHOP.ORDERS: supplemental logging of {note}"]


def test_a_table_without_logging_gets_the_cheapest_cure_first():
    (found,) = findings(logged())

    assert (found.severity, "SYS.DBA_SUPPLEMENTAL_LOGGING" in found.what) == ("error", False)
    at = [
        found.cure.index(part)
        for part in (
            'ALTER TABLE "SHOP"."ORDERS" ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS',
            "ALTER DATABASE ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS",
            "(ALL)",
        )
    ]
    assert at == sorted(at)
    assert list(preflight_notes(logged())) == []


def test_an_unreadable_container_setting_is_reported_with_the_missing_grant():
    (found,) = findings(logged(container=None))

    assert "GRANT SELECT ON SYS.DBA_SUPPLEMENTAL_LOGGING" in found.what


@pytest.mark.parametrize("key", [KeyPolicy("rowid"), KeyPolicy("append")], ids=str)
@pytest.mark.parametrize("primary", [("ID",), ()], ids=["with a primary key", "without one"])
def test_a_table_with_another_key_than_the_primary_needs_all_columns(key, primary):
    of_key, of_all = (logged(table=[level], database=[KEY], key=primary) for level in (KEY, ALL))

    assert [f.cure for f in findings(of_key, ConfiguredTable(ORDERS, key=key))] == [
        'ALTER TABLE "SHOP"."ORDERS" ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS; take the snapshot afterwards'
    ]
    assert findings(of_all, ConfiguredTable(ORDERS, key=key)) == ()


def test_a_rule_for_an_unknown_column_is_reported():
    found = findings(GOOD, ConfiguredTable(ORDERS, {"IT": "string"}))

    assert [f.subject for f in found] == ["SHOP.ORDERS.IT"]


def test_missing_privileges_are_reported_with_everything_else():
    refused = Finding("statement redo_threads", "ORA-00942", "GRANT SELECT ON SYS.V_$THREAD TO C##CDC")

    found = findings(replace(with_database(log_mode="NOARCHIVELOG"), refused=(refused,)))

    assert found[0] == refused
    assert len(found) == 2


def opened(thread, dest_id, refused=None):
    return OpenedLog(thread, 7, dest_id, f"/arch{dest_id}/{thread}_7.arc", refused)


@pytest.mark.parametrize(
    ("logs", "expected"),
    [
        # every copy of both threads can be read
        ((opened(1, 1), opened(2, 1)), []),
        # the other instance archives to a disk of its own
        ((opened(1, 1), opened(2, 1, "ORA-01284")), [("redo thread 2", "error")]),
        # one of two destinations can be read
        ((opened(1, 1), opened(2, 1, "ORA-01284"), opened(2, 2)), [("redo thread 2", "warning")]),
        # none of two
        ((opened(2, 1, "ORA-00308"), opened(2, 2, "ORA-00308")), [("redo thread 2", "error")] * 2),
    ],
    ids=["all readable", "a disk of its own", "one of two", "none of two"],
)
def test_a_destination_that_this_instance_cannot_read_is_reported(logs, expected):
    found = findings(replace(GOOD, newest_logs=logs))

    assert [(f.subject, f.severity) for f in found] == expected
    assert all("ASM" in f.cure and "archived log 7" in f.what for f in found)


def test_the_notes_describe_the_source_and_what_is_not_visible():
    incarnation = Incarnation(77, Scn(5), "CURRENT", Scn(0))
    log = LogFile(1, 7, 77, Scn(10), Scn(20), (LogCopy(1, "/a/7.arc", "A"),), 1, datetime(2026, 3, 1, 4, 5))
    threads = (RedoThread(1, True, "PUBLIC", None, None, None, "one"), RedoThread(2, False, "PUBLIC", None, None, None, "two"))
    facts = RedoFacts(9, Scn(30), threads, (log,), (), (incarnation,))

    notes = [str(note) for note in preflight_notes(replace(GOOD, redo=facts, encoding=replace(ENCODING, time_zone="+02:00")))]

    for part in (
        "19.23.0.0.0, character sets AL32UTF8 and AL16UTF16, time zone +02:00",
        "DBID 9, incarnation with resetlogs id 77",
        "1 OPEN (one), 2 CLOSED (two)",
        "since 2026-03-01 04:05",
        "RMAN",
    ):
        assert any(part in note for note in notes), part


def test_columns_that_are_not_captured_are_noted():
    virtual = DictionaryColumn("TWICE", OracleType("NUMBER"), None, 2, True, virtual=True)
    guard = DictionaryColumn("SYS_NC00003$", OracleType("RAW", length=126), 2, None, True, hidden=True, user_generated=False)
    probed = with_table(columns=(*TABLE.columns, virtual, guard))

    assert not findings(probed)
    notes = [str(note) for note in preflight_notes(probed)]
    assert "SHOP.ORDERS: virtual columns are not captured: TWICE" in notes
    assert "SHOP.ORDERS: hidden columns of Oracle's own are not captured: SYS_NC00003$" in notes


def test_columns_that_may_be_left_out_are_notes_and_those_of_the_key_are_errors():
    xml = DictionaryColumn("DOC", OracleType("XMLTYPE"), None, 3, True, virtual=True)
    stored = DictionaryColumn("SYS_NC00003$", OracleType("BLOB"), 3, 3, True, hidden=True, user_generated=False)
    probed = with_table(columns=(*TABLE.columns, CLOB, xml, stored))

    def texts(choice):
        found = findings(probed, ConfiguredTable(ORDERS, choice=choice))
        return [(f.subject, f.severity) for f in found]

    assert texts(ColumnChoice()) == [("SHOP.ORDERS.SYS_NC00003$", "error"), ("SHOP.ORDERS.NOTE", "error")]
    left_out = [("SHOP.ORDERS.NOTE", "note"), ("SHOP.ORDERS.DOC", "note")]
    assert texts(ColumnChoice(unsupported="exclude")) == left_out
    assert texts(ColumnChoice(("NOTE", "D?C"))) == left_out
    assert texts(ColumnChoice(include=("I*",))) == left_out
    assert texts(ColumnChoice(("I*", "NOTE", "DOC")))[0] == ("SHOP.ORDERS", "error")
    assert ("SHOP.ORDERS", "warning") in texts(ColumnChoice(("NOTE", "DOC", "NEVER")))


XML = DictionaryColumn("DOC", OracleType("XMLTYPE"), None, 3, True, virtual=True)
XML_STORED = DictionaryColumn("SYS_NC00003$", OracleType("BLOB"), 3, 3, True, hidden=True, user_generated=False)
SWITCH = DictionaryColumn("IS_ON", OracleType("BOOLEAN"), 4, 4, True)
REREAD = ColumnChoice(unsupported="reread")
REDO = ColumnChoice(large_objects="redo")
UNSHOWN = {
    "an XMLTYPE, stored in a hidden column": (with_table(columns=(*TABLE.columns, XML, XML_STORED)), []),
    "a 32K text": (with_table(columns=(*TABLE.columns, EXTENDED)), []),
    "a BOOLEAN, which makes whole rows UNSUPPORTED": (with_table(columns=(*TABLE.columns, SWITCH)), []),
    "an index-organized table": (with_table(columns=(*TABLE.columns, SWITCH), iot=True, parts=(Part(8),)), ["by ROWID"]),
}


@pytest.mark.parametrize(("probed", "errors"), UNSHOWN.values(), ids=UNSHOWN)
def test_a_table_that_logminer_does_not_show_is_accepted_where_its_rows_are_read_again(probed, errors):
    found = findings(probed, ConfiguredTable(ORDERS, choice=REREAD))
    shown = [f.what for f in found if f.severity == "error"]

    assert len(shown) == len(errors)
    assert all(text in what for what, text in zip(shown, errors, strict=True))
    assert bool(errors) or any("read again whole" in f.what for f in found)
    assert [f.severity for f in findings(probed) if f.severity == "error"], "without the setting it is refused"


POINTER = DictionaryColumn("PLACE", OracleType("UROWID"), 4, 4, True)


def test_a_urowid_is_told_of_before_its_first_value_with_what_reads_it():
    probed = with_table(columns=(*TABLE.columns, POINTER))
    (warned,) = findings(probed)
    (of_index,) = findings(with_table(columns=(*TABLE.columns, POINTER), iot=True, parts=(Part(8),)))

    assert (warned.subject, warned.severity) == ("SHOP.ORDERS.PLACE", "warning")
    assert "Unsupported Type" in warned.what
    assert "`unsupported_columns: reread`" in warned.cure
    assert "reread" not in of_index.cure  # by ROWID, which its rows do not have
    for choice in (REREAD, ColumnChoice(("PLACE",))):
        assert [f.severity for f in findings(probed, ConfiguredTable(ORDERS, choice=choice))] == ["note"], choice


BELOW_THE_MICROSECOND = {
    "TIMESTAMP(7)": (OracleType("TIMESTAMP", scale=7), None, "`truncate`"),
    "TIMESTAMP(9)": (OracleType("TIMESTAMP", scale=9), None, "`truncate`"),
    "with a zone": (OracleType("TIMESTAMP WITH TIME ZONE", scale=9), None, "`truncate`"),
    "local": (OracleType("TIMESTAMP WITH LOCAL TIME ZONE", scale=8), None, "`truncate`"),
    "an interval as a number": (OracleType("INTERVAL DAY TO SECOND", scale=7), "microseconds", "`string`"),
    "an interval as text": (OracleType("INTERVAL DAY TO SECOND", scale=9), None, None),
    "kept as text": (OracleType("TIMESTAMP", scale=9), "string", None),
    "truncated": (OracleType("TIMESTAMP", scale=9), "truncate", None),
    "TIMESTAMP(6)": (OracleType("TIMESTAMP", scale=6), None, None),
}


@pytest.mark.parametrize(("type_", "rule", "cure"), BELOW_THE_MICROSECOND.values(), ids=BELOW_THE_MICROSECOND)
def test_digits_that_the_lake_cannot_hold_are_told_of_before_the_first_row(type_, rule, cure):
    probed = with_table(columns=(*TABLE.columns, DictionaryColumn("AT", type_, 4, 4, True)))
    found = findings(probed, ConfiguredTable(ORDERS, {} if rule is None else {"AT": rule}))

    assert [(f.subject, f.severity) for f in found] == ([("SHOP.ORDERS.AT", "warning")] if cure else [])
    assert all(cure in f.cure and "`string`" in f.cure for f in found)


def test_documents_can_be_assembled_with_a_warning_or_left_out():
    probed = with_table(columns=(*TABLE.columns, XML, XML_STORED))
    captured = findings(probed, ConfiguredTable(ORDERS, choice=REDO))
    left_out = findings(probed, ConfiguredTable(ORDERS, choice=replace(REDO, exclude=("DOC",))))

    assert [f.severity for f in captured if f.severity != "note"] == ["warning", "warning"]
    assert any("COMMITTED_DATA_ONLY" in f.what for f in captured)
    assert [(f.subject, f.severity) for f in left_out] == [("SHOP.ORDERS.DOC", "note")]


@pytest.mark.parametrize("choice", [REREAD, REDO], ids=["read again", "assembled"])
def test_the_storage_of_an_xmltype_is_a_part_of_it(choice):
    table = with_table(columns=(*TABLE.columns, XML, XML_STORED)).tables[ORDERS]

    chosen = table.chosen(choice, PRIMARY, lambda column: False)

    assert [(c.name, c.segment_id) for c in chosen.captured if c.name == "DOC"] == [("DOC", 0)]
    assert [(c.segment_id, c.kind, c.part_of) for c in chosen.ignored] == [(3, "system", "DOC")]


@pytest.mark.parametrize("type_", ["BFILE", "NESTED TABLE", "VARRAY", "REF"])
def test_a_left_out_column_that_may_hide_all_changes_is_warned_of(type_):
    probed = with_table(columns=(*TABLE.columns, replace(SWITCH, type=OracleType(type_))))

    found = findings(probed, ConfiguredTable(ORDERS, choice=ColumnChoice(("IS_ON",))))

    assert [f.severity for f in found if "LogMiner ignores" in f.what] == ["warning"]


BODY = DictionaryColumn("BODY", OracleType("CLOB"), 2, 2, True)
ASSEMBLED = ConfiguredTable(ORDERS, choice=ColumnChoice(large_objects="redo"))
STORED = {
    "logged": (StoredObject("BODY", True, True), "NO", "note", "each write, trim and erase of the SecureFile"),
    "not logged": (StoredObject("BODY", False, False), "NO", "error", "large objects are stored NOLOGGING, "),
    "not logged, but the database forces it": (StoredObject("BODY", False, False), "YES", "note", "of the BasicFile"),
    "a BasicFile outside the row": (StoredObject("BODY", False, True, (), False), "NO", "error", "BasicFiles with DISABLE "),
    "a SecureFile outside the row": (StoredObject("BODY", True, True, (), False), "NO", "note", "of the SecureFile"),
    "fragments": (StoredObject("BODY", True, True, ("compressed", "encrypted")), "NO", "error", "compressed and encrypted, "),
}


def any_type(kind, rule, choice):
    return None


@pytest.mark.parametrize("case", STORED)
def test_how_large_objects_are_stored_decides_whether_the_redo_has_them(case):
    stored, force_logging, severity, what = STORED[case]
    probed = replace(with_table(columns=(*TABLE.columns, BODY)), stored_objects={ORDERS: (stored,)})
    probed = replace(probed, database=replace(DATABASE, force_logging=force_logging))
    found = preflight_findings(probed, (ASSEMBLED,), any_type)

    (of_object,) = [one for one in found if one.subject == "SHOP.ORDERS.BODY"]
    assert of_object.severity == severity
    assert what in of_object.what
    assert any("a savepoint or a failed statement took back" in one.what for one in found if one.severity == "warning")


def test_large_objects_of_an_index_organized_table_are_not_assembled():
    probed = with_table(columns=(*TABLE.columns, BODY), iot=True, parts=(Part(8),))
    found = preflight_findings(probed, (ASSEMBLED,), any_type)

    assert ["not assembled from the redo" in one.what for one in found if one.severity == "error"] == [True]


STAMPED = with_table(columns=(*TABLE.columns, *(
    DictionaryColumn(f"T{scale}", OracleType("TIMESTAMP", scale=scale), 9 + scale, 9 + scale, False) for scale in (6, 9)
), CODE))  # fmt: skip
WITH_CODE = replace(STAMPED, tables={ORDERS: replace(STAMPED.tables[ORDERS], unique=(
    UniqueIndex("BY_T9", 9, ("T9", "CODE")), UniqueIndex("BY_T6", 10, ("T6",))
))})  # fmt: skip


@pytest.mark.parametrize(
    ("key", "primary", "rules", "said"),
    [
        (PRIMARY, ("T9",), {"T9": "truncate"}, "T9: is part of the key, and has the rule `truncate`"),
        (PRIMARY, ("ID", "T9"), {"T9": "truncate"}, "T9: is part of the key"),
        (KeyPolicy("columns", ("T9", "CODE")), ("ID",), {"T9": "truncate"}, "T9: is part of the key"),
        (KeyPolicy("columns", ("T9", "CODE")), ("ID",), {"CODE": "replace"}, "CODE: is part of the key"),
        (KeyPolicy("columns", ("T6",)), ("ID",), {"T6": "truncate", "T9": "truncate", "CODE": "replace"}, None),
        (PRIMARY, ("T9",), {"T9": "string"}, None),
        (KeyPolicy("rowid"), ("T9",), {"T9": "truncate"}, None),
    ],
)  # fmt: skip
def test_a_rule_that_makes_two_values_one_is_refused_on_each_key(key, primary, rules, said):
    probed = replace(WITH_CODE, tables={ORDERS: replace(WITH_CODE.tables[ORDERS], key=primary)})

    found = [str(f) for f in findings(probed, ConfiguredTable(ORDERS, rules, key)) if f.severity == "error"]

    assert [said is not None and said in one for one in found] == [True] * (said is not None), found
