"""parse_redo_sql: statements become assignments, and a malformed one does not affect other rows."""

import pyarrow as pa
import pytest

from redolake.decode.forms import Clause, Form, Verb
from redolake.decode.redo_sql import parse_redo_sql
from redolake.values.table import TableId


def said(parsed, row):
    """Return the assignments of one row as {(clause, name): (form, value)}."""
    a = parsed.assignments
    return {
        (Clause(a.clause[i]).name, parsed.names[a.name[i]]): (
            Form(a.form[i]).name,
            parsed.values[int(a.value[i])].as_py() if a.value[i] >= 0 else None,
        )
        for i in range(len(a.row))
        if a.row[i] == row
    }


def parse_one(sql):
    parsed = parse_redo_sql(pa.array([sql]))
    assert parsed.error[0].as_py() is None
    return said(parsed, 0)


# LOGMINER.md 5.5: texts that broke other parsers, as (literal in redo, value)
HOSTILE = {
    "end of another literal": ('a","b', 'a","b'),
    "comma and quotes": ("a'',''b", "a','b"),
    "another condition": ("'' and \"X\" = ''", "' and \"X\" = '"),
    "a WHERE": ("x'' where \"A\" = ''y", "x' where \"A\" = 'y"),
    "an end of VALUES": ("'');", "');"),
    "quote inside": ("it''s", "it's"),
    "quotes at both ends": ("''it''s''", "'it's'"),
    "one quote": ("''", "'"),
    "three quotes": ("''''''", "'''"),
    "newline": ("line1\nline2", "line1\nline2"),
    "carriage return and tab": ("a\r\n\tb", "a\r\n\tb"),
    "semicolon": ("x;", "x;"),
    "comments": ("/* c */ -- d", "/* c */ -- d"),
    "the word NULL": ("NULL", "NULL"),
    "a function": ("TO_DATE(''x'')", "TO_DATE('x')"),
    "UNISTR and bars": ("UNISTR(''a'') || UNISTR(''b'')", "UNISTR('a') || UNISTR('b')"),
    "backslash at the end": ("x\\", "x\\"),
    "double quotes": ('""', '""'),
    "ampersand": ("&x %s {} $1", "&x %s {} $1"),
    "characters of 2, 3 and 4 bytes": ("é日😀", "é日😀"),
    "NUL": ("a\0b", "a\0b"),
    "more than 4000 bytes": ("日''" * 3000, "日'" * 3000),
}


