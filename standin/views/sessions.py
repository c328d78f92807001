"""Views of sessions, open transactions, and the privileges of the current session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from standin.model import ROOT, OpenTransaction, User
from standin.views.registration import Row, fixed_view
from standin.views.visibility import ADMINISTRATORS

if TYPE_CHECKING:
    from standin.engine.sessions.session import EngineSession
    from standin.engine.transactions.session_state import SessionState

_TRANSACTION_COLUMNS = """ADDR RAW(8), XIDUSN NUMBER, XIDSLOT NUMBER, XIDSQN NUMBER, STATUS VARCHAR2(16),
    START_TIME VARCHAR2(20),
    START_SCNB NUMBER, START_SCNW NUMBER, SES_ADDR RAW(8), SPACE VARCHAR2(3), RECURSIVE VARCHAR2(3), NOUNDO VARCHAR2(3),
    PTX VARCHAR2(3), NAME VARCHAR2(256), USED_UBLK NUMBER, USED_UREC NUMBER, LOG_IO NUMBER, START_DATE DATE, START_SCN NUMBER,
    XID RAW(8), CON_ID NUMBER"""
_SESSION_COLUMNS = """SADDR RAW(8), SID NUMBER, SERIAL# NUMBER, USER# NUMBER, USERNAME VARCHAR2(128), STATUS VARCHAR2(8),
    SCHEMANAME VARCHAR2(128), OSUSER VARCHAR2(128), MACHINE VARCHAR2(64), PROGRAM VARCHAR2(84), TYPE VARCHAR2(10),
    MODULE VARCHAR2(64), ACTION VARCHAR2(64), CLIENT_IDENTIFIER VARCHAR2(64), LOGON_TIME DATE, TADDR RAW(8), CON_ID NUMBER,
    TERMINAL VARCHAR2(30), CLIENT_INFO VARCHAR2(64)"""
_ADMINISTRATOR_PRIVILEGES = (
    "ALTER DATABASE", "ALTER SYSTEM", "CREATE SESSION", "CREATE TABLE", "CREATE USER", "FLASHBACK ANY TABLE",
    "GRANT ANY PRIVILEGE",
    "LOGMINING", "SELECT ANY DICTIONARY", "SELECT ANY TABLE", "SELECT ANY TRANSACTION", "SET CONTAINER", "SYSDBA",
)  # fmt: skip

_TEMPORARY_LOBS = "SID NUMBER, CACHE_LOBS NUMBER, NOCACHE_LOBS NUMBER, ABSTRACT_LOBS NUMBER, CON_ID NUMBER"


def monitored(session: EngineSession) -> Iterator[Row]:
    """Yield the operations that clients have named for their sessions."""
    for other in session.database.sessions.values():
        if other.operation:
            yield other.number, "EXECUTING", other.operation


_SQL_COLUMNS = "SQL_TEXT VARCHAR2(1000), EXECUTIONS NUMBER, SERVICE VARCHAR2(64), CON_ID NUMBER"


def statements(session: EngineSession) -> Iterator[Row]:
    """Yield what was executed on any host since it is counted."""
    for service, counted in (session.database.statements or {}).items():
        for sql, executions in counted.items():
            yield sql[:1000], executions, service, ROOT


def _session_address(number: int) -> bytes:
    return b"\x00\x00\x00\x01" + number.to_bytes(4, "big")


def _transaction_address(tx: OpenTransaction) -> bytes:
    return b"\x00\x00\x00\x02" + tx.xid[0].to_bytes(2, "big") + tx.xid[1].to_bytes(2, "big")


def _transaction_row(session: EngineSession, tx: OpenTransaction) -> Row:
    usn, slot, sqn = tx.xid
    hidden = session.database.state.hidden_starts
    start_scn = tx.start_scn if hidden == -1 else hidden
    xid = usn.to_bytes(2, "little") + slot.to_bytes(2, "little") + sqn.to_bytes(4, "little")
    return (
        _transaction_address(tx), usn, slot, sqn, "PREPARED" if tx.is_prepared else "ACTIVE",
        tx.started_at.strftime("%m/%d/%y %H:%M:%S"),
        (start_scn or 0) & 0xFFFFFFFF, (start_scn or 0) >> 32, _session_address(tx.session), "NO", "NO", "NO",
        "YES" if tx.is_parallel else "NO", None, 1,
        tx.undo_records, tx.undo_records, tx.started_at, start_scn, xid, tx.con_id,
    )  # fmt: skip


def transactions(session: EngineSession) -> Iterator[Row]:
    """Yield the transactions of this instance; GV$TRANSACTION shows all. A standby has none."""
    for tx in () if session.on_standby else session.database.state.transactions.values():
        if tx.thread == session.thread and tx.is_listed:
            yield _shown(session, _transaction_row(session, tx))


def all_transactions(session: EngineSession) -> Iterator[Row]:
    for tx in () if session.on_standby else session.database.state.transactions.values():
        if tx.is_listed:
            yield (tx.thread, *_shown(session, _transaction_row(session, tx)))


def _shown(session: EngineSession, row: Row) -> Row:
    """Return the row with the container of its undo: the root's, where undo is shared."""
    return row if session.database.options.local_undo or not session.database.state.is_cdb else (*row[:-1], ROOT)


