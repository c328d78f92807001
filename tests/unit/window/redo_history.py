"""A model of redo for the property test: the redo that was written, and the rows that the views show.

It shares only value types with the gate. A log is written, switched, archived (first to a standby, or slowly), damaged and
restored; its row ages out. Threads are enabled, opened, closed, disabled and dropped. RESETLOGS may be complete, or follow a
failover that lost unarchived redo, or a flashback that discards the redo after its SCN. The log of a closed thread may be
switched, and a file of an abandoned future catalogued. `Readings` has the behaviours of Oracle that are not certain.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from redolake.values.redo import Incarnation, LogCopy, LogFile, RedoFacts, RedoThread
from redolake.values.scn import Scn

DBID = 7
LOCAL, STANDBY = (1, 2), 3
FOREVER = 10**9
START = 10  # of the histories; one log was switched before


@dataclass(frozen=True)
class Readings:
    """RESETLOGS_CHANGE# may be one SCN above the end of the redo, and RESETLOGS may leave ENABLE_CHANGE# as it was."""

    ends_below: bool = False
    keeps_enable: bool = False


@dataclass
class Log:
    thread: int
    sequence: int
    inc: int
    first: int
    next: int | None = None
    records: list[int] = field(default_factory=list)
    copies: dict[int, str] = field(default_factory=dict)  # destination: A, D, U, X, cleared, busy
    is_pending: bool = True  # not archived on this host yet
    is_hidden: bool = False  # its rows are gone from V$ARCHIVED_LOG
    void_end: int | None = None  # the end of a file of an abandoned future that was catalogued under its sequence

    @property
    def key(self):
        return self.thread, self.sequence, self.inc

    @property
    def is_available(self):
        return not self.is_hidden and any(self.copies.get(dest) == "A" for dest in LOCAL)


@dataclass
class Thread:
    number: int
    enable: int
    enabled_at: int
    current: Log | None
    is_open: bool = False
    enabled: str = "PUBLIC"
    checkpoint: int = 0
    disable: int | None = None

    @property
    def has_unswitched(self):
        """Whether the current log may contain redo."""
        return self.current is not None and (self.is_open or self.current.first < self.checkpoint)


@dataclass
class Line:
    id: int
    first: int
    prior: int
    status: str = "CURRENT"


