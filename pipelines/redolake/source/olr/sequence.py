"""The order of messages: nothing is missing in it, transactions are whole, and a window ends where a checkpoint proves it.

A checkpoint says that a group of redo blocks (LWN) was read whole. It is not ordered against the SCNs of commits, so a window
ends at a checkpoint only after the next one has come, and no transaction between them commits before the window's end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from redolake.errors import StreamLost
from redolake.source.olr.messages import BEGIN, CHANGES, COMMIT, DDL, Checkpoint, Message, no_checkpoints

READ_AGAIN = (
    "restart OpenLogReplicator: it reads again from its last confirmed checkpoint, and Redolake goes on where the last window "
    "ended. If the error stays, run `redolake recover`"
)


Logs = Mapping[int, tuple[int, int | None]]  # by sequence: the first SCN, and that of the next log where it has ended


MOST_COMMITS = 100_000  # without a checkpoint: one follows each group of redo, which has far fewer
MOST_CUTS = 20_000  # that are kept in memory; beyond, every second one is


@dataclass(frozen=True, slots=True)
class Anchor:
    """The checkpoint at which a window ends, and an earlier one, which may be confirmed: OpenLogReplicator then still sends the
    anchor, also after its restart.

    A window of several redo threads ends where the slowest stream has been read. Of another one, what commits below that end
    has landed up to a later checkpoint too: `until_sequence` and `until_offset`."""

    c_scn: int
    sequence: int
    offset: int
    confirm_scn: int | None = None
    confirm_idx: int | None = None
    until_sequence: int | None = None
    until_offset: int | None = None

    FORMAT: ClassVar[int] = 2

    def is_at(self, checkpoint: Checkpoint) -> bool:
        return (self.c_scn, self.sequence, self.offset) == (checkpoint.c_scn, checkpoint.sequence, checkpoint.offset)

    def is_before(self, checkpoint: Checkpoint) -> bool:
        return (self.sequence, self.offset) < (checkpoint.sequence, checkpoint.offset)

    def has_until(self, checkpoint: Checkpoint | None) -> bool:
        """Return whether redo before the checkpoint, or none yet, may contain what has landed after the anchor."""
        if self.until_sequence is None or self.until_offset is None:
            return False
        return checkpoint is None or (checkpoint.sequence, checkpoint.offset) < (self.until_sequence, self.until_offset)


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a window may end: `end` is its end SCN, `rows` the number of rows up to there. Without an anchor, the stream begins
    again where it was started."""

    end: int
    rows: int
    anchor: Anchor | None
    seconds: int | None


@dataclass(slots=True)
class _Open:
    xid: str
    commit_scn: int
    next_number: int = 0


