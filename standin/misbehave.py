"""What can go wrong with an Oracle, as levers on a running stand-in: `oracle.misbehave` in tests and the demo, and
`python -m standin misbehave NAME` on one that runs in a process of its own.

A lever moves the model (files, control file, threads, incarnations, sockets); what clients then see follows from it.
A lever with an opposite may be pulled for some seconds. Logs are chosen by thread, sequences and destination; what is left
out does not restrict. Logs of incarnations before the current one are chosen by their RESETLOGS_ID only.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from standin.engine.archived_logs import Damage, LogChoice
from standin.interface import OraError
from standin.model import ArchivedCopy, DatabaseIncarnation

if TYPE_CHECKING:
    from standin.engine.instance import Database
    from standin.wire.server import Listener

Method = TypeVar("Method", bound=Callable[..., Any])
_OPPOSITE = "_lever_opposite"


def lever(opposite: str | None = None) -> Callable[[Method], Method]:
    """Marks a method as a lever; `opposite` is the one that ends what it does."""

    def mark(method: Method) -> Method:
        setattr(method, _OPPOSITE, opposite or "")
        return method

    return mark


class Misbehaviour:
    """The levers of one stand-in. Each method takes effect before it returns and may be called from any thread."""

    def __init__(self, database: Database, listener: Listener) -> None:
        self._database, self._listener = database, listener
        self._timers: list[threading.Timer] = []

    # -- the archiver

    @lever(opposite="catch_up_archiver")
    def lag_archiver(self, thread: int) -> None:
        """The thread's switched logs stay ACTIVE and unarchived, in V$LOG only; the database gets more groups and goes on."""
        self._database.archiver.hold(thread)

    @lever()
    def catch_up_archiver(self, thread: int) -> None:
        """Archive what the thread's lag has left."""
        self._database.archiver.release(thread)

    @lever(opposite="free_archiver")
    def stick_archiver(self) -> None:
        """All destinations are full (ORA-19809): nothing is archived any more. Once a thread has no free group its writers
        wait; logons but SYS's are refused with ORA-00257, sessions that only read go on."""
        self._database.archiver.fill_destinations()

    @lever()
    def free_archiver(self) -> None:
        """There is room again: the backlog is archived, those who waited go on."""
        self._database.archiver.clear_destinations()

    # -- archived logs

    @lever(opposite="restore_logs")
    def purge_logs(
        self,
        thread: int | None = None,
        from_sequence: int | None = None,
        to_sequence: int | None = None,
        dest_id: int | None = None,
        resetlogs_id: int | None = None,
    ) -> list[ArchivedCopy]:
        """RMAN DELETE ARCHIVELOG: the files go, the rows say DELETED = YES, STATUS = D and no NAME. The copies as they were."""
        return self._damage(Damage.PURGED, thread, from_sequence, to_sequence, dest_id, resetlogs_id)

    @lever(opposite="restore_logs")
    def remove_files(
        self,
        thread: int | None = None,
        from_sequence: int | None = None,
        to_sequence: int | None = None,
        dest_id: int | None = None,
        resetlogs_id: int | None = None,
    ) -> list[ArchivedCopy]:
        """`rm`: the files go, V$ARCHIVED_LOG still lists them as available."""
        return self._damage(Damage.REMOVED, thread, from_sequence, to_sequence, dest_id, resetlogs_id)

    @lever(opposite="restore_logs")
    def age_out_records(
        self,
        thread: int | None = None,
        from_sequence: int | None = None,
        to_sequence: int | None = None,
        dest_id: int | None = None,
        resetlogs_id: int | None = None,
    ) -> list[ArchivedCopy]:
        """CONTROL_FILE_RECORD_KEEP_TIME: the rows leave V$ARCHIVED_LOG, the files stay; V$LOG_HISTORY still knows of them."""
        return self._damage(Damage.AGED_OUT, thread, from_sequence, to_sequence, dest_id, resetlogs_id)

    @lever(opposite="restore_logs")
    def truncate_files(
        self,
        thread: int | None = None,
        from_sequence: int | None = None,
        to_sequence: int | None = None,
        dest_id: int | None = None,
        resetlogs_id: int | None = None,
    ) -> list[ArchivedCopy]:
        """Cut off the second half: ADD_LOGFILE takes the header, the fetch fails with ORA-00353."""
        return self._damage(Damage.TRUNCATED, thread, from_sequence, to_sequence, dest_id, resetlogs_id)

    @lever(opposite="restore_logs")
    def overwrite_files(
        self,
        thread: int | None = None,
        from_sequence: int | None = None,
        to_sequence: int | None = None,
        dest_id: int | None = None,
        resetlogs_id: int | None = None,
    ) -> list[ArchivedCopy]:
        """Another log of the thread under the same name: its header tells another sequence than the view (ORA-00310 when it
        happens between ADD_LOGFILE and the fetch)."""
        return self._damage(Damage.OVERWRITTEN, thread, from_sequence, to_sequence, dest_id, resetlogs_id)

    @lever(opposite="restore_logs")
    def garble_files(
        self,
        thread: int | None = None,
        from_sequence: int | None = None,
        to_sequence: int | None = None,
        dest_id: int | None = None,
        resetlogs_id: int | None = None,
    ) -> list[ArchivedCopy]:
        """Files of garbage: ADD_LOGFILE fails with ORA-01285."""
        return self._damage(Damage.GARBLED, thread, from_sequence, to_sequence, dest_id, resetlogs_id)

    @lever()
    def restore_logs(
        self,
        thread: int | None = None,
        from_sequence: int | None = None,
        to_sequence: int | None = None,
        dest_id: int | None = None,
        resetlogs_id: int | None = None,
    ) -> list[ArchivedCopy]:
        """RMAN RESTORE (or CATALOG) ARCHIVELOG: every chosen log that a lever took is back under its name, with its content;
        one whose row was marked or is gone gets a new row. The copies that are back."""
        choice = LogChoice(thread, from_sequence, to_sequence, dest_id, resetlogs_id)
        with self._database.lock:
            return [replace(copy) for copy in self._database.archived_logs.restore(choice)]

    @lever(opposite="show_destination")
    def hide_destination(self, dest_id: int) -> None:
        """Its folder may not be entered (mode 000): ADD_LOGFILE fails with ORA-01284 and ORA-27041. What is
        archived meanwhile has no copy there, V$ARCHIVE_DEST says ERROR; without another destination the archiver is stuck.
        """
        with self._database.lock:
            self._database.archived_logs.hide(dest_id)

    @lever()
    def show_destination(self, dest_id: int) -> None:
        """The folder may be entered again."""
        with self._database.lock:
            self._database.archived_logs.show(dest_id)
            self._database.archiver.work()

    # -- redo threads

    @lever(opposite="open_thread")
    def close_thread(self, thread: int) -> None:
        """That instance shuts down cleanly: its sessions end, its last log is archived, its checkpoint is its end."""
        self._database.redo_threads.close(thread)

    @lever()
    def open_thread(self, thread: int) -> None:
        """Start that instance. The next log goes on in sequence and begins at a fresh SCN: a gap in SCNs only."""
        self._database.redo_threads.open(thread)

    @lever()
    def add_thread(self, thread: int, public: bool = True) -> None:
        """A new instance: log groups added, thread enabled (PRIVATE unless `public`), opened."""
        threads = self._database.redo_threads
        with self._database.lock:
            threads.add(thread)
            threads.enable(thread, public=public)
            threads.open(thread)

    @lever()
    def disable_thread(self, thread: int) -> None:
        """ALTER DATABASE DISABLE THREAD of a closed thread."""
        self._database.redo_threads.disable(thread)

    @lever()
    def drop_thread(self, thread: int) -> None:
        """Drop the log groups of a disabled thread: it leaves V$THREAD and V$LOG, its archived logs remain."""
        self._database.redo_threads.drop(thread)

    # -- incarnations

    @lever()
    def reset_logs(self, to_scn: int | None = None) -> DatabaseIncarnation:
        """ALTER DATABASE OPEN RESETLOGS: every session ends; a new incarnation whose sequences start at 1.

        Without `to_scn` nothing is lost, and the archived logs of the old incarnation end at RESETLOGS_CHANGE#. With it the
        database is flashed back first: data and CURRENT_SCN are as they were then, RESETLOGS_CHANGE# is the next SCN, and the
        old incarnation's logs beyond it stay in V$ARCHIVED_LOG. Transactions open at that SCN are rolled back by the
        new incarnation. ORA-38729 when a table was altered, truncated or dropped since.
        """
        recovery = self._database.recovery
        with self._database.lock:
            recovery.mount()
            if to_scn is not None:
                recovery.flash_back(to_scn)
            else:
                recovery.recover_until_cancel()
            born = replace(recovery.open_resetlogs())
        self._listener.drop_clients()
        return born

    @lever()
    def fail_over(self, logs_behind: int = 0) -> DatabaseIncarnation:
        """The host is lost and its standby takes over without the redo that had not arrived: a RESETLOGS incarnation.

        What was in no archived log is gone from the data. `logs_behind` archived logs of each thread had not arrived either: a
        reader may have mined them already. The new primary has its own DB_UNIQUE_NAME and folders, and knows only what arrived.
        """
        with self._database.lock:
            born = replace(self._database.recovery.fail_over(logs_behind))
        self._listener.drop_clients()
        return born

    # -- the network

    @lever(opposite="mend_network")
    def cut_network(self, after_rows: int = 0, times: int = 1) -> None:
        """Hang up in the middle of a fetch's response, once the result has given more than `after_rows` rows; so many times."""
        self._listener.meddling.cut_fetches(after_rows, times)

    @lever()
    def mend_network(self) -> None:
        """No fetch is cut and no call left waiting any more."""
        self._listener.meddling.cut_fetches(None)
        self._listener.meddling.stall(False)

    @lever(opposite="mend_network")
    def stall_network(self) -> None:
        """No call of any session is answered: it hangs until it is mended, or the client's call_timeout ends it (DPY-4024)."""
        self._listener.meddling.stall(True)

    @lever(opposite="mend_fetches")
    def fail_fetches(self, code: int = 4036, after_rows: int = 0, times: int = 1) -> None:
        """The server process fails in the middle of a fetch, with an error such as ORA-04036, ORA-00310 or ORA-00600."""
        self._listener.meddling.fail_fetches(code, after_rows, times)

    @lever()
    def mend_fetches(self) -> None:
        """No fetch fails any more."""
        self._listener.meddling.fail_fetches(None)

    @lever(opposite="admit_clients")
    def refuse_clients(self, code: int = 12514) -> None:
        """The listener turns new clients away with this code; sessions that are there go on."""
        self._listener.meddling.refuse = code

    @lever()
    def admit_clients(self) -> None:
        """The listener takes clients again."""
        self._listener.meddling.refuse = None

    @lever(opposite="start_listener")
    def stop_listener(self) -> None:
        """Nobody listens on the port (ORA-12541); sessions that are there go on."""
        self._listener.stop_listening()

    @lever()
    def start_listener(self) -> None:
        """Listen again, on the same port."""
        self._listener.listen_again()

    @lever()
    def kill_sessions(self, user: str) -> int:
        """ALTER SYSTEM KILL SESSION for all sessions of the user (ORA-00028, DPY-4011 in the driver). How many."""
        with self._database.lock:
            numbers = [s.number for s in self._database.sessions.values() if s.user == user.upper()]
            for number in numbers:
                self._database.kill(number)
        return len(numbers)

    # -- by name

    def pull(self, name: str, options: Mapping[str, Any] | None = None, seconds: float | None = None) -> Any:
        """Pull a lever by its name (`lag-archiver`) with options by theirs; for `seconds` when it has an opposite.

        Raises ValueError for a name or an option that does not exist, OraError when the database cannot do it.
        """
        known = levers().get(name)
        if known is None:
            raise ValueError(f"there is no lever {name}; there are {', '.join(levers())}")
        given = known.checked(options or {})
        if seconds is not None and known.opposite is None:
            raise ValueError(f"{name} has no opposite, so it cannot be pulled for some seconds")
        result = getattr(self, known.method)(**given)
        if seconds is not None and known.opposite is not None:
            opposite = levers()[known.opposite]
            self._later(seconds, opposite, {k: v for k, v in given.items() if k in opposite.options})
        return result

    def _later(self, seconds: float, opposite: Lever, options: dict[str, Any]) -> None:
        timer = threading.Timer(seconds, getattr(self, opposite.method), kwargs=options)
        timer.daemon = True
        self._timers.append(timer)
        timer.start()

    def close(self) -> None:
        """Forget what was to end later, and make the folders of destinations removable again."""
        for timer in self._timers:
            timer.cancel()
        self._database.archived_logs.show_all()

    def _damage(
        self,
        damage: Damage,
        thread: int | None,
        first: int | None,
        last: int | None,
        dest_id: int | None,
        resetlogs: int | None,
    ) -> list[ArchivedCopy]:
        choice = LogChoice(thread, first, last, dest_id, resetlogs)
        with self._database.lock:
            return self._database.archived_logs.damage(damage, choice)