class History:
    def __init__(self, readings=Readings()):
        self.readings = readings
        self.scn = START
        self.lines = [Line(1, 5, 0)]
        self.threads, self.logs, self.traces, self.dropped = {}, [], [], set()
        self.forgotten = 0  # number of the oldest rows dropped from V$LOG_HISTORY
        for number in (1, 2):
            current = self._log(number, 1, 5)
            self.threads[number] = Thread(number, 5, 5, current, True, ("PUBLIC", "PRIVATE")[number - 1])
        self.switch(self.threads[1], 0)  # V$LOG_HISTORY begins before every position
        self._archive(self.logs[0], 1)

    # -- events

    def play(self, events):
        for what, number, n in events:
            self.scn += 1
            thread = self.threads.get(number)
            if what in ("tick", "resetlogs", "forget"):
                getattr(self, what)(n)
            elif what in ("archive", "damage", "hide", "restore", "catalogue"):
                getattr(self, what)(number, n)
            elif thread is not None:
                getattr(self, what)(thread, n)
            elif what == "enable" and number not in self.dropped:
                self.threads[number] = Thread(number, self.scn, self.scn, self._log(number, 1, self.scn), checkpoint=self.scn)
                self.threads[number].enabled = "PRIVATE" if n % 2 else "PUBLIC"

    def tick(self, n):
        self.scn += n

    def write(self, thread, n):
        if thread.is_open:
            thread.current.records.append(self.scn)

    def switch(self, thread, n):
        if thread.has_unswitched:
            self._end(thread)
            thread.current = self._log(thread.number, self._next(thread.number), self.scn)

    def work(self, thread, n):
        """Write some full logs and archive them."""
        for _ in range(1 + n % 4):
            if thread.is_open:
                self.scn += 1
                self.write(thread, n)
                self.scn += 1
                full = thread.current
                self.switch(thread, n)
                self._archive(full, 1 + n % 2)

    def kick(self, thread, n):
        """Switch the log of a closed thread, as other instances do."""
        if not thread.is_open and thread.enabled != "DISABLED" and thread.current is not None:
            full = thread.current
            self._end(thread)
            thread.current = self._log(thread.number, self._next(thread.number), self.scn)
            if n % 3:
                self._archive(full, 1)

    def catalogue(self, number, n):
        """Catalogue a file of an abandoned future beside the log that has its sequence, or will have it once it is switched."""
        log = self._chosen(number, n, lambda g: LOCAL[1] not in g.copies)
        if log is not None:
            log.void_end = self.scn + 500 if log.next is None else log.next + 2 + n

    def close(self, thread, n):
        if thread.is_open:
            if n % 2:
                self.switch(thread, n)
            thread.is_open, thread.checkpoint = False, self.scn

    def open(self, thread, n):
        if not thread.is_open and thread.enabled != "DISABLED":
            self.switch(thread, n)
            thread.current.first, thread.is_open = self.scn, True

    def disable(self, thread, n):
        if not thread.is_open and thread.enabled != "DISABLED":
            self.switch(thread, n)
            thread.enabled, thread.disable = "DISABLED", self.scn

    def enable(self, thread, n):
        if thread.enabled == "DISABLED":
            thread.current = thread.current or self._log(thread.number, self._next(thread.number), self.scn)
            thread.current.first = self.scn
            thread.enabled, thread.checkpoint = "PUBLIC", self.scn
            thread.enable = thread.enabled_at = self.scn
            thread.disable = thread.disable if n % 2 else None

    def drop(self, thread, n):
        if thread.enabled == "DISABLED" and not any(g.is_pending and g.next for g in self.logs if g.thread == thread.number):
            self.logs = [g for g in self.logs if g is not thread.current]
            self.dropped.add(thread.number)
            del self.threads[thread.number]

    def retire(self, thread, n):
        """Close, disable and drop a thread."""
        self.close(thread, n)
        self.disable(thread, n)
        for log in [g for g in self.logs if g.thread == thread.number and g.is_pending and g.next]:
            self._archive(log, 1)
        self.drop(thread, n)

    def archive(self, number, n):
        """Archive a log, in any order. The standby may come first, or an archiver may not finish."""
        due = self._chosen(number, n // 4, lambda g: g.is_pending and g.next is not None)
        if due is not None and n % 4 < 2:
            due.copies[LOCAL[0] if n % 4 else STANDBY] = "busy" if n % 4 else "A"
        elif due is not None:
            self._archive(due, 1 + n % 2)

    def damage(self, number, n):
        log = self._chosen(number, n // 4, lambda g: not g.is_pending)
        if log is not None:
            dest = LOCAL[n % len(LOCAL)]
            log.copies[dest if dest in log.copies else LOCAL[0]] = ("D", "U", "X", "cleared")[n % 4]

    def hide(self, number, n):
        log = self._chosen(number, n, lambda g: not g.is_pending)
        if log is not None:
            log.is_hidden = True

    def restore(self, number, n):
        log = self._chosen(number, n, lambda g: not g.is_pending and not g.is_available)
        if log is not None:
            log.is_hidden, log.copies[LOCAL[0]] = False, "A"

    def forget(self, n):
        """Drop the oldest rows of V$LOG_HISTORY and V$ARCHIVED_LOG, as a control file reuses its records."""
        self.forgotten = min(len(self.traces), self.forgotten + n)
        for log in self.traces[: self.forgotten]:
            log.is_hidden = not log.is_pending

    def resetlogs(self, n):
        current, failed = self.lines[-1], n % 3 == 1
        unarchived = [g for g in self.logs if g.inc == current.id and g.is_pending and self._holds(g)]
        if not any(g.inc == current.id and self._holds(g) for g in self.logs):
            return  # an incarnation has redo: the instance that opens with RESETLOGS writes
        scn = self.scn - 4 * n if n % 3 == 2 else self.scn
        if failed:
            scn = min([scn, *(g.first for g in unarchived)])
        turned = [t.disable or 0 if t.enabled == "DISABLED" else t.enabled_at for t in self.threads.values()]
        if scn <= max([START, *turned]):
            return  # the control file would not fit the data
        if self.readings.ends_below and scn == current.first:
            return  # no log of this incarnation would be left, and its one SCN is lost: see test_window_edges.py
        for thread in self.threads.values():
            if thread.current is not None and thread.has_unswitched:
                self._end(thread)
            elif thread.current is not None:
                self.logs.remove(thread.current)
        for log in [g for g in self.logs if g.is_pending]:
            if failed:
                self.logs.remove(log)
                self.traces = [t for t in self.traces if t is not log]
            else:
                self._archive(log, 1)
        self._begin(scn)

    def _begin(self, scn):
        scn += self.readings.ends_below
        parent = max((i for i in self.line() if i.first < scn), key=lambda i: i.first)
        for line in self.line():
            line.status = "PARENT" if line.first <= parent.first else "ORPHAN"
        self.lines.append(Line(self.lines[-1].id + 1, scn, parent.first))
        self.scn = scn
        for thread in self.threads.values():
            thread.checkpoint, thread.current = scn, None
            if thread.enabled != "DISABLED":
                thread.current = self._log(thread.number, 1, scn)
                thread.enable = thread.enable if self.readings.keeps_enable else scn

    def _log(self, number, sequence, first):
        log = Log(number, sequence, self.lines[-1].id, first)
        self.logs.append(log)
        return log

    def _end(self, thread):
        thread.current.next = self.scn
        self.traces.append(thread.current)

    def _next(self, number):
        return 1 + max((g.sequence for g in self.logs if g.thread == number and g.inc == self.lines[-1].id), default=0)

    def _archive(self, log, copies):
        log.is_pending = False
        log.copies.update({dest: "A" for dest in LOCAL[:copies]})

    def _holds(self, log):
        thread = self.threads.get(log.thread)
        return log.next is not None or (thread is not None and thread.has_unswitched)

    def _chosen(self, number, n, fits):
        found = [g for g in self.logs if g.thread == number and fits(g)]
        return found[n % len(found)] if found else None

    # -- the truth

    def line(self):
        """Return the current incarnation and its ancestors, oldest first."""
        found = [self.lines[-1]]
        while found[0].prior:
            found.insert(0, next(i for i in self.lines if i.first == found[0].prior and i.status == "PARENT"))
        return found

    def spans(self, doubtful=False):
        """Yield each log of the lineage with the SCN range of its redo that counts.

        With `doubtful`, the last SCN before a RESETLOGS counts under both readings.
        """
        below = self.readings.ends_below and not doubtful
        line = self.line()
        for log in self.logs:
            at = next((n for n, i in enumerate(line) if i.id == log.inc), None)
            if at is None:
                continue
            end = FOREVER if log.next is None else log.next
            thread = self.threads.get(log.thread)
            if at + 1 < len(line):
                end = min(end, line[at + 1].first - below)
            elif thread is not None and not thread.is_open:
                end = min(end, thread.checkpoint)
            if log.first < end:
                yield log, log.first, end

    def records(self):
        """Return (scn, log) of every redo record that counts."""
        return {(scn, log.key) for log, first, end in self.spans() for scn in log.records if first <= scn < end}

    # -- the views

    def current_scn(self):
        return Scn(self.scn)

    def log_history(self):
        return tuple(LogFile(g.thread, g.sequence, g.inc, Scn(g.first), Scn(g.next)) for g in self.traces[self.forgotten :])

    def incarnations(self):
        return tuple(Incarnation(i.id, Scn(i.first), i.status, Scn(i.prior)) for i in self.lines)

    def _groups(self, number):
        """Return the current log, unarchived ones, and two whose groups are not overwritten yet."""
        own = [g for g in self.logs if g.thread == number and g.inc == self.lines[-1].id] if number in self.threads else []
        return [g for g in own if g.is_pending or g in own[-3:]]

    def online(self):
        return tuple(_log_file(g, is_archived=not g.is_pending) for number in self.threads for g in self._groups(number))

    def archived(self):
        logs = [_log_file(g, 10) for g in self.logs if g.copies and not g.is_hidden]
        void = [_void_file(g) for g in self.logs if g.void_end is not None]
        return (*logs, *void)

    def v_thread(self):
        return tuple(
            RedoThread(t.number, t.is_open, t.enabled, _never(t.checkpoint), Scn(t.enable), _never(t.disable))
            for t in self.threads.values()
        )


def _never(scn):
    return Scn(scn) if scn else None


def _log_file(log, size=0, is_archived=False):
    copies = tuple(_copy(dest, status) for dest, status in log.copies.items()) if size else ()
    return LogFile(log.thread, log.sequence, log.inc, Scn(log.first), _never(log.next), copies, size, is_archived=is_archived)


def _void_file(log):
    copy = LogCopy(LOCAL[1], "/void/x", "A")
    return LogFile(log.thread, log.sequence, log.inc, Scn(log.first), Scn(log.void_end), (copy,), 10)


def _copy(dest, status):
    return LogCopy(
        dest,
        None if status in ("D", "cleared") else f"/arch{dest}/x",
        status if status in "DUX" else "A",
        deleted=status == "D",
        standby=dest == STANDBY,
        archived=status != "busy",
    )


def read(history, between=()):
    """Read the views as source/facts.py does, and play the events of `between` after each, at the first reading."""
    parts = [*between, (), (), (), ()]
    while True:
        scn = history.current_scn()
        history.play(parts.pop(0) if parts else ())
        online, traces = history.online(), history.log_history()
        history.play(parts.pop(0) if parts else ())
        incarnations, archived = history.incarnations(), history.archived()
        history.play(parts.pop(0) if parts else ())
        threads = history.v_thread()
        history.play(parts.pop(0) if parts else ())
        if (switched(history.online()), history.log_history()) == (switched(online), traces):
            return RedoFacts(DBID, scn, threads, archived, online, incarnations, traces)


def switched(online):
    return {(g.thread, g.sequence, g.first_scn, g.next_scn) for g in online}
