"""What python-oracledb's own tests found in the wire layer, with a fake database."""

from __future__ import annotations

from datetime import timedelta

import oracledb
import pyarrow as pa
import pytest

from standin.interface import ROUND_TRIPS, Called, ColumnInfo, Done, OraError, Rows
from standin.intervals import DaySecond, YearMonth
from standin.tests.served.wire_fake import PASSWORD, SERVICE, USER, batch, number, rows, text

SQL = "select * from something"
CLOB, NCLOB = ColumnInfo("DOC", "CLOB", 4000), ColumnInfo("DOC", "NCLOB", 4000)


def shows(instance, column, *values, type_=None):
    array = pa.array(values, type_)
    instance.answers[SQL] = lambda *_: rows([column], batch(array))


def code(call, *args, **kwargs):
    with pytest.raises(oracledb.Error) as caught:
        call(*args, **kwargs)
    return caught.value.args[0].full_code


# -- arrays, RETURNING, row counts


def test_an_array_of_calls_returns_the_values_of_each(cursor, instance):
    instance.answers["begin :o := :i; end;"] = lambda _, given: Called(["OUT", "IN"], [given[0][1] * 10, None])
    out = cursor.var(int, arraysize=4)
    cursor.executemany("begin :o := :i; end;", [(out, n) for n in (1, 2, 3, 4)])

    assert out.values == [10, 20, 30, 40]


def test_an_array_of_calls_that_fails_says_at_which_row(cursor, instance):
    def fails_at_three(_, given):
        if given[0][1] == 3:
            raise OraError(1476, "divisor is equal to zero")
        return Called(["OUT", "IN"], [1, None])

    instance.answers["begin p(:o, :i); end;"] = fails_at_three
    out = cursor.var(int, arraysize=4)
    with pytest.raises(oracledb.DatabaseError) as caught:
        cursor.executemany("begin p(:o, :i); end;", [(out, n) for n in (1, 2, 3, 4)])

    assert (caught.value.args[0].full_code, caught.value.args[0].offset) == ("ORA-01476", 2)


def test_a_returned_text_that_is_too_long_for_its_variable_is_reported(cursor, instance):
    sql = "insert into t values (1) returning a into :a"
    instance.answers[sql] = lambda *_: Done([1], returning=[[["a text of more than sixteen bytes"]]])

    assert code(cursor.execute, sql, a=cursor.var(str, 4)) == "DPY-4002"


def test_a_text_returned_into_raw_must_be_hexadecimal(cursor, instance):
    sql = "insert into t values (1) returning a into :a"
    instance.answers[sql] = lambda *_: Done([1], returning=[[["no hex"]]])
    failed = code(cursor.execute, sql, a=cursor.var(oracledb.DB_TYPE_RAW))
    instance.answers[sql] = lambda *_: Done([1], returning=[[["00FF"]]])
    variable = cursor.var(oracledb.DB_TYPE_RAW)
    cursor.execute(sql, a=variable)

    assert (failed, variable.getvalue()) == ("ORA-01465", [b"\0\xff"])


def test_an_array_that_fails_has_the_counts_of_the_rows_before(cursor, instance):
    def fails(*_):
        error = OraError(1, "unique constraint violated", position=2)
        error.counts = [1, 1]
        raise error

    instance.answers["insert into t values (:1)"] = fails
    with pytest.raises(oracledb.IntegrityError):
        cursor.executemany("insert into t values (:1)", [[1], [2], [2], [4]], arraydmlrowcounts=True)

    assert cursor.getarraydmlrowcounts() == [1, 1]


def test_the_last_rowid_is_that_of_the_last_written_row(cursor, instance):
    instance.answers["update t set a = 1"] = lambda *_: Done([1], rowid="AAAR2NAAMAAAACEAAY")
    instance.answers["update t set a = 2"] = lambda *_: Done([0])
    cursor.execute("update t set a = 1")
    written = cursor.lastrowid
    cursor.execute("update t set a = 2")

    assert (written, cursor.lastrowid) == ("AAAR2NAAMAAAACEAAY", None)


