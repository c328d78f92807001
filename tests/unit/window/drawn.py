"""Terse constructors for the control files of the drawn cases."""

from __future__ import annotations

from dataclasses import dataclass

from redolake.values.redo import Incarnation, LogCopy, LogFile, Position, RedoFacts, RedoThread
from redolake.values.scn import Scn
from redolake.window import plan_window

DBID, INC = 7, 11


@dataclass(frozen=True)
class Limits:
    max_bytes: int = 1000
    slice_bytes: int = 1000


def copy(dest=1, status="A", deleted=False, standby=False, archived=True, name="/arch/x"):
    return LogCopy(dest, name, status, deleted, standby, archived)


def log(thread, sequence, first, end, *copies, inc=INC, size=10):
    return LogFile(thread, sequence, inc, Scn(first), None if end is None else Scn(end), copies or (copy(),), size)


def online(thread, sequence, first, end=None, is_archived=False):
    return LogFile(thread, sequence, INC, Scn(first), None if end is None else Scn(end), is_archived=is_archived)


def trace(thread, sequence, first, end, inc=INC):
    return LogFile(thread, sequence, inc, Scn(first), Scn(end))


def opened(number, enable=None, enabled="PUBLIC"):
    return RedoThread(number, True, enabled, Scn(1), enable and Scn(enable), None)


def closed(number, checkpoint):
    return RedoThread(number, False, "PUBLIC", Scn(checkpoint), None, None)


def disabled(number, at):
    return RedoThread(number, False, "DISABLED", Scn(at), None, Scn(at))


GONE = copy(1, "D", deleted=True, name=None)
STANDBY = copy(2, standby=True)
CURRENT = Incarnation(INC, Scn(1), "CURRENT", Scn(0))


def facts(archived, online=(), threads=None, current=10_000, incarnations=(CURRENT,), history=(), dbid=DBID, is_standby=False):
    threads = threads if threads is not None else (opened(1),)
    views = (tuple(threads), tuple(archived), tuple(online), tuple(incarnations), tuple(history))
    return RedoFacts(dbid, Scn(current), *views, is_standby=is_standby)


def plan(control_file, start=100, limits=Limits(), inc=INC, dbid=DBID):
    return plan_window(Position(dbid, inc, Scn(start)), control_file, limits)