class Sequencer:
    """Takes the messages of one connection. `start` is where the window begins.

    With an anchor, everything up to it was landed before; without one, what committed before `start`. `logs` are those that the
    control file shows of the redo thread.
    """

    def __init__(self, start: int, anchor: Anchor | None, logs: Logs | None = None) -> None:
        self._start, self.anchor, self._logs = start, anchor, logs or {}
        self._is_past = anchor is None
        self._last: tuple[int, int] | None = None
        self._begins_at: int | None = None  # the number of the first message of an SCN
        self._open: _Open | None = None
        self._highest = start - 1  # commit SCN so far
        self._commits = 0  # since the last checkpoint
        self._checkpoint: Checkpoint | None = None
        self._confirm: Checkpoint | None = None  # an earlier one, of a lower SCN
        self._proposed: Cut | None = None
        self._latest: Cut | None = None  # at the last checkpoint, proved or not
        self._first: Cut | None = None  # where nothing of the window has come yet
        self._earlier: list[Cut] = []  # proved ones
        self.cut: Cut | None = None  # the last one that is proved
        self.read_to = 0  # the SCN of the last checkpoint

    @property
    def is_past_anchor(self) -> bool:
        return self._is_past

    @property
    def lacks_checkpoints(self) -> bool:
        """Return whether whole transactions have come, and no checkpoint."""
        return self._commits > 0 and self._checkpoint is None and self._open is None

    @property
    def checkpoint(self) -> Checkpoint | None:
        """The last one."""
        return self._checkpoint

    @property
    def _is_landed_too(self) -> bool:
        """Return whether what commits below the window's start has landed, although it comes after the anchor."""
        return self.anchor is not None and self.anchor.has_until(self._checkpoint)

    def cut_at(self, end: int) -> Cut | None:
        """Return the proved cut, moved back to a lower end: rows of commits from there on are not the window's, and the next
        receiver begins where none of them had come."""
        proved = self.cut
        if proved is None or proved.end == end:
            return proved
        return self._cut_before(proved, end)

    def end_of_thread(self, end: int, following: int | None) -> Cut | None:
        """Return the cut at the last checkpoint, if the thread has no redo after it: it was closed at SCN `end`, and the next
        log begins at SCN `following`, None where there is none. No later checkpoint comes that would prove it."""
        last, latest = self._checkpoint, self._latest
        if last is None or latest is None or self._is_landed_too:
            return None
        is_whole = last.c_scn >= end - 1 or (last.ends_log and (following is None or following >= end))
        return latest if is_whole else None

    def at_end_of_thread(self, found: Cut, end: int) -> Cut:
        """Return the cut at a closed thread's end for a window that ends at `end`."""
        return replace(found, end=end) if found.end <= end else self._cut_before(found, end)

    def _cut_before(self, proved: Cut, end: int) -> Cut:
        earlier = [cut for cut in self._earlier if cut.end <= end]
        base = (earlier[-1] if earlier else self._first) if self.anchor is None or earlier else None
        anchor = self.anchor if base is None else base.anchor
        until = proved.anchor
        if anchor is not None and until is not None:
            anchor = replace(anchor, until_sequence=until.sequence, until_offset=until.offset)
        return replace(proved, end=end, anchor=anchor)

    def take(self, message: Message) -> bool:
        """Return whether the message is one of the window's. Raises StreamLost where something is missing, and
        ReplicatorRefused where no checkpoints come.

        Before the anchor nothing is checked: it was landed, and a confirmation may have cut it anywhere.
        """
        self._commits += message.kind == COMMIT
        if self._commits > MOST_COMMITS:
            raise no_checkpoints(f"{self._commits:,} transactions have come since the last one")
        if not self._is_past:
            return False
        self._check_number(message)
        self._check_transaction(message)
        if message.commit_scn < self._start and (self.anchor is None or self._is_landed_too):
            return False
        if message.kind == BEGIN:
            self._check_commit(message)
        return True

    def _check_number(self, message: Message | Checkpoint) -> None:
        """Raise StreamLost for a hole. Numbers begin again whenever the SCN changes, which it may do without a message: at 1 in
        1.9.0, as one was seen to do, or at 0."""
        last, self._last = self._last, (message.c_scn, message.c_idx)
        if last is not None and self._last == (last[0], last[1] + 1):
            return
        if last is None and self.anchor is not None:
            return
        if message.c_idx in (0, 1) and self._begins_at in (None, message.c_idx):
            self._begins_at = message.c_idx
            return
        if last is None:
            raise lost(f"the stream begins with message {message.c_idx} of SCN {message.c_scn}", message)
        raise lost(
            f"message {message.c_idx} of SCN {message.c_scn} follows message {last[1]} of SCN {last[0]}: some are missing",
            message,
        )

    def _check_log(self, found: Checkpoint) -> None:
        """Raise StreamLost unless the redo goes on in the same log, or in the next one."""
        self._check_range(found)
        before = self._checkpoint
        if before is None:
            self._check_first(found)
            return
        if found.sequence not in (before.sequence, before.sequence + 1):
            raise lost(f"log {found.sequence} follows log {before.sequence}: logs between them were left out", found)
        if found.sequence == before.sequence and found.offset < before.offset:
            raise lost(f"offset {found.offset} follows offset {before.offset} of log {found.sequence}", found)

    def _check_range(self, found: Checkpoint) -> None:
        """Raise StreamLost where the checkpoint's SCN is not of the log that it names: that log is of another redo thread,
        database or incarnation. The SCN of a group of redo may be one below that of its first change."""
        first, following = self._logs.get(found.sequence, (0, None))
        if found.c_scn < first - 1 or (following is not None and found.c_scn > following):
            what = f"a checkpoint of SCN {found.c_scn} names log {found.sequence}"
            raise lost(f"{what}, which has the SCNs [{first}, {following or 'open'}) by the control file", found)

    def _check_first(self, found: Checkpoint) -> None:
        """Raise StreamLost where a stream that was started begins after the log that contains the start, or the next one, if
        that log has no more redo."""
        if self.anchor is not None:
            return
        at = self._start
        number = max((n for n, (first, end) in self._logs.items() if first <= at and (end is None or at < end)), default=None)
        if number is not None and found.sequence > number + 1:
            raise lost(f"the stream begins in log {found.sequence}, and SCN {at} is in log {number}", found)

    def _check_transaction(self, message: Message) -> None:
        now = self._open
        if message.kind == BEGIN:
            if now is not None:
                raise lost(f"transaction {now.xid} has no commit, and transaction {message.xid} begins", message)
            self._open = _Open(message.xid, message.commit_scn)
            return
        if now is None or (now.xid, now.commit_scn) != (message.xid, message.commit_scn):
            raise lost(f"a message of transaction {message.xid} came without its begin (`message` must be 2)", message)
        if message.kind in CHANGES and message.number != now.next_number:
            raise lost(
                f"change {message.number} of transaction {message.xid} came, and {now.next_number} was next: some are missing",
                message,
            )
        if message.kind in (*CHANGES, DDL):
            now.next_number += 1
        if message.kind == COMMIT:
            self._open = None

    def _check_commit(self, message: Message) -> None:
        if message.commit_scn < self._start:
            raise lost(
                f"transaction {message.xid} committed at SCN {message.commit_scn}, and everything below SCN {self._start} "
                "had come",
                message,
            )
        self._highest = max(self._highest, message.commit_scn)
        if self._proposed is not None and message.commit_scn < self._proposed.end:
            self._proposed = None

    def take_checkpoint(self, found: Checkpoint, rows: int) -> None:
        """Take a checkpoint after so many rows. Raises StreamLost where something is missing."""
        if self._open is not None:
            raise lost(f"transaction {self._open.xid} has no commit, and a checkpoint came", found)
        anchor = self.anchor
        if not self._is_past and anchor is not None:
            if anchor.is_at(found):
                self._is_past = True
            elif anchor.is_before(found):
                raise lost(
                    f"the stream begins after the end of the last window, which is at offset {anchor.offset} of log "
                    f"{anchor.sequence}",
                    found,
                )
        if self._is_past:
            self._check_number(found)
            self._check_log(found)
        self.read_to = max(self.read_to, found.c_scn)
        if self._is_past:
            self._propose(found, rows)
        self._commits = 0
        previous, self._checkpoint = self._checkpoint, found
        if previous is not None and previous.c_scn < found.c_scn:
            self._confirm = previous

    def _propose(self, found: Checkpoint, rows: int) -> None:
        """Take the checkpoint before for proved, and propose this one."""
        if self._proposed is not None:
            self._keep(self._proposed)
        earlier = self._checkpoint if self._checkpoint is not None and self._checkpoint.c_scn < found.c_scn else self._confirm
        confirm = (None, None) if earlier is None else (earlier.c_scn, earlier.c_idx)
        anchor = Anchor(found.c_scn, found.sequence, found.offset, *confirm)
        self._latest = Cut(max(self._highest + 1, found.c_scn), rows, anchor, found.seconds)
        is_landed = self.anchor is not None and self.anchor.has_until(found)
        self._proposed = self._latest if self._latest.end > self._start and not is_landed else None
        if self._latest.end <= self._start:
            self._first = self._latest

    def _keep(self, proved: Cut) -> None:
        self.cut = proved
        self._earlier.append(proved)
        if len(self._earlier) > MOST_CUTS:
            del self._earlier[::2]


def lost(what: str, message: Message | Checkpoint) -> StreamLost:
    where = {"sequence": message.sequence, "offset": message.offset} if isinstance(message, Checkpoint) else {}
    return StreamLost(what, cure=READ_AGAIN, c_scn=message.c_scn, c_idx=message.c_idx, **where)