# -- intervals


@pytest.mark.parametrize(
    ("type_", "value", "arrives"),
    [
        (oracledb.DB_TYPE_INTERVAL_DS, DaySecond(-90_000_000_000_000), timedelta(hours=-25)),
        (oracledb.DB_TYPE_INTERVAL_YM, YearMonth(-149), oracledb.IntervalYM(-12, -5)),
    ],
)
def test_an_interval_of_the_database_is_an_out_value(cursor, instance, type_, value, arrives):
    instance.answers["begin get(:x); end;"] = lambda *_: Called(["OUT"], [value])
    variable = cursor.var(type_)
    cursor.execute("begin get(:x); end;", x=variable)

    assert variable.getvalue() == arrives


def test_types_without_a_size_are_described_without_one(cursor, instance):
    columns = [
        ColumnInfo("D", "INTERVAL DAY TO SECOND", 11, 0, 8, 9),
        ColumnInfo("Y", "INTERVAL YEAR TO MONTH", 5, 0, 3, 0),
        ColumnInfo("L", "LONG", 1),
        CLOB,
    ]
    instance.answers[SQL] = lambda *_: rows(columns)
    cursor.execute(SQL)

    assert [d[2:6] for d in cursor.description] == [(None, None, 8, 9), (None, None, 3, 0), *[(None,) * 4] * 2]


# -- large objects


def test_a_query_of_lobs_that_runs_again_begins_with_its_rows(connection, instance, monkeypatch):
    """A data frame that is read in batches begins with what the execution returns."""
    monkeypatch.setattr(oracledb.defaults, "fetch_lobs", False)
    shows(instance, CLOB, *["a", "b", "c", "d"])
    connection.fetch_df_all(SQL)
    shows(instance, CLOB, *["a", "b", "c", "d"])

    assert [frame.num_rows() for frame in connection.fetch_df_batches(SQL, size=3)] == [3, 1]


def test_a_text_column_that_becomes_a_lob_is_still_sent_as_text(cursor, instance):
    shows(instance, text("DOC"), "short")
    before = cursor.execute(SQL).fetchall()
    shows(instance, CLOB, "a large object")

    assert (before, cursor.execute(SQL).fetchall()) == ([("short",)], [("a large object",)])


@pytest.mark.parametrize("content", ["żółć", "plain", "𝄞"])
def test_a_national_lob_is_read_and_written_in_its_own_character_set(connection, cursor, instance, content):
    shows(instance, NCLOB, content)
    (lob,) = cursor.execute(SQL).fetchone()
    temporary = connection.createlob(oracledb.DB_TYPE_NCLOB, content)
    temporary.write("é", len(content) + 1)

    assert (lob.read(), temporary.read()) == (content, content + "é")


def test_a_lob_can_be_opened_once(connection):
    lob = connection.createlob(oracledb.DB_TYPE_CLOB, "text")
    lob.open()
    again, was_open = code(lob.open), lob.isopen()
    lob.close()

    assert (again, was_open, lob.isopen(), code(lob.close)) == ("ORA-22293", True, False, "ORA-22289")


# -- cursors


def test_a_scrollable_cursor_returns_the_rows_it_is_moved_to(connection, instance):
    instance.answers[SQL] = lambda *_: rows([number("N"), text("T")], batch(pa.array(range(30)), pa.array(["same"] * 30)))
    cursor = connection.cursor(scrollable=True)
    cursor.arraysize = 5
    cursor.execute(SQL)
    seen = [cursor.fetchone()[0]]
    for mode, value in (("last", 0), ("absolute", 7), ("relative", 10), ("first", 0), ("relative", 3)):
        cursor.scroll(value, mode=mode)
        seen.append(cursor.fetchone())

    assert seen == [0, *[(n, "same") for n in (29, 6, 16, 0, 3)]]
    assert cursor.fetchall() == [(n, "same") for n in range(4, 30)]


