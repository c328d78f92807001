"""What python-oracledb's own tests found in the engine: intervals, time zones, empty large objects, sessions, blocks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from standin import views
from standin.engine.plsql import session_packages
from standin.interface import ROUND_TRIPS, OraError
from standin.intervals import DaySecond, YearMonth
from standin.redo_file import pack, unpack
from standin.tests.engine.engine_database import error_code, logon, run

DAY = 86_400 * 10**9


@pytest.fixture
def dba(database):
    return logon(database, "SYS")


def value(session, expression, *binds):
    """Return the value of an expression that a block assigns to a bind."""
    return session.execute(f"begin :out := {expression}; end;", [[None, *binds]]).values[0]


def selected(session, expression):
    return run(session, f"select {expression} from dual")[0][0]


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("to_dsinterval('5 02:15:00') + to_dsinterval('5 08:30:00')", "+000000010 10:45:00.000000000"),
        ("to_dsinterval('1 00:00:00') - to_dsinterval('2 12:00:00')", "-000000001 12:00:00.000000000"),
        ("to_dsinterval('1 12:00:00') * 3", "+000000004 12:00:00.000000000"),
        ("3 * to_dsinterval('1 12:00:00')", "+000000004 12:00:00.000000000"),
        ("to_dsinterval('3 00:00:00') / 2", "+000000001 12:00:00.000000000"),
        ("to_yminterval('3-8') + to_yminterval('1-6')", "+000000005-02"),
        ("to_yminterval('1-0') - to_yminterval('2-1')", "-000000001-01"),
        ("interval '36' hour", "+000000001 12:00:00.000000000"),
        ("numtoyminterval(18, 'MONTH')", "+000000001-06"),
    ],
)
def test_intervals_are_added_and_multiplied(shop, expression, text):
    found = selected(shop, expression)
    decoded = YearMonth.decode(found).text(9) if len(found) == 5 else DaySecond.decode(found).text(9, 9)

    assert decoded == text


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("date '2024-01-31' + interval '1' day", datetime(2024, 2, 1)),
        ("date '2024-01-31' - to_yminterval('1-0')", datetime(2023, 1, 31)),
        ("to_dsinterval('1 12:00:00') + date '2024-01-31'", datetime(2024, 2, 1, 12)),
    ],
)
def test_an_interval_moves_a_date(shop, expression, expected):
    assert selected(shop, expression) == expected


def test_a_month_without_that_day_is_refused(shop):
    assert error_code(shop, "select date '2024-01-31' + to_yminterval('0-1') from dual") == 1839


def test_a_clients_interval_equals_the_one_that_is_stored(shop):
    run(shop, "create table i (d interval day(9) to second(9), m interval year(4) to month)")
    run(shop, "insert into i values (:1, :2)", timedelta(days=5, hours=5), YearMonth(44))

    assert run(shop, "select 1 from i where d = :1 and m = :2", timedelta(days=5, hours=5), YearMonth(44)) == [(1,)]
    assert run(shop, "select 1 from i where d > '5 04:00:00'") == [(1,)]


def test_a_block_computes_with_a_clients_interval(shop):
    assert value(shop, ":d + to_dsinterval('5 08:30:00')", timedelta(days=5, hours=2)) == DaySecond(10 * DAY + 378 * 10**11)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (timedelta(days=-1), "INTERVAL DAY TO SECOND"),
        (YearMonth(3), "INTERVAL YEAR TO MONTH"),
        (1.5, "BINARY_DOUBLE"),
        (5, "NUMBER"),
        (datetime(2024, 1, 1, tzinfo=UTC), "TIMESTAMP WITH TIME ZONE"),
    ],
)
def test_a_bind_alone_has_the_type_of_its_value(shop, given, name):
    assert shop.execute("select :1 from dual", [[given]]).columns[0].type == name


# -- time zones


def test_a_time_with_a_zone_is_compared_with_the_sessions_local_time(shop):
    run(shop, "create table z (t timestamp with time zone, l timestamp with local time zone)")
    run(shop, "insert into z values (timestamp '2024-07-01 12:00:00 +02:00', timestamp '2024-07-01 12:00:00 +02:00')")
    run(shop, "alter session set time_zone = '+01:00'")

    assert run(shop, "select 1 from z where t = :1 and l = :1", *[datetime(2024, 7, 1, 11)] * 2) == [(1,)]
    assert run(shop, "select 1 from z where t = :1", datetime(2024, 7, 1, 10, tzinfo=UTC)) == [(1,)]
    assert run(shop, "select trunc(t), trunc(l) from z") == [(datetime(2024, 7, 1), datetime(2024, 7, 1))]


def test_a_regions_offset_depends_on_the_day(shop):
    run(shop, "create table z (d date, l timestamp with local time zone)")
    for day in ("2024-01-01", "2024-07-01"):
        run(shop, f"insert into z values (date '{day}', timestamp '{day} 12:00:00 +00:00')")
    run(shop, "alter session set time_zone = 'Europe/London'")
    shown = run(shop, "select to_char(l, 'HH24') from z order by d")

    assert shown == [("12",), ("13",)]
    assert error_code(shop, "alter session set time_zone = 'Nowhere/Else'") == 1882


# -- large objects


def test_an_empty_large_object_is_not_null(shop):
    run(shop, "create table e (id number, c clob not null, b blob)")
    run(shop, "insert into e values (1, empty_clob(), empty_blob())")
    run(shop, "insert into e values (2, :1, null)", "")  # an empty temporary object

    assert run(shop, "select id, length(c), dbms_lob.getlength(b) from e order by id") == [(1, 0, 0), (2, 0, None)]
    assert run(shop, "select id from e where b is null") == [(2,)]


def test_an_empty_large_object_is_null_in_a_text_column(shop):
    run(shop, "create table e (v varchar2(10))")
    run(shop, "insert into e values (:1)", "")

    assert run(shop, "select nvl(v, 'null') from e") == [("null",)]


@pytest.mark.parametrize("length", [0, 1, 65_534, 65_535, 65_536, 200_000])
def test_redo_holds_values_of_any_length(length):
    values = {1: b"x" * length, 2: None, 3: b""}

    assert unpack(pack(values)) == values


# -- queries that DuckDB computes


def test_a_division_by_zero_is_an_error_in_a_union_too(shop):
    run(shop, "create table n (a number)")
    run(shop, "insert into n values (0)")

    assert error_code(shop, "select 1 / a from n union all select 2 from dual") == 1476
    assert run(shop, "select 1 / 4 from n union all select 2 from dual") == [(Decimal("0.25"),), (2,)]


def test_a_date_of_null_is_null_in_a_union_too(shop):
    text = "select to_date('2025-06-12', 'YYYY-MM-DD') d from dual union all select to_date(null) d from dual"

    assert run(shop, text) == [(datetime(2025, 6, 12),), (None,)]


# -- sessions


@pytest.mark.parametrize("sql", ["select :ROWID from dual", "insert into t (a) values (1) returning a into :Level"])
def test_a_reserved_word_names_no_bind(shop, sql):
    run(shop, "create table t (a number)")
    with pytest.raises(OraError, match="ORA-01745"):
        shop.parse(sql)


def test_a_quoted_reserved_word_names_a_bind(shop):
    assert run(shop, 'select :"ROWID" from dual', 5) == [(5,)]


def test_parsing_a_statement_checks_it_and_changes_nothing(shop):
    run(shop, "create table t (a number)")
    shop.parse("insert into t values (1)")

    assert run(shop, "select * from t") == []
    with pytest.raises(OraError, match="ORA-00942"):
        shop.parse("insert into missing values (1)")


def test_a_client_sets_and_clears_its_own_context(shop):
    shop.set_context("clientcontext", {"Colour": "red"})
    before = selected(shop, "sys_context('CLIENTCONTEXT', 'COLOUR')")
    shop.set_context("CLIENTCONTEXT", None)

    assert (before, selected(shop, "sys_context('CLIENTCONTEXT', 'COLOUR')")) == ("red", None)
    with pytest.raises(OraError, match="ORA-28267"):
        shop.set_context("OTHERS", {"A": "1"})


def test_statistics_count_the_calls_of_each_session(database, dba, shop):
    views.register()
    shop.statistics[ROUND_TRIPS] += 7
    counts = """select s.value from v$sesstat s, v$statname n
        where s.sid = :1 and s.statistic# = n.statistic# and n.name = :2"""

    assert run(dba, counts, shop.number, ROUND_TRIPS) == [(7,)]


