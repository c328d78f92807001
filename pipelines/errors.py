"""What can go wrong, in two families by what the operator does.

RedolakeError
├── Transient            the same step again may work: Airflow retries it
│   ├── SourceUnavailable    network, listener, instance restarting
│   ├── SourceBusy           memory, locks, time-outs of a call
│   ├── LogOverdue           an archived log has been awaited longer than configured; the next run goes on waiting
│   ├── LedgerUnavailable    the ledger's database does not answer
│   ├── SnapshotTooEarly     a transaction must end, or a window land, first
│   └── LeaseHeld            another writer works on the same thing
└── Terminal             a person must choose; `cure` lists the choices
    ├── ConfigurationError   findings of validate, all at once
    ├── SourceRefused        password, privilege, unknown service
    ├── RedoLost             redo that is needed cannot be had any more
    ├── RedoNotUnderstood    a row, text or state of LogMiner that has no meaning we know
    ├── MiningIncomplete     LogMiner's answer is not provably whole
    ├── LandingConflict      what lies at a path is not what should lie there
    ├── LandingUnwritable    the landing refuses what is written: permission, full disk
    ├── LakeFull             Spark finds no space for what it writes
    ├── ValueDoesNotFit      a value the target type cannot hold
    ├── TableSetBack         a Delta table lacks commits that were applied to it
    ├── KeyNeeded            a row of a table that was declared append-only was changed, and nothing tells which one
    ├── NotLogged            supplemental logging was off: the redo does not tell which row a change is of
    ├── SchemaConflict       a DDL or dictionary state that is not followed
    ├── TableHeld            tables were held; the others went on
    ├── InvariantBroken      counts that must be equal are not
    └── FormatTooNew         written by a newer Redolake
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


class RedolakeError(Exception):
    """`what` happened, `where` (thread, sequence, SCN, table, file ...), and the `cure`."""

    def __init__(self, what: str, *, cure: str = "", ora_code: int | None = None, **where: object) -> None:
        self.what, self.cure, self.ora_code = what, cure, ora_code
        self.where: Mapping[str, object] = {k: v for k, v in where.items() if v is not None}
        super().__init__(what)

    @property
    def code(self) -> str:
        return type(self).__name__

    def __str__(self) -> str:
        where = ", ".join(f"{k} {v}" for k, v in self.where.items())
        return (
            f"{self.code}: {self.what}" + (f" ({where})" if where else "") + (f"\n  do this: {self.cure}" if self.cure else "")
        )

    def as_dict(self) -> dict[str, object]:
        where = {k: v if isinstance(v, int | float | bool) else str(v) for k, v in self.where.items()}
        return {"code": self.code, "what": self.what, "where": where, "cure": self.cure}

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.what, self.cure, self.ora_code, dict(self.where)))


def _rebuild(kind: type[RedolakeError], what: str, cure: str, ora_code: int | None, where: dict[str, object]) -> RedolakeError:
    error = kind.__new__(kind)
    RedolakeError.__init__(error, what, cure=cure, ora_code=ora_code, **where)
    return error


class Transient(RedolakeError):
    """The same step again may work."""


class Terminal(RedolakeError):
    """Stop; a person must choose."""


class SourceUnavailable(Transient):
    pass


class SourceBusy(Transient):
    pass


class LogOverdue(Transient):
    pass


class LedgerUnavailable(Transient):
    pass


class LeaseHeld(Transient):
    pass


class SnapshotTooEarly(Transient):
    pass


class SourceRefused(Terminal):
    pass


class RedoLost(Terminal):
    pass


class RedoNotUnderstood(Terminal):
    pass


class MiningIncomplete(Terminal):
    pass


class LandingConflict(Terminal):
    pass


class LandingUnwritable(Terminal):
    pass


class LakeFull(Terminal):
    pass


class ValueDoesNotFit(Terminal):
    pass


class TableSetBack(Terminal):
    pass


class KeyNeeded(Terminal):
    pass


class NotLogged(Terminal):
    pass


class SchemaConflict(Terminal):
    pass


class InvariantBroken(Terminal):
    pass


class FormatTooNew(Terminal):
    pass


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing wrong with configuration or source, with its cure."""

    subject: str
    what: str
    cure: str = ""
    severity: str = "error"  # error, warning, note

    def __str__(self) -> str:
        return f"{self.subject}: {self.what}" + (f"\n    do this: {self.cure}" if self.cure else "")


