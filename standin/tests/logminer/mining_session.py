"""A LogMiner session on a plain database state and hand-made log files, without the engine."""

from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

from standin.engine.settings.options import DatabaseOptions
from standin.logminer import package
from standin.model import PDB, DatabaseIncarnation, DatabaseState, SqlType, TableColumn, TableDef, User
from standin.redo_file import LogHeader, Op, RedoRecord, write_log

AT = datetime(2026, 2, 28, 13, 45, 59)
TABLE = 100
RESETLOGS = 7


def database_state() -> DatabaseState:
    columns = [TableColumn("ID", SqlType("NUMBER"), 1), TableColumn("NAME", SqlType("VARCHAR2", 4000), 2)]
    table = TableDef("S", "T", PDB, TABLE, TABLE, 1, columns)
    incarnation = DatabaseIncarnation(1, 1, AT, 0, RESETLOGS)
    miner = User("C##M", "x", 1, privileges={"LOGMINING"})
    return DatabaseState(users={"C##M": miner}, tables={(PDB, "S", "T"): table}, incarnations=[incarnation])


@dataclass
class MiningSession:
    """A database session that mines; `log` writes a log file and returns its name."""

    folder: Path
    state: DatabaseState = field(default_factory=database_state)

    def __post_init__(self) -> None:
        database = SimpleNamespace(state=self.state, lock=nullcontext(), options=DatabaseOptions())
        self.session = SimpleNamespace(
            package_state={},
            nls={},
            container=1,
            user="C##M",
            account=self.state.users["C##M"],
            database=database,
            on_standby=False,
        )

    def log(self, sequence, first, end, records=(), *, thread=1, dbid=None, resetlogs=RESETLOGS, name=None) -> str:
        path = self.folder / (name or f"{thread}_{sequence}.arc")
        records = list(records)
        for number, record in enumerate(records):
            record.thread, record.sequence, record.block = thread, sequence, number + 2
        header = LogHeader(
            dbid or self.state.dbid,
            "FREE",
            resetlogs,
            1,
            thread,
            sequence,
            first,
            AT.isoformat(),
            end,
            AT.isoformat(),
            len(records),
        )
        write_log(path, header, records)
        return str(path)

    def add(self, *names) -> None:
        for number, name in enumerate(names):
            package.add_logfile(self.session, name, 1 if number == 0 else 3)

    def start(self, start=0, end=0, options=16 + 64 + 2048) -> None:
        package.start_logmnr(self.session, start, end, None, None, "", options)

    def select(self, *columns) -> list:
        """Return rows of V$LOGMNR_CONTENTS as tuples, or plain values for one column."""
        rows = []
        for batch in package.contents_rows(self.session, frozenset(columns)):
            lists = [batch.column(name).to_pylist() for name in columns]
            rows += lists[0] if len(columns) == 1 else zip(*lists, strict=True)
        return rows


def number(n: int) -> bytes:
    return bytes([0xC1, n + 1])


def insert(scn: int, key: int, name: str = "a", **fields) -> RedoRecord:
    values = {
        "con_id": PDB,
        "object_id": TABLE,
        "data_object_id": TABLE,
        "object_version": 1,
        "row_id": "AAAR3sAAEAAAACXAAA",
        **fields,
    }
    return RedoRecord(
        scn, Op.INSERT, (1, 2, 3), after={1: number(key), 2: name.encode()}, at=AT, user="SHOP", start_scn=scn, **values
    )


def boundary(scn: int, op: Op, start_scn: int = 0) -> RedoRecord:
    return RedoRecord(scn, op, (1, 2, 3), con_id=PDB, at=AT, user="SHOP", start_scn=start_scn)
