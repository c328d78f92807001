"""Statements, binds, row counts and PL/SQL through the unmodified driver."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

import oracledb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from standin.binds import scan_binds, statement_kind
from standin.interface import Called, Done, OraError
from standin.tests.served.wire_fake import PASSWORD, SERVICE, USER, batch, number, rows, text


def failure(call, *args, **kwargs):
    with pytest.raises(oracledb.Error) as caught:
        call(*args, **kwargs)
    return caught.value.args[0]


def received(instance):
    """Return the binds of the last statement of the newest session."""
    return [event for event in instance.sessions[-1].events if isinstance(event, tuple)][-1][1]


WHEN = datetime(2026, 5, 6, 7, 8, 9)
BINDS = {
    "an int": (42, None, 42),
    "a big int": (10**37 + 1, None, 10**37 + 1),
    "a negative decimal": (Decimal("-0.00123"), None, Decimal("-0.00123")),
    "a float": (1.5, None, Decimal("1.5")),
    "nothing": (None, None, None),
    "a text": ("héllo €", None, "héllo €"),
    "a text of 252 bytes": ("x" * 252, None, "x" * 252),
    "a text of 253 bytes": ("x" * 253, None, "x" * 253),
    "a text of 60,000 bytes": ("0123456789" * 6000, None, "0123456789" * 6000),
    "national text": ("żółć", oracledb.DB_TYPE_NVARCHAR, "żółć"),
    "bytes": (b"\x00\xff", None, b"\x00\xff"),
    "a long raw": (b"\x01\x02" * 30_000, None, b"\x01\x02" * 30_000),
    "a date": (WHEN.replace(microsecond=5), None, WHEN),
    "a timestamp": (WHEN.replace(microsecond=123456), oracledb.DB_TYPE_TIMESTAMP, WHEN.replace(microsecond=123456)),
    "a binary double": (-2.75, oracledb.DB_TYPE_BINARY_DOUBLE, -2.75),
    "a binary float": (0.5, oracledb.DB_TYPE_BINARY_FLOAT, 0.5),
    "true": (True, oracledb.DB_TYPE_BOOLEAN, True),
    "false": (False, oracledb.DB_TYPE_BOOLEAN, False),
    "an unknown truth": (None, oracledb.DB_TYPE_BOOLEAN, None),
    "an interval": (timedelta(days=-3, hours=5, microseconds=7), None, timedelta(days=-3, hours=5, microseconds=7)),
    "a long CLOB": ("tmp é" * 9000, oracledb.DB_TYPE_CLOB, "tmp é" * 9000),
    "a BLOB": (b"\0\1" * 5000, oracledb.DB_TYPE_BLOB, b"\0\1" * 5000),
}


@pytest.mark.parametrize(("value", "type_", "arrives"), BINDS.values(), ids=BINDS)
def test_a_bind_arrives_as_it_was_sent(cursor, instance, value, type_, arrives):
    instance.answers["insert into t values (:1, :2)"] = lambda *_: Done([1])
    if type_ is not None:
        cursor.setinputsizes(type_, None)
    cursor.execute("insert into t values (:1, :2)", [value, 7])

    assert received(instance) == [[arrives, 7]]


def test_a_repeated_bind_is_sent_per_occurrence_in_sql_and_once_in_plsql(cursor, instance):
    instance.answers["select :a, :b, :a from dual"] = lambda _, given: rows([number()], batch(pa.array([1])))
    instance.answers["begin x(:a, :b, :a); end;"] = lambda *_: Called(["IN", "IN"], [None, None])
    cursor.execute("select :a, :b, :a from dual", a=1, b=2)
    by_occurrence = received(instance)
    cursor.execute("begin x(:a, :b, :a); end;", a=1, b=2)

    assert by_occurrence == [[1, 2, 1]]
    assert received(instance) == [[1, 2]]


def test_a_long_value_is_sent_after_the_others_and_restored_to_its_position(cursor, instance):
    instance.answers["insert into t values (:1, :2, :3)"] = lambda *_: Done([1])
    cursor.execute("insert into t values (:1, :2, :3)", ["x" * 40_000, 2, "three"])

    assert received(instance) == [["x" * 40_000, 2, "three"]]


def test_a_cached_statement_runs_again_with_other_bind_types(cursor, instance):
    instance.answers["select t from t where x = :1"] = lambda *_: rows([text()], batch(pa.array(["row"])))
    sent = [1, 2, "two", None, WHEN, "y" * 5000, 3]
    seen = []
    for value in sent:
        assert cursor.execute("select t from t where x = :1", [value]).fetchall() == [("row",)]
        seen.append(received(instance)[0][0])

    assert seen == sent


def test_more_statements_than_the_cache_holds_close_their_cursors(listener, instance):
    with oracledb.connect(user=USER, password=PASSWORD, dsn=listener.dsn(SERVICE), stmtcachesize=3) as connection:
        cursor = connection.cursor()
        for i in range(30):
            instance.answers[f"select {i} from dual"] = lambda *_, i=i: rows([number()], batch(pa.array([i])))
            assert cursor.execute(f"select {i} from dual").fetchone() == (i,)


def test_a_cursor_is_valid_only_in_the_container_that_parsed_it(connection, cursor, instance):
    instance.answers["select 1 from t"] = lambda *_: rows([number()], *[batch(pa.array([i] * 100)) for i in range(3)])
    assert cursor.execute("select 1 from t").fetchone() == (0,)
    instance.sessions[-1].container = 1
    with pytest.raises(oracledb.DatabaseError, match="ORA-65108: invalid use of a cursor"):
        cursor.fetchall()
    with pytest.raises(oracledb.DatabaseError, match="ORA-65108"):
        cursor.execute("select 1 from t")
    with connection.cursor() as other:
        assert other.execute("select 1 from dual").fetchone() == (1,)


def test_executemany_sums_the_row_counts(cursor, instance):
    instance.answers["update t set x = :1"] = lambda _, given: Done([row[0] for row in given])
    cursor.executemany("update t set x = :1", [[2], [0], [5]], arraydmlrowcounts=True)

    assert cursor.rowcount == 7
    assert cursor.getarraydmlrowcounts() == [2, 0, 5]


def test_ten_thousand_rows_of_binds_arrive_in_one_call(cursor, instance):
    instance.answers["insert into t values (:a, :b)"] = lambda _, given: Done([1] * len(given))
    data = [(i, f"name {i}" if i % 7 else None) for i in range(10_000)]
    cursor.executemany("insert into t values (:a, :b)", data)

    assert cursor.rowcount == 10_000
    assert received(instance) == [list(row) for row in data]


def test_batch_errors_contain_row_code_and_text(cursor, instance):
    failures = [(1, OraError(1, "unique constraint violated")), (300, OraError(1400, "cannot insert NULL"))]
    instance.answers["insert into u values (:1)"] = lambda _, given: Done([1] * (len(given) - 2), failures)
    cursor.executemany("insert into u values (:1)", [[i] for i in range(400)], batcherrors=True)

    assert cursor.rowcount == 398
    assert [(e.offset, e.code) for e in cursor.getbatcherrors()] == [(1, 1), (300, 1400)]
    assert "ORA-01400" in cursor.getbatcherrors()[1].message


def test_a_failed_array_reports_the_row(cursor, instance):
    def fail(*_):
        raise OraError(1, "unique constraint violated", position=2)

    instance.answers["insert into v values (:1)"] = fail
    with pytest.raises(oracledb.IntegrityError) as caught:
        cursor.executemany("insert into v values (:1)", [[1], [2], [1]])

    assert (caught.value.args[0].code, caught.value.args[0].offset) == (1, 2)
    assert cursor.rowcount == 2


def test_returning_yields_values_per_row_and_can_run_again(cursor, instance):
    sql = "delete from t where id < :k returning id, name into :x, :y"
    instance.answers[sql] = lambda _, given: Done([2], [], [[[given[0][0], 6], ["a", None]]])
    x, y = cursor.var(int), cursor.var(str)
    seen = []
    for k in (4, 5):
        cursor.execute(sql, k=k, x=x, y=y)
        seen.append((x.getvalue(), y.getvalue()))

    assert seen == [([4, 6], ["a", None]), ([5, 6], ["a", None])]
    assert received(instance) == [[5]]


def test_returning_of_no_rows_is_empty(cursor, instance):
    instance.answers["delete from t returning id into :x"] = lambda *_: Done([0], [], [[[]]])
    x = cursor.var(int)
    cursor.execute("delete from t returning id into :x", x=x)

    assert x.getvalue() == []
    assert received(instance) == []


def test_plsql_reads_and_writes_its_binds(cursor, instance):
    sql = "begin p(:i, :o, :io); end;"
    instance.answers[sql] = lambda _, given: Called(["IN", "OUT", "IN OUT"], [None, f"scn {given[0][0]}", given[0][2] * 2])
    o, io = cursor.var(str), cursor.var(int)
    io.setvalue(0, 21)
    seen = []
    for i in (7, 8):
        cursor.execute(sql, i=i, o=o, io=io)
        seen.append((o.getvalue(), io.getvalue()))

    assert seen == [("scn 7", 42), ("scn 8", 84)]


OUTS = {
    "number": (oracledb.DB_TYPE_NUMBER, 5000123, 5000123),
    "decimal as text": (oracledb.DB_TYPE_VARCHAR, Decimal("1E+3"), "1000"),
    "null": (oracledb.DB_TYPE_NUMBER, None, None),
    "text": (oracledb.DB_TYPE_VARCHAR, "é" * 300, "é" * 300),
    "raw": (oracledb.DB_TYPE_RAW, b"\x01\x02", b"\x01\x02"),
    "date": (oracledb.DB_TYPE_DATE, WHEN, WHEN),
    "timestamp": (oracledb.DB_TYPE_TIMESTAMP, WHEN.replace(microsecond=5), WHEN.replace(microsecond=5)),
    "double": (oracledb.DB_TYPE_BINARY_DOUBLE, -1.25, -1.25),
    "interval": (oracledb.DB_TYPE_INTERVAL_DS, timedelta(days=1, seconds=2), timedelta(days=1, seconds=2)),
    "boolean": (oracledb.DB_TYPE_BOOLEAN, True, True),
}


@pytest.mark.parametrize(("type_", "value", "arrives"), OUTS.values(), ids=OUTS)
def test_an_out_bind_arrives_twice_and_with_another_size(cursor, instance, type_, value, arrives):
    instance.answers["begin get(:x); end;"] = lambda *_: Called(["OUT"], [value])
    seen = []
    for size in (1000, 1000, 4000):
        variable = cursor.var(type_, size)
        cursor.execute("begin get(:x); end;", x=variable)
        seen.append(variable.getvalue())

    assert seen == [arrives] * 3


def test_an_array_bind_arrives_as_a_list(cursor, instance):
    instance.answers["begin take(:a); end;"] = lambda *_: Called(["IN"], [None])
    cursor.execute("begin take(:a); end;", a=cursor.arrayvar(oracledb.DB_TYPE_NUMBER, [1, 2, 3]))

    assert received(instance) == [[[1, 2, 3]]]


def test_plsql_runs_over_an_array_of_binds(cursor, instance):
    instance.answers["begin p(:1); end;"] = lambda _, given: Called(["IN"], [None])
    cursor.executemany("begin p(:1); end;", [[1], [2], [3]])

    sent = [e[1] for e in instance.sessions[-1].events if e[0] == "begin p(:1); end;"]
    assert [row for call in sent for row in call] == [[1], [2], [3]]


def test_a_failed_statement_can_be_repeated(cursor, instance):
    sql = "select * from later"
    first = failure(cursor.execute, sql)
    instance.answers[sql] = lambda *_: rows([number()], batch(pa.array([5])))

    assert first.code == 942
    assert cursor.execute(sql).fetchall() == [(5,)]


def test_a_cached_statement_that_fails_once_works_again(cursor, instance):
    sql = "insert into w values (:1)"
    outcomes = iter([True, False, True, True])

    def insert(*_):
        if not next(outcomes):
            raise OraError(30036, "unable to extend segment in undo tablespace")
        return Done([1])

    instance.answers[sql] = insert
    cursor.execute(sql, [1])
    assert failure(cursor.execute, sql, [1]).code == 30036
    cursor.execute(sql, [1])
    cursor.execute(sql, [1])

    assert cursor.rowcount == 1


def test_ddl_is_sent_whole_each_time(cursor, instance):
    instance.answers["create table t (id number)"] = lambda *_: Done()
    cursor.execute("create table t (id number)")
    cursor.execute("create table t (id number)")

    assert cursor.rowcount == 0


def test_parsing_describes_without_execution(cursor, instance):
    instance.answers["select id from t"] = lambda *_: rows([number("ID", 10, 0)])
    instance.answers["delete from t"] = lambda *_: Done([9])
    cursor.parse("select id from t")
    cursor.parse("delete from t")

    assert "delete from t" not in [e[0] for e in instance.sessions[-1].events if isinstance(e, tuple)]


def test_an_unknown_request_is_refused_and_not_ignored(connection, cursor):
    load = {"schema_name": USER, "table_name": "T", "column_names": ["ID"], "data": [(1,)]}
    assert failure(connection.direct_path_load, **load).code == 3001
    assert cursor.execute("select 1 from dual").fetchone() == (1,)


BINDS_AND_DECOYS = [":a", ": b", ':"c d"', ":1", ":x_1$", "'it''s :n'", "q'[:n']'", "q'!:n' !'", "nq'{:n}'", '":n"', "--:n\n"]
OTHER_WORDS = ["/*:n '*/", " ", ",", "||", "=", "f(", ")", "x", "seq", ";", ":=", "'k' :v", "9"]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from([*BINDS_AND_DECOYS, *OTHER_WORDS]), max_size=12),
    st.sampled_from(["select ", "begin ", "insert into t values ", "with x as ", "declare "]),
)
def test_binds_are_found_where_the_driver_finds_them(cursor, pieces, start):
    sql = start + " ".join(pieces)
    cursor.prepare(sql)

    assert list(scan_binds(sql).distinct) == cursor.bindnames()


def test_binds_are_numbered_by_occurrence_and_returning_is_separate():
    bound = scan_binds('insert into t (a) values (:v || :"v") returning a into :r, :v -- :c\n')

    assert bound.text == "insert into t (a) values (:b0 || :b1) returning a into :b2, :b3 -- :c\n"
    assert bound.names == ("V", "v", "R", "V")
    assert bound.distinct == ("V", "v", "R")
    assert bound.returning_from == 2


KINDS = {
    "-- x\n/* y */ (select 1 from dual)": "query",
    "With a as (select 1 from dual) select * from a": "query",
    "merge into t using s on (1 = 1)": "dml",
    "declare x number; begin null; end;": "plsql",
    "call p()": "plsql",
    "<<outer>> begin null; end;": "plsql",
    "truncate table t": "ddl",
    "create trigger t before insert on x begin :new.a := 1; end;": "ddl",
    "commit work": "commit",
    "rollback to savepoint a": "rollback",
    "savepoint a": "other",
    "": "other",
}


@pytest.mark.parametrize(("sql", "kind"), KINDS.items(), ids=KINDS.values())
def test_the_first_word_decides_the_kind(sql, kind):
    assert statement_kind(sql) == kind