class ConfigurationError(Terminal):
    """Carries all findings, so that nobody mends them one by one."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__(
            "; ".join(f"{f.subject}: {f.what}" for f in findings), cure="; ".join(f.cure for f in findings if f.cure)
        )

    def __str__(self) -> str:
        return f"{len(self.findings)} finding(s):\n" + "\n".join(f"  - {f}" for f in self.findings)

    def __reduce__(self) -> tuple[object, ...]:
        return (ConfigurationError, (self.findings,))


class TableHeld(Terminal):
    """One finding per table that a batch has held; `outcome` is what the step would have returned."""

    def __init__(self, findings: Sequence[Finding], outcome: Mapping[str, object] | None = None) -> None:
        self.findings, self.outcome = tuple(findings), dict(outcome or {})
        what = "; ".join(f"{f.subject} is held: {f.what}" for f in findings)
        super().__init__(what, cure="; ".join(f"{f.subject}: {f.cure}" for f in findings) + "; the other tables have gone on")

    def __reduce__(self) -> tuple[object, ...]:
        return (TableHeld, (self.findings, self.outcome))


# ORA and DPY codes by number (facts: LOGMINER.md part 3), each in one table. What is in none is not understood: terminal.
UNAVAILABLE = frozenset(  # reconnect, and do the same step again
    {
        22, 28, 31, 45, 257, 376, 378, 602, 603, 609, 1001, 1002, 1012, 1033, 1034, 1041, 1043, 1089, 1090, 1092, 1109, 1115,
        1170, 1219, 1306, 1323, 1507, 3113, 3114, 3122, 3135, 12153, 12170, 12505, 12514, 12516, 12518, 12519, 12520, 12521,
        12528, 12535, 12537, 12541, 12543, 12545, 12547, 12570, 12571, 12583, 12757, 16456, 24338, 24457, 24459, 24496, 27146,
        28511, 56600,
    }
)  # fmt: skip
BUSY = frozenset(  # memory, locks, space, slaves of LogMiner: the same step again, later
    {
        54, 1013, 1280, 1303, 1304, 1315, 1327, 1328, 1341, 1652, 1653, 2391, 2396, 4021, 4030, 4031, 4036, 4068, 27102, 30036,
    }
)  # fmt: skip
REFUSED = frozenset({942, 1005, 1017, 1031, 1045, 1435, 6550, 28000, 28001, 65049, 65096})
STOPS = frozenset(  # known, and no repeat mends them; another copy of a log may (mine/copies.py)
    {
        308, 310, 312, 313, 334, 353, 354, 368, 600, 604, 904, 1281, 1282, 1283, 1284, 1285, 1286, 1287, 1289, 1290, 1291, 1292,
        1293, 1294, 1295, 1296, 1297, 1298, 1299, 1300, 1301, 1302, 1307, 1308, 1309, 1310, 1311, 1312, 1313, 1314, 1316, 1317,
        1318, 1319, 1320, 1321, 1322, 1324, 1325, 1326, 1329, 1330, 1331, 1332, 1333, 1334, 1335, 1336, 1337, 1338, 1339, 1340,
        1342, 1343, 1346, 1347, 1349, 1350, 1351, 1352, 1353, 1354, 1355, 1356, 1358, 1368, 1371, 1403, 1422, 1466, 1555, 1882,
        8180, 8181, 8186, 12154, 16000, 22924, 25191, 25303, 26653, 27037, 28002, 31603, 32589, 44609, 44613, 60526, 65040,
    }
)  # fmt: skip
UNAVAILABLE_DRIVER = frozenset(
    {"DPY-1001", "DPY-4005", "DPY-4011", "DPY-4033", "DPY-6000", "DPY-6001", "DPY-6003", "DPY-6005"}
)  # fmt: skip
BUSY_DRIVER = frozenset({"DPY-4024"})


def kind_of_ora(code: int, full_code: str = "") -> type[RedolakeError]:
    """The family of an error by its number, or by the driver's own code where it has none; one in no table is terminal."""
    if code in REFUSED:
        return SourceRefused
    if code in BUSY or (code == 0 and full_code in BUSY_DRIVER):
        return SourceBusy
    if code in UNAVAILABLE or (code == 0 and full_code in UNAVAILABLE_DRIVER):
        return SourceUnavailable
    return Terminal