@dataclass(frozen=True, slots=True)
class Lever:
    """A lever as the command line shows it: its name, its options with their types, what it does, what ends it."""

    name: str
    method: str
    options: Mapping[str, inspect.Parameter]
    does: str
    opposite: str | None

    def checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The options as the method takes them; texts become what the annotation says."""
        unknown = given.keys() - self.options.keys()
        if unknown:
            raise ValueError(
                f"{self.name} has no option {', '.join(sorted(unknown))}; it has {', '.join(self.options) or 'none'}"
            )
        lacking = [n for n, p in self.options.items() if p.default is inspect.Parameter.empty and n not in given]
        if lacking:
            raise ValueError(f"{self.name} needs {', '.join(lacking)}")
        return {name: _converted(name, value, str(self.options[name].annotation)) for name, value in given.items()}


def _converted(name: str, value: Any, annotation: str) -> Any:
    if not isinstance(value, str) or annotation.startswith("str"):
        return value
    if annotation.startswith("bool"):
        if value.lower() not in ("true", "false", "yes", "no"):
            raise ValueError(f"{name} is true or false, not {value}")
        return value.lower() in ("true", "yes")
    if not value.isdigit():
        raise ValueError(f"{name} is a whole number, not {value}")
    return int(value)


def levers() -> dict[str, Lever]:
    """All levers by name, in the order they are declared."""
    found = {}
    for method, function in vars(Misbehaviour).items():
        opposite = getattr(function, _OPPOSITE, None)
        if opposite is not None:
            options = dict(list(inspect.signature(function).parameters.items())[1:])
            name, end = method.replace("_", "-"), opposite.replace("_", "-") or None
            found[name] = Lever(name, method, options, " ".join((function.__doc__ or "").split()), end)
    return found


__all__ = ["Lever", "Misbehaviour", "OraError", "lever", "levers"]