def test_a_password_has_a_limit(dba):
    assert error_code(dba, f'alter user shop identified by "{"1" * 1025}"') == 988


# -- blocks


@pytest.fixture
def packages():
    session_packages.register()


def test_output_lines_are_read_in_their_order(shop, packages):
    shop.execute("begin dbms_output.put_line('before'); dbms_output.enable(); dbms_output.put_line('a'); end;", [])
    shop.execute("begin dbms_output.put_line('b'); end;", [])
    read = [shop.execute("begin dbms_output.get_line(:line, :status); end;", []).values for _ in range(3)]

    assert read == [["a", 0], ["b", 0], [None, 1]]


def test_sleep_ends_with_a_cancel(shop, packages, monkeypatch):
    monkeypatch.setattr(shop.database.changed, "wait_for", lambda *_: shop.cancel())

    assert error_code(shop, "begin dbms_session.sleep(1000); end;") == 1013


def test_a_named_exception_can_be_raised(shop):
    assert error_code(shop, "begin raise no_data_found; end;") == 1403
    assert error_code(shop, "begin raise nothing_known; end;") == 6550


def test_a_block_needs_all_arguments_of_a_procedure(shop, packages):
    assert error_code(shop, "begin dbms_output.get_line(:line); end;") == 6550


def test_an_error_in_a_block_has_its_offset(shop):
    with pytest.raises(OraError) as caught:
        shop.execute("begin t_missing := 5; end;", [])

    assert (caught.value.code, caught.value.position) == (6550, 6)


