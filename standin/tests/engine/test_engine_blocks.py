"""PL/SQL blocks: arguments of calls, binds, and SQL in a block."""

from __future__ import annotations

import pytest

from standin.engine.sessions import procedures
from standin.engine.sessions.procedures import Parameter, Procedures
from standin.interface import OraError
from standin.tests.engine.engine_database import error_code, logon, run


@pytest.fixture
def calls(monkeypatch):
    made = []
    registry = Procedures()
    registry.register("PKG.RUN", lambda session, **a: made.append(a), ["name", Parameter("options", 3), Parameter("at", None)])
    registry.register(
        "PKG.DOUBLE", lambda session, n, result: {"result": n * 2}, ["n", Parameter("result", direction="OUT")], public=True
    )
    registry.register("PKG.NEXT", lambda session, n: n + 1, ["n"], public=True)
    registry.constant("PKG.NEW", 1)
    registry.constant("PKG.BIG", 16)
    monkeypatch.setattr("standin.engine.plsql.expressions.procedures", registry)
    monkeypatch.setattr(procedures, "procedures", registry)
    return made


@pytest.fixture
def dba(database):
    return logon(database, "SYS")


def test_a_call_takes_positional_and_named_arguments_constants_and_defaults(dba, calls):
    run(dba, "BEGIN pkg.run('a.log'); SYS.PKG.RUN(options => Pkg.New + pkg.big, name => 'b.log'); END;")

    assert calls == [{"name": "a.log", "options": 3, "at": None}, {"name": "b.log", "options": 17, "at": None}]


def test_binds_are_passed_by_distinct_name_and_returned_when_assigned(dba, calls):
    called = run(dba, "begin pkg.run(:a, :b); pkg.double(:b, :c); :d := pkg.next(:b) || :a; end;", "x", 4)

    assert calls == [{"name": "x", "options": 4, "at": None}]
    assert called.directions == ["IN", "IN", "OUT", "OUT"]
    assert called.values == [None, None, 8, "5x"]


def test_a_bind_that_is_read_and_written_is_in_out(dba):
    called = run(dba, "begin :n := :n + 1; end;", 4)

    assert (called.directions, called.values) == (["IN OUT"], [5])


def test_sql_in_a_block_belongs_to_the_sessions_transaction(shop):
    run(shop, "CREATE TABLE t (id NUMBER PRIMARY KEY, name VARCHAR2(9))")
    run(
        shop,
        """BEGIN
          INSERT INTO t VALUES (:id, 'a;b');
          SAVEPOINT s;
          UPDATE t SET name = :name WHERE id = :id;
          ROLLBACK TO s;
          EXECUTE IMMEDIATE 'insert into t values (:1, ' || '''c'')' USING :id + 1;
          NULL;
          COMMIT;
        END;""",
        7,
        "x",
    )
    shop.rollback()

    assert run(shop, "SELECT * FROM t") == [(7, "a;b"), (8, "c")]


def test_returning_into_fills_a_bind_of_the_block(shop):
    run(shop, "CREATE TABLE t (id NUMBER, name VARCHAR2(9))")
    called = run(shop, "begin insert into t values (:1, 'a') returning id into :2; end;", 3)

    assert called.values == [None, 3]


REFUSED = {
    "unknown package": "BEGIN unknown.procedure(1); END;",
    "unknown argument": "BEGIN pkg.double(m => 1); END;",
    "too many arguments": "BEGIN pkg.next(1, 2); END;",
    "control flow": "BEGIN WHILE 1 = 1 LOOP NULL; END LOOP; END;",
    "no END": "BEGIN NULL;",
}


@pytest.mark.usefixtures("calls")
@pytest.mark.parametrize("sql", REFUSED.values(), ids=REFUSED)
def test_a_block_that_cannot_be_compiled_raises_ora_06550(dba, sql):
    assert error_code(dba, sql) == 6550


@pytest.mark.usefixtures("calls")
def test_a_package_does_not_exist_without_execute_privilege(database, dba, shop):
    with pytest.raises(OraError, match="PLS-00201: identifier 'PKG' must be declared"):
        run(shop, "BEGIN pkg.run('x'); END;")
    run(dba, "GRANT EXECUTE ON SYS.PKG TO shop")

    run(shop, "BEGIN pkg.run('x'); END;")
