"""Replaying the archived redo gives the committed rows at the end of every log."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from standin.interface import OraError
from standin.redo_file import Op
from standin.tests.engine.engine_database import archived_redo, error_code, logon, open_database, run

KEYS = st.integers(1, 4)
STEP = st.one_of(
    st.tuples(st.just("INSERT INTO t (id, a, b) VALUES (:1, :2, 'x')"), st.tuples(KEYS, st.integers(0, 9))),
    st.tuples(st.just("UPDATE t SET a = a + 1 WHERE id = :1"), st.tuples(KEYS)),
    st.tuples(st.just("UPDATE t SET b = NULL, a = 7 WHERE a > :1"), st.tuples(st.integers(0, 9))),
    st.tuples(st.just("UPDATE t SET id = id + :1"), st.tuples(st.integers(0, 1))),
    st.tuples(st.just("DELETE FROM t WHERE id = :1"), st.tuples(KEYS)),
    st.tuples(st.sampled_from(["SAVEPOINT s", "ROLLBACK TO s", "COMMIT", "ROLLBACK", "SWITCH"]), st.just(())),
)


def run_step(database, session, statement, binds, ends):
    """Run one step. Both sessions run in one thread, so a step that would wait for the other session fails instead."""
    if statement == "SWITCH":
        database.switch_log()
        ends.append(database.state.archived[-1].next_scn)
        return
    assert error_code(session, statement, *binds) in (0, 1, 60, 1013, 1086)


def replayed_rows(records, end_scn):
    """Return the rows after all transactions that committed before `end_scn`. An undo row cancels its row's last change."""
    rows, open_changes = {}, {}
    for record in records:
        changes = open_changes.setdefault(record.xid, [])
        if record.op in (Op.ROLLBACK, Op.COMMIT):
            if record.op == Op.COMMIT and record.scn < end_scn:
                for change in changes:
                    apply(rows, change)
            del open_changes[record.xid]
        elif record.rollback:
            inverse = {Op.INSERT: Op.DELETE, Op.DELETE: Op.INSERT, Op.UPDATE: Op.UPDATE}[Op(record.op)]
            at = max(i for i, c in enumerate(changes) if c.row_id == record.row_id)
            assert changes.pop(at).op == inverse
        elif record.op in (Op.INSERT, Op.UPDATE, Op.DELETE):
            changes.append(record)
    return sorted(tuple(row[i] for i in (1, 2, 3)) for row in rows.values())


def apply(rows, change):
    if change.op == Op.INSERT:
        assert change.row_id not in rows
        rows[change.row_id] = dict(change.after)
        return
    row = rows[change.row_id]
    assert all(row[column] == value for column, value in change.before.items())
    if change.op == Op.DELETE:
        del rows[change.row_id]
    else:
        row.update(change.after)


def stored_rows(database, scn):
    store = database.tables.stores[(3, "SHOP", "T")]
    return sorted(tuple(store.layout.encode(values, range(3)).values()) for _, values in store.visible(scn, None))


@settings(max_examples=60)
@given(st.lists(st.tuples(st.booleans(), STEP), max_size=40), st.sampled_from(["(ALL)", "(PRIMARY KEY)"]), st.booleans())
def test_replaying_the_archived_redo_gives_the_committed_rows_at_every_log_end(steps, logging, private_strands):
    database = open_database(log_bytes=3000, private_strands=private_strands)
    sessions = [logon(database), logon(database)]
    run(sessions[0], "CREATE TABLE t (id NUMBER PRIMARY KEY, a NUMBER, b VARCHAR2(5))")
    run(sessions[0], f"ALTER TABLE t ADD SUPPLEMENTAL LOG DATA {logging} COLUMNS")
    # A wait would never end in one thread, so it fails as if the user had cancelled it.
    database.locks.wait_for = lambda session, owner, seconds=None: raise_cancelled()
    ends = []
    for first, (statement, binds) in steps:
        run_step(database, sessions[first], statement, binds, ends)
    for session in sessions:
        session.commit()
    database.switch_log()

    records = archived_redo(database)
    for end in [*ends, database.state.archived[-1].next_scn]:
        assert replayed_rows(records, end) == stored_rows(database, end - 1)
    database.close()


def raise_cancelled():
    raise OraError(1013, "user requested cancel of current operation")