def test_numbers_of_a_union_all_keep_every_digit(dba):
    found = run(dba, "select to_number('1e-76') from dual union all select to_number('-1e-76') from dual")

    assert [Decimal(row[0]) for row in found] == [Decimal("1e-76"), Decimal("-1e-76")]


def test_numbers_that_do_not_fit_are_reported_before_duplicate_keys(dba):
    run(dba, "create table b (id number(9) primary key, n number(3))")
    rows = [[1, 1], [1, 2], [2, 1000], [3, 3]]

    done = dba.execute("insert into b values (:1, :2)", rows, batch_errors=True)

    assert [(row, error.code) for row, error in done.failures] == [(2, 1438), (1, 1)]
    assert done.counts == [1, 0, 0, 1]


@pytest.mark.parametrize(
    ("call", "before", "after"),
    [
        ("dbms_lob.copy(:1, 'xyz', 2)", "abcd", "xycd"),
        ("dbms_lob.copy(:1, 'xyz', 2, 4, 2)", "abcd", "abcyz"),
        ("dbms_lob.writeappend(:1, 2, 'xyz')", "abcd", "abcdxy"),
        ("dbms_lob.writeappend(:1, 2, '0102')", b"ab", b"ab\x01\x02"),
        ("dbms_lob.trim(:1, 1)", "abcd", "a"),
    ],
)
def test_a_temporary_large_object_changes_in_its_bind(dba, call, before, after):
    called = dba.execute(f"begin {call}; end;", [[before]])

    assert (called.directions, called.values) == (["IN OUT"], [after])


def test_a_block_returns_results_beside_its_binds(dba):
    called = dba.execute(
        "declare r sys_refcursor; begin open r for select 1 from dual; dbms_sql.return_result(r); "
        "open r for select 'x' from dual; dbms_sql.return_result(r); end;",
        (),
    )

    assert [rows.take() for rows in called.results] == [["1"], ["x"]]
    assert dba.execute("begin null; end;", ()).results == []
