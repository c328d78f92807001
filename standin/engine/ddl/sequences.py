"""CREATE, ALTER and DROP SEQUENCE."""

from __future__ import annotations

from dataclasses import replace

from standin.engine.ddl.redo import write_ddl
from standin.engine.sessions.privileges import require
from standin.engine.sessions.session import EngineSession
from standin.engine.text.tokens import Cursor
from standin.interface import OraError
from standin.model import NumberSequence

_CACHED = 20
_HIGHEST, _LOWEST = 10**28 - 1, -(10**27 - 1)
_IGNORED = frozenset({"KEEP", "NOKEEP", "GLOBAL", "SESSION", "NOSCALE", "NOEXTEND"})


def create_sequence(session: EngineSession, cursor: Cursor) -> None:
    owner, name = cursor.qualified()
    require(session.account, "CREATE SEQUENCE")
    found = _options(cursor, None)
    key = (session.container, owner or session.schema, name)
    if key in session.database.sequences:
        raise OraError(955, "name is already used by an existing object")
    session.database.sequences[key] = found
    write_ddl(session, cursor.text)


def alter_sequence(session: EngineSession, cursor: Cursor) -> None:
    owner, name = cursor.qualified()
    key = (session.container, owner or session.schema, name)
    known = session.database.sequences.get(key)
    if known is None:
        raise OraError(2289, "sequence does not exist")
    session.database.sequences[key] = _options(cursor, known)
    write_ddl(session, cursor.text)


def sequence_options(text: str) -> NumberSequence:
    """Return a new sequence, from the options of an identity column."""
    return _options(Cursor(text), None)


def _options(cursor: Cursor, known: NumberSequence | None) -> NumberSequence:
    """Read the options of a new sequence, or those that change a known one."""
    given = dict[str, int]()
    flags = dict[str, bool]()
    restarts = False
    while cursor.next.kind == "word":
        word = cursor.take().value
        if word in ("START", "INCREMENT"):
            cursor.accept("WITH") or cursor.accept("BY")
            given[word] = _signed(cursor)
        elif word in ("CACHE", "MAXVALUE", "MINVALUE"):
            given[word] = _signed(cursor)
        elif word == "RESTART" and known is not None:
            restarts = True
        elif word in ("CYCLE", "NOCYCLE", "ORDER", "NOORDER"):
            flags[word.removeprefix("NO")] = not word.startswith("NO")
        elif word in ("NOCACHE", "NOMAXVALUE", "NOMINVALUE"):
            given[word.removeprefix("NO")] = 0 if word == "NOCACHE" else _unlimited(word)
        elif word not in _IGNORED:
            raise OraError(933, "SQL command not properly ended", cursor.next.start)
    if known is None:
        return _new(given, flags)
    if "START" in given and not restarts:
        raise OraError(2283, "cannot alter starting sequence number")
    return _changed(known, given, flags, restarts=restarts)


def _unlimited(word: str) -> int:
    return _HIGHEST if word == "NOMAXVALUE" else _LOWEST


def _new(given: dict[str, int], flags: dict[str, bool]) -> NumberSequence:
    step = given.get("INCREMENT", 1)
    low = given.get("MINVALUE", 1 if step > 0 else _LOWEST)
    high = given.get("MAXVALUE", _HIGHEST if step > 0 else -1)
    if low == _LOWEST and step > 0:  # NOMINVALUE
        low = 1
    if high == _HIGHEST and step < 0:  # NOMAXVALUE
        high = -1
    start = given.get("START", low if step > 0 else high)
    found = NumberSequence(
        step, low, high, flags.get("CYCLE", False), flags.get("ORDER", False), given.get("CACHE", _CACHED), start
    )
    _check(found, limits_end="MAXVALUE" in given if step > 0 else "MINVALUE" in given)
    return found


def _changed(known: NumberSequence, given: dict[str, int], flags: dict[str, bool], *, restarts: bool) -> NumberSequence:
    found = replace(
        known,
        step=given.get("INCREMENT", known.step),
        low=given.get("MINVALUE", known.low),
        high=given.get("MAXVALUE", known.high),
        cycle=flags.get("CYCLE", known.cycle),
        order=flags.get("ORDER", known.order),
        cache=given.get("CACHE", known.cache),
    )
    if restarts:
        found.restart(given.get("START", found.low if found.step > 0 else found.high))
    _check(found, limits_end=found.high != _HIGHEST if found.step > 0 else found.low != _LOWEST)
    return found


def _check(found: NumberSequence, *, limits_end: bool) -> None:
    if found.step == 0:
        raise OraError(4002, "INCREMENT must be a nonzero integer")
    if found.low >= found.high:
        raise OraError(4004, "MINVALUE must be less than MAXVALUE")
    if found.start < found.low:
        raise OraError(4006, "START WITH cannot be less than MINVALUE")
    if found.start > found.high:
        raise OraError(4008, "START WITH cannot be more than MAXVALUE")
    if found.cycle and not limits_end:
        ascending = found.step > 0
        kind, limit = ("ascending", "MAXVALUE") if ascending else ("descending", "MINVALUE")
        raise OraError(4015 if ascending else 4014, f"{kind} sequences that CYCLE must specify {limit}")
    if found.cycle and found.cache and found.cache * abs(found.step) > found.high - found.low:
        raise OraError(4013, "number to CACHE must be less than one cycle")


def _signed(cursor: Cursor) -> int:
    sign = -1 if cursor.accept("-") else 1
    return sign * int(cursor.take().value)


def drop_sequence(session: EngineSession, cursor: Cursor) -> None:
    owner, name = cursor.qualified()
    if session.database.sequences.pop((session.container, owner or session.schema, name), None) is None:
        raise OraError(2289, "sequence does not exist")
    write_ddl(session, cursor.text)