def test_a_scrollable_cursor_without_rows_is_at_its_end(connection, instance):
    instance.answers[SQL] = lambda *_: Rows((number(),), iter(()))
    cursor = connection.cursor(scrollable=True)
    cursor.execute(SQL)
    cursor.scroll(mode="last")

    assert cursor.fetchall() == []


@pytest.mark.parametrize(("count", "trips"), [(5, 2), (10, 3), (11, 3)])
def test_the_end_of_a_result_is_found_by_asking_for_one_more_row(connection, instance, count, trips):
    shows(instance, number(), *range(count))
    cursor = connection.cursor()
    cursor.arraysize, cursor.prefetchrows = 5, 5
    statistics = instance.sessions[-1].statistics
    before = statistics[ROUND_TRIPS]

    assert len(cursor.execute(SQL).fetchall()) == count
    assert statistics[ROUND_TRIPS] - before == trips


def test_a_statement_with_binds_can_be_parsed_again(cursor, instance):
    instance.answers["update t set a = :v"] = lambda *_: Done([1])
    for _ in range(2):
        cursor.parse("update t set a = :v")
        cursor.execute("update t set a = :v", [5])

    assert cursor.rowcount == 1


def test_a_query_of_lobs_can_be_parsed(cursor, instance):
    shows(instance, CLOB, "text")
    cursor.parse(SQL)

    assert cursor.description[0][1] is oracledb.DB_TYPE_CLOB


def test_a_cursor_that_was_never_opened_is_null_as_a_bind(connection, cursor, instance):
    instance.answers["begin take(:c, :n); end;"] = lambda *_: Called(["IN", "IN"], [None, None])
    cursor.execute("begin take(:c, :n); end;", c=connection.cursor(), n=7)

    assert instance.sessions[-1].events[-1] == ("begin take(:c, :n); end;", [[None, 7]])


# -- sessions


def test_a_password_is_changed_at_logon_and_later(listener, instance):
    instance.answers[f'ALTER USER "{USER}" IDENTIFIED BY "fresh / @"'] = lambda *_: Done()
    dsn = listener.dsn(SERVICE)
    with oracledb.connect(user=USER, password=PASSWORD, newpassword="fresh / @", dsn=dsn) as connection:
        at_logon = instance.sessions[-1].events[-1][0]
        connection.changepassword(PASSWORD, "fresh / @")
        wrong = code(connection.changepassword, "another", "fresh / @")

    changes = [event[0] for event in instance.sessions[-1].events if event[0].startswith("ALTER USER")]
    assert changes == [at_logon] * 2
    assert wrong == "ORA-01017"


def test_a_client_is_known_by_what_it_says_of_itself(listener, instance):
    context = [("CLIENTCONTEXT", "A", "1"), ("CLIENTCONTEXT", "B", "2")]
    names = {"terminal": "tty7", "osuser": "someone", "driver_name": "a driver"}
    with oracledb.connect(user=USER, password=PASSWORD, dsn=listener.dsn(SERVICE), appcontext=context, **names) as connection:
        connection.set_app_context("CLIENTCONTEXT", C="3")
        connection.ping()
        connection.clear_app_context("CLIENTCONTEXT")
        connection.ping()
        session = instance.sessions[-1]

        assert session.client == ("tty7", "someone", "a driver")
        assert [event[2] for event in session.events if event[0] == "context"] == [{"A": "1"}, {"B": "2"}, {"C": "3"}, None]


def test_a_killed_session_answers_no_ping(listener, instance):
    connection = oracledb.connect(user=USER, password=PASSWORD, dsn=listener.dsn(SERVICE))
    instance.sessions[-1].killed = True

    assert code(connection.ping) == "DPY-4011"


def test_the_client_learns_a_new_current_schema(connection, cursor, instance):
    def alter(session, _):
        session.schema = "OTHER"
        return Done()

    instance.answers["alter session set current_schema = other"] = alter
    cursor.execute("alter session set current_schema = other")

    assert connection.current_schema == "OTHER"