def in_doubt(session: EngineSession) -> Iterator[Row]:
    """Yield the prepared branches of distributed transactions."""
    for tx in session.database.state.transactions.values():
        if tx.is_prepared:
            xid = "{}.{}.{}".format(*tx.xid)
            yield (xid, f"FREE.{xid}", "prepared", "no", None, tx.started_at, None, None, "oracle", "standin", None, tx.con_id)


def pending_branches(session: EngineSession) -> Iterator[Row]:
    """Yield the prepared branches that began with an id of their coordinator's."""
    for branch in session.database.branches.values():
        if branch.is_prepared and branch.con_id == session.container:
            yield branch.id


def _session_row(session: EngineSession, other: SessionState) -> Row:
    tx = next((t for t in session.database.state.transactions.values() if t.session == other.number), None)
    return (
        _session_address(other.number), other.number, other.serial, 0, other.user, "ACTIVE", other.schema, other.os_user,
        other.machine, other.program, "USER", other.module, other.action, other.client_id, other.logon_at,
        _transaction_address(tx) if tx else None, other.container, other.terminal, other.client_info,
    )  # fmt: skip


def sessions(session: EngineSession) -> Iterator[Row]:
    for other in session.database.sessions.values():
        if other.thread == session.thread:
            yield _session_row(session, other)


def all_sessions(session: EngineSession) -> Iterator[Row]:
    for other in session.database.sessions.values():
        yield (other.thread, *_session_row(session, other))


def connections(session: EngineSession) -> Iterator[Row]:
    for other in session.database.sessions.values():
        if other.thread == session.thread:
            yield other.number, other.serial, "DATABASE", other.os_user, other.driver, other.container


def _is_role(privilege: str) -> bool:
    return privilege.endswith("_ROLE") or privilege in ("CONNECT", "RESOURCE", "DBA")


def privileges(session: EngineSession) -> Iterator[Row]:
    user: User = session.account
    held = _ADMINISTRATOR_PRIVILEGES if user.name in ADMINISTRATORS else user.privileges
    yield from ((privilege,) for privilege in sorted(held) if not _is_role(privilege))


def roles(session: EngineSession) -> Iterator[Row]:
    user: User = session.account
    held = {"DBA"} if user.name in ADMINISTRATORS else user.privileges
    yield from ((role,) for role in sorted(held) if _is_role(role))


def register() -> None:
    fixed_view("V$TRANSACTION", _TRANSACTION_COLUMNS, transactions, con_id=20)
    fixed_view("GV$TRANSACTION", f"INST_ID NUMBER, {_TRANSACTION_COLUMNS}", all_transactions, con_id=21)
    fixed_view("V$SQL", _SQL_COLUMNS, statements, con_id=3)
    fixed_view("V$SESSION", _SESSION_COLUMNS, sessions, con_id=16)
    fixed_view("GV$SESSION", f"INST_ID NUMBER, {_SESSION_COLUMNS}", all_sessions, con_id=17)
    connected = """SID NUMBER, SERIAL# NUMBER, AUTHENTICATION_TYPE VARCHAR2(26), OSUSER VARCHAR2(128),
        CLIENT_DRIVER VARCHAR2(30), CON_ID NUMBER"""
    fixed_view("V$SESSION_CONNECT_INFO", connected, connections, con_id=5)
    fixed_view("V$TEMPORARY_LOBS", _TEMPORARY_LOBS, lambda _: ())  # the wire has them, and frees them with their result
    fixed_view("V$SQL_MONITOR", "SID NUMBER, STATUS VARCHAR2(19), DBOP_NAME VARCHAR2(30)", monitored)
    fixed_view("SESSION_PRIVS", "PRIVILEGE VARCHAR2(40)", privileges, public=True)
    fixed_view("SESSION_ROLES", "ROLE VARCHAR2(128)", roles, public=True)
    pending = """LOCAL_TRAN_ID VARCHAR2(22), GLOBAL_TRAN_ID VARCHAR2(169), STATE VARCHAR2(16), MIXED VARCHAR2(3),
        ADVICE VARCHAR2(1), FAIL_TIME DATE, FORCE_TIME DATE, RETRY_TIME DATE, OS_USER VARCHAR2(64), HOST VARCHAR2(128),
        COMMIT# VARCHAR2(16)"""
    fixed_view(
        "DBA_2PC_PENDING", pending, lambda session: (row[:-1] for row in in_doubt(session) if row[-1] == session.container)
    )
    fixed_view("DBA_PENDING_TRANSACTIONS", "FORMATID NUMBER, GLOBALID RAW(64), BRANCHID RAW(64)", pending_branches)
    fixed_view("CDB_2PC_PENDING", f"{pending}, CON_ID NUMBER", in_doubt, con_id=11)