@pytest.mark.parametrize(("written", "value"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_text_is_read_unchanged_in_every_clause(written, value):
    v = f"'{written}'"
    parsed = parse_redo_sql(
        pa.array(
            [
                f'insert into "S"."T"("A","B","C") values ({v},{v},NULL);',
                f'update "S"."T" set "A" = {v}, "B" = {v} where "A" = {v} and "C" IS NULL and "B" = {v}',
                f'delete from "S"."T" where "C" IS NULL and "B" = {v} and ROWID = \'AAAR3sAAEAAAACXAAA\';',
            ]
        )
    )

    text = ("TEXT", value)
    assert said(parsed, 0) == {("VALUES", "A"): text, ("VALUES", "B"): text, ("VALUES", "C"): ("NULL", None)}
    assert said(parsed, 1) == {
        ("SET", "A"): text, ("SET", "B"): text, ("WHERE", "A"): text, ("WHERE", "C"): ("NULL", None), ("WHERE", "B"): text,
    }  # fmt: skip
    assert said(parsed, 2) == {("WHERE", "C"): ("NULL", None), ("WHERE", "B"): text}
    assert parsed.error.null_count == 3


FORMS = {
    "text": ("'x'", ("TEXT", "x")),
    "empty text": ("''", ("TEXT", "")),
    "date with mask": ("TO_DATE('2026-02-28 13:45:59', 'YYYY-MM-DD HH24:MI:SS')", ("DATE", "2026-02-28 13:45:59")),
    "date without mask": ("TO_DATE('2026-02-28 13:45:59')", ("DATE", "2026-02-28 13:45:59")),
    "timestamp": ("TO_TIMESTAMP('2026-03-29 01:30:00.123456000')", ("TIMESTAMP", "2026-03-29 01:30:00.123456000")),
    "timestamp with mask": (
        "TO_TIMESTAMP('2026-03-29 01:30:00.1', 'YYYY-MM-DD HH24:MI:SS.FF')",
        ("TIMESTAMP", "2026-03-29 01:30:00.1"),
    ),
    "timestamp with time zone": (
        "TO_TIMESTAMP_TZ('2026-03-29 01:30:00.5 +05:30')",
        ("TIMESTAMP_TZ", "2026-03-29 01:30:00.5 +05:30"),
    ),
    "interval": ("TO_DSINTERVAL('+00005 04:03:02.123456')", ("DAY_INTERVAL", "+00005 04:03:02.123456")),
    "interval of months": ("TO_YMINTERVAL('+0012-03')", ("YEAR_INTERVAL", "+0012-03")),
    "raw": ("HEXTORAW('deadBEEF')", ("HEX", "deadBEEF")),
    "empty raw": ("HEXTORAW('')", ("HEX", "")),
    "json": ("/* JSON */ HEXTORAW('ff4a5a')", ("JSON", "ff4a5a")),
    "national text": (r"UNISTR('\00FCn\00EFcode \2603')", ("UNISTR", "ünïcode ☃")),
    "national text in parts": (r"UNISTR('a''\D83D') || UNISTR('\DE00\\') || UNISTR('b')", ("UNISTR", "a'😀\\b")),
    "bars inside national text": ("UNISTR('a || b')", ("UNISTR", "a || b")),
    "backslash in national text": (r"UNISTR('\\')", ("UNISTR", "\\")),
    "backslash before digits": (r"UNISTR('\\0041\0041\005C')", ("UNISTR", "\\0041A\\")),
    "quote in national text": (r"UNISTR('\0027')", ("UNISTR", "'")),
    "doubled quote in national text": ("UNISTR('''')", ("UNISTR", "'")),
    "double quote and newline in national text": ("UNISTR('\"\n')", ("UNISTR", '"\n')),
    "number without quotes": ("-12.5E+3", ("NUMBER", "-12.5E+3")),
    "null": ("NULL", ("NULL", None)),
    "empty clob": ("EMPTY_CLOB()", ("EMPTY_LOB", None)),
    "empty blob": ("EMPTY_BLOB()", ("EMPTY_LOB", None)),
    "unsupported": ("Unsupported Type", ("UNSUPPORTED", None)),
    "xml": ("XMLType(:1)", ("XML", None)),
}  # fmt: skip


@pytest.mark.parametrize(("written", "expected"), FORMS.values(), ids=FORMS)
def test_a_value_of_every_form_is_read_first_last_and_alone(written, expected):
    x = ("TEXT", "x")

    assert parse_one(f'insert into "S"."T"("A","B","C") values ({written},\'x\',{written});') == {
        ("VALUES", "A"): expected, ("VALUES", "B"): x, ("VALUES", "C"): expected,
    }  # fmt: skip
    assert parse_one(f'insert into "S"."T"("A") values ({written})') == {("VALUES", "A"): expected}
    assert parse_one(f'update "S"."T" set "A" = {written}') == {("SET", "A"): expected}
    assert parse_one(f'update "S"."T" set "A" = {written}, "B" = \'x\' where "C" = \'x\' and "A" = {written};') == {
        ("SET", "A"): expected, ("SET", "B"): x, ("WHERE", "C"): x, ("WHERE", "A"): expected,
    }  # fmt: skip
    assert parse_one(f'delete from "S"."T" where "A" = {written} and "B" = {written} and ROWID = \'AAA\'') == {
        ("WHERE", "A"): expected, ("WHERE", "B"): expected,
    }  # fmt: skip


NAMES = [
    "SET",
    "WHERE",
    "A,B",
    "A B",
    "a.b",
    "a = 'b'",
    "it's",
    "''",
    "' where ",
    "NULL",
    "ROWID",
    "),(",
    "Ünï 日",
    "COL 1",
    "\\",
    "x;",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_column_and_a_table_may_have_any_name(name):
    parsed = parse_redo_sql(
        pa.array(
            [
                f'insert into "{name}"."T {name}"("A","{name} ","{name}") values (\'1\',\'it\'\'s\',NULL);',
                f"""update "{name}"."T {name}" a set a."{name}" = 'x'' = ''\' where a."{name}" = '"' and a."A" IS NULL;""",
                f'delete from "{name}"."T {name}" a where a."{name}" IS NULL and ROWID = \'AAA\'',
            ]
        )
    )

    assert parsed.error.to_pylist() == [None] * 3
    assert [parsed.tables[t] for t in parsed.table] == [TableId(name, f"T {name}")] * 3
    assert said(parsed, 0) == {
        ("VALUES", "A"): ("TEXT", "1"),
        ("VALUES", f"{name} "): ("TEXT", "it's"),
        ("VALUES", name): ("NULL", None),
    }
    assert said(parsed, 1) == {
        ("SET", name): ("TEXT", "x' = '"),
        ("WHERE", name): ("TEXT", '"'),
        ("WHERE", "A"): ("NULL", None),
    }
    assert said(parsed, 2) == {("WHERE", name): ("NULL", None)}


UNESCAPED = {
    "one": ("it's", "it's"),
    "several": ("rock'n'roll isn't d'accord", "rock'n'roll isn't d'accord"),
    "of another alphabet": ("l'été Ж'日", "l'été Ж'日"),
    "digits and underscores": ("5'10 a_'_b", "5'10 a_'_b"),
    "within what looks like a name": ("o'clock \"it's\" o'clock", "o'clock \"it's\" o'clock"),
    "beside punctuation that is no syntax": ("(it's, isn't; = tis)", "(it's, isn't; = tis)"),
}


@pytest.mark.parametrize(("written", "value"), UNESCAPED.values(), ids=UNESCAPED)
def test_a_single_quote_within_a_word_is_read(written, value):
    v, text = f"'{written}'", ("TEXT", value)

    assert parse_one(f'insert into "S"."T"("A","B") values ({v},{v});') == {("VALUES", "A"): text, ("VALUES", "B"): text}
    assert parse_one(f'update "S"."T" set "A" = {v} where "A B" = {v} and "B" IS NULL') == {
        ("SET", "A"): text, ("WHERE", "A B"): text, ("WHERE", "B"): ("NULL", None),
    }  # fmt: skip
    assert parse_one(f"""delete from "S"."T" where "A" = 'it''s' and "B" = {v};""") == {
        ("WHERE", "A"): ("TEXT", "it's"), ("WHERE", "B"): text,
    }  # fmt: skip


UNDO = {
    "update without WHERE": ('update "S"."T" set "NAME" = \'old\'', Verb.UPDATE, {("SET", "NAME"): ("TEXT", "old")}),
    "update to null without WHERE": (
        'update "S"."T" set "NAME" = NULL;',
        Verb.UPDATE,
        {("SET", "NAME"): ("NULL", None)},
    ),
    "update by ROWID": (
        'update "S"."T" set "A" = NULL where ROWID = \'AAA\';',
        Verb.UPDATE,
        {("SET", "A"): ("NULL", None)},
    ),
    "delete by ROWID": ('delete from "S"."T" where ROWID = \'AAAR3sAAEAAAACXAAA\';', Verb.DELETE, {}),
    "delete without WHERE": ('delete from "S"."T"', Verb.DELETE, {}),
}


@pytest.mark.parametrize(("sql", "kind", "expected"), UNDO.values(), ids=UNDO)
def test_an_undo_row_parses_without_where(sql, kind, expected):
    parsed = parse_redo_sql(pa.array([sql]))

    assert (parsed.error[0].as_py(), parsed.kind[0]) == (None, kind)
    assert said(parsed, 0) == expected


MALFORMED = {
    "quote not doubled at a word's end": ('insert into "S"."T"("A","B") values (\'x\' y\',\'1\');', "no end"),
    "two quotes not doubled around a word": ('insert into "S"."T"("A","B") values (\'x \'y\' z\',\'1\');', "not understood"),
    "quote not doubled at a text's end": (
        'update "S"."T" set "A" = \'its\'\', "B" = \'1\' where "C" = \'2\';',
        "no end",
    ),
    "quotes not doubled that look like the next value": ('insert into "S"."T"("A") values (\'x\',\'y\');', "1 columns but 2"),
    "one quote within a word, one not": ('delete from "S"."T" where "A" = \'it\'s \' \';', "no end"),
    "text of another alphabet prefix": ('insert into "S"."T"("A") values (N\'x\');', "no end"),
    "cut off in a literal": ('delete from "S"."T" where "A" = \'x', "no end"),
    "cut off after a condition": ('delete from "S"."T" where "A" = \'x\' and ', "not understood"),
    "cut off in VALUES": ('insert into "S"."T"("A","B") values (\'x\'', "not understood"),
    "cut off in a call": ('insert into "S"."T"("A") values (TO_DATE(\'2020-01-01 00:00:00\')', "not understood"),
    "unknown function": ('insert into "S"."T"("A","B") values (\'a\',SYSDATE);', "not understood"),
    "unknown function with argument": ('insert into "S"."T"("A") values (NUMTODSINTERVAL(\'1\'));', "not understood"),
    "more values than columns": ('insert into "S"."T"("A") values (\'a\',\'b\');', "1 columns but 2 values"),
    "more nulls than columns": ('insert into "S"."T"("A") values (NULL,NULL,NULL);', "1 columns but 3 values"),
    "fewer values than columns": ('insert into "S"."T"("A","B","C") values (\'a\',\'b\');', "3 columns but 2 values"),
    "the same column twice": ('insert into "S"."T"("A","A") values (\'a\',\'b\');', "not understood"),
    "IS NULL in SET": ('update "S"."T" set "A" IS NULL where "B" = \'1\';', "not understood"),
    "comma in WHERE": ('delete from "S"."T" where "A" = \'1\', "B" = \'2\';', "not understood"),
    "and in SET": ('update "S"."T" set "A" = \'1\' and "B" = \'2\';', "not understood"),
    "or": ('delete from "S"."T" where "A" = \'1\' or "B" = \'2\';', "not understood"),
    "two WHERE": ('delete from "S"."T" where "A" = \'1\' where "B" = \'2\';', "not understood"),
    "WHERE in VALUES": ('insert into "S"."T"("A") values (\'1\' where "B" = \'2\';', "not understood"),
    "call not closed": ('update "S"."T" set "A" = TO_DATE(\'2020-01-01 00:00:00\', "B" = \'1\';', "not understood"),
    "text closed as a call": ('update "S"."T" set "A" = \'1\'), "B" = \'1\';', "not understood"),
    "second argument of HEXTORAW": ('update "S"."T" set "A" = HEXTORAW(\'00\', \'x\');', "not understood"),
    "third argument": ("update \"S\".\"T\" set \"A\" = TO_DATE('2020-01-01 00:00:00', 'YYYY', 'x');", "not understood"),
    "text continues as UNISTR": ('update "S"."T" set "A" = \'a\') || UNISTR(\'b\');', "not understood"),
    "begins with a continuation": ("') || UNISTR('b');'", "not understood"),
    "default mask": ('update "S"."T" set "A" = TO_DATE(\'28-FEB-26\', \'DD-MON-RR\');', "not understood after literal 1"),
    "mask of another order": (
        'update "S"."T" set "A" = TO_DATE(\'2026-01-02 00:00:00\', \'YYYY-DD-MM HH24:MI:SS\');',
        "not understood after literal 1",
    ),
    "bad escape": ('update "S"."T" set "A" = UNISTR(\'\\00G0\');', "not a UNISTR text"),
    "half a surrogate pair": ('update "S"."T" set "A" = UNISTR(\'\\D83D\');', "not a UNISTR text"),
    "two statements": ('delete from "S"."T" where "A" = \'1\';delete from "S"."T" where "A" = \'2\';', "not understood"),
    "text after the end": ('delete from "S"."T" where "A" = \'1\'; --', "not understood"),
    "other words": ('merge into "S"."T" set "A" = \'1\';', "not understood"),
    "commit": ("commit;", "not understood"),
    "temporary table": ("/* No SQL_REDO for temporary tables */", "not understood"),
    "unsupported": ("Unsupported", "not understood"),
    "empty": ("", "not understood"),
    "only a quote": ("'", "no end"),
    "absent": (None, "no SQL_REDO"),
}


@pytest.mark.parametrize(("sql", "reason"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_statement_is_refused_and_other_rows_are_not(sql, reason):
    good = 'update "S"."T" set "A" = UNISTR(\'\\0416\') where "A" = \'it\'\'s\' and "B" IS NULL'
    alone = parse_one(good)

    parsed = parse_redo_sql(pa.array([good, sql, good, sql, sql, good]))

    assert [e is not None and reason in e for e in parsed.error.to_pylist()] == [False, True, False, True, True, False]
    assert [parsed.error[i].as_py() for i in (0, 2, 5)] == [None] * 3
    assert [said(parsed, i) for i in range(6)] == [alone, {}, alone, {}, {}, alone]
    assert [parsed.kind[1], parsed.table[1]] == [Verb.UNKNOWN, -1]


def test_a_literal_ends_with_its_row():
    parsed = parse_redo_sql(pa.array(['delete from "S"."T" where "A" = \'1\'', "'2' and", "', '3'", 'delete from "S"."T"']))

    assert [e is None for e in parsed.error.to_pylist()] == [True, False, False, True]
    assert said(parsed, 0) == {("WHERE", "A"): ("TEXT", "1")}


def test_statements_of_several_tables_kinds_and_column_orders_share_a_batch():
    parsed = parse_redo_sql(
        pa.array(
            [
                'insert into "S"."T"("A","B") values (\'1\',\'2\');',
                'insert into "S"."T"("B","A") values (\'1\',\'2\')',
                'insert into "S"."U"("B","C","A") values (NULL,\'1\',NULL)',
                'delete from "R"."T" where "A" = \'1\'',
                'insert into "S"."T"("A","B") values (NULL,\'2\');',
            ]
        )
    )

    assert parsed.kind.tolist() == [
        Verb.INSERT,
        Verb.INSERT,
        Verb.INSERT,
        Verb.DELETE,
        Verb.INSERT,
    ]
    assert [str(parsed.tables[t]) for t in parsed.table] == ["S.T", "S.T", "S.U", "R.T", "S.T"]
    assert said(parsed, 0) == {("VALUES", "A"): ("TEXT", "1"), ("VALUES", "B"): ("TEXT", "2")}
    assert said(parsed, 1) == {("VALUES", "B"): ("TEXT", "1"), ("VALUES", "A"): ("TEXT", "2")}
    assert said(parsed, 2) == {("VALUES", "B"): ("NULL", None), ("VALUES", "C"): ("TEXT", "1"), ("VALUES", "A"): ("NULL", None)}
    assert said(parsed, 4) == {("VALUES", "A"): ("NULL", None), ("VALUES", "B"): ("TEXT", "2")}


def test_a_thousand_columns_are_read():
    names = [f"C{i}" for i in range(1000)]
    listed = ",".join(f'"{n}"' for n in names)
    values = ",".join("NULL" if i % 3 else f"'{i}'" for i in range(1000))

    expected = {("VALUES", n): ("NULL", None) if i % 3 else ("TEXT", str(i)) for i, n in enumerate(names)}
    assert parse_one(f'insert into "S"."T"({listed}) values ({values});') == expected


@pytest.mark.parametrize("sql", [pa.array([], pa.string()), pa.array([None, None], pa.string())])
def test_a_batch_may_be_empty(sql):
    parsed = parse_redo_sql(sql)

    assert len(parsed.kind) == len(sql)
    assert parsed.error.null_count == 0
    assert len(parsed.assignments.row) == 0


@pytest.mark.parametrize("type_", [pa.string(), pa.large_string()])
def test_slices_and_chunks_are_read_like_one_array(type_):
    statements = [f'delete from "S"."T" where "A" = \'{i}\'' for i in range(9)]
    whole = pa.array(statements, type_)

    for part in (whole.slice(3, 4), pa.chunked_array([whole.slice(3, 1), whole.slice(4, 3)])):
        parsed = parse_redo_sql(part)
        assert [said(parsed, i) for i in range(4)] == [{("WHERE", "A"): ("TEXT", str(i))} for i in range(3, 7)]


def test_many_different_numbers_do_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr("redolake.decode.redo_sql.MAX_SEPARATORS", 20)

    for start in range(0, 200, 10):
        parsed = parse_redo_sql(pa.array([f'update "S"."T" set "A" = {i}' for i in range(start, start + 10)]))
        assert [said(parsed, i) for i in range(10)] == [{("SET", "A"): ("NUMBER", str(start + i))} for i in range(10)]

    from redolake.decode import redo_sql

    assert len(redo_sql._known) <= 30
