"""One record of each kind that Redolake writes as JSON."""

from __future__ import annotations

from typing import Any

from redolake.reconcile.redo_loss import LostPosition, MissingLogFile, MissingLogReport
from redolake.records.approvals import Approval
from redolake.records.batches.attempt import Attempt, TableWork
from redolake.records.batches.carry import OpenTransaction, ParkedRows
from redolake.records.batches.manifest import CARRIED_IN, BatchResult, DroppedRows, HistoryFact, RowAccount, TableResult
from redolake.records.batches.spec import (
    BatchSpec,
    ColumnChange,
    Course,
    Destination,
    DroppedXid,
    HoldAt,
    LandedWindow,
    Redo,
    TableTask,
)
from redolake.records.captured import CapturedTables
from redolake.records.closed import ClosedTable
from redolake.records.continued import BatchPrepared
from redolake.records.dictionary import DictionaryContent, DictionaryReading
from redolake.records.drops import DroppedTransaction
from redolake.records.file_digest import FileDigest
from redolake.records.gaps import DeclaredGap
from redolake.records.handover import FirstPosition
from redolake.records.jobs import JobFailure
from redolake.records.keys import LandingKey
from redolake.records.lakes import LakeMark, LakePlace
from redolake.records.loads import SnapshotLoaded, SnapshotResult, SnapshotSpec, SnapshotTask
from redolake.records.maintenance import MaintainedTable, MaintenanceResult, MaintenanceSpec, MaintenanceTask
from redolake.records.pauses import SnapshotPause
from redolake.records.proofs import FoundRow, FoundRows, HashedChunk, HashingBegun, TableProof
from redolake.records.pruned import KnownVersion, Pruned, PrunedTable, PruneStep
from redolake.records.shown_facts import (
    Choice,
    ChoicesFact,
    FailureFact,
    LogFact,
    PlanFact,
    ProofFact,
    QuarantineFact,
    RedoFact,
    RunwayFact,
    SettingsFact,
    SnapshotFact,
    SourceFact,
    StreamFact,
    StreamsFact,
    ThreadFact,
)
from redolake.records.single_quotes import DoubtfulWindows, SingleQuotes
from redolake.records.snapshots import (
    ChunkManifest,
    ChunkPlan,
    ChunkScn,
    RedoNeededFrom,
    SnapshotBegun,
    SnapshotGivenUp,
    SnapshotManifest,
)
from redolake.records.split import SplitTransaction, SplitTransactions, TransactionName
from redolake.records.unlisted import NobodyListed
from redolake.records.windows import DdlRow, LogIdentity, LogTally, SliceRecord, WindowManifest, WindowPlan
from redolake.values.chunks import Chunk
from redolake.values.dictionary_table import DictionaryColumn, DictionaryTable
from redolake.values.redo import ContainerIdentity, Encoding, LogCopy, LogFile, PdbIncarnation, Position, Slice, Window
from redolake.values.scn import Scn, ScnRange
from redolake.values.table import Column, OracleType, TableId, TableVersion, UniqueIndex

DIGESTS = {"f": FileDigest(4014, "9f86d081")}
T = TableId("SHOP", "Odd \"name'")
N = Column(2, "N", OracleType("NUMBER"), 2)
VERSION = TableVersion(T, Scn(5), 7, 8, (Column(1, "ID", OracleType("NUMBER", precision=9, scale=0), 1, False), N), (1,), 3)
OPEN = OpenTransaction(3, "1.2.3", 1, 40, "2026-01-02 03:04:05", 9, 700, None)
DROPPED = DroppedXid(3, "4.5.6", 33, ("7.8.9",))
TASK = TableTask(
    T,
    Destination("s3://lake/t", "p/t/1"),
    Course((VERSION,), {2: "string", 1: 4}, (ColumnChange(50, "add_column", N, "1"),), (2,)),
    HoldAt(60, {"what": "x"}),
)
BATCH = BatchSpec(
    "p",
    1,
    10,
    100,
    "token",
    Redo((LandedWindow("w", 10, 100, ("a", "b")),), ("x",), (), (OPEN,), (DROPPED,), "PDB", digests=DIGESTS),
    (TASK,),
    "c",
    "m",
)
RESULT = BatchResult(
    "p",
    1,
    10,
    100,
    "other token",
    ("w",),
    (TableResult(T, "held", 59, {"code": "X"}, balance=RowAccount(3, 0, 1, held=2)),),
    (OPEN,),
    (),
    dropped=(DroppedRows(3, "4.5.6", 33, {"SHOP.T": 4}, 60, True),),
    accounts={"w": RowAccount(3, 0, 1, held=2)},
    parked=(ParkedRows(OPEN, {"SHOP.T": 9}, ("c-0/a",)),),
    digests=DIGESTS,
    applied_at="2026-05-01T10:00:00+00:00",
)
WORK = TableWork(
    {"10": 4, CARRIED_IN: 1}, {"10": 1}, {"10": 1}, 1, {"truncate": 1}, "2026-05-01T10:00:00", inserted=1, updated=2, deleted=3,
    masked=2, nulled=1,
)  # fmt: skip
LANDING_KEY = LandingKey("variable REDOLAKE_LANDING_KEY", "0123456789abcdef")
MARK = LakeMark("p", "landing/p", "token")
PLACE = LakePlace("p", "lake", "_redolake/p.json", "landing/p", "lakes/1.json", ("lake/t",))
LOAD = SnapshotSpec(
    "p", 50, "token", (SnapshotTask(T, "t", "a", VERSION, ("f",), {2: 3}, 8, scn=50),), "m", True, None, PLACE, "", DIGESTS
)
LOADED = SnapshotResult("p", 50, (SnapshotLoaded(T, "held", False, error={"code": "X"}),))
MANIFEST = WindowManifest(
    dbid=1,
    resetlogs_id=2,
    start=100,
    end=200,
    logs=(LogIdentity(1, 5, 2, 90, 200), LogIdentity(2, 9, 2, 80, 210)),
    tables=("SHOP.ORDERS",),
    counts={"SHOP.ORDERS insert": 3, "* commit": 1},
    row_hash="abc",
    ddl=(DdlRow(150, 1, "0x01.02.0010", 0, "SHOP", "ORDERS", 77, "ALTER TABLE orders ADD (x NUMBER)"),),
    files=("redo-a-00000.parquet",),
    circumstance={"destination": 1},
    digests=DIGESTS,
)
COPIES = (LogCopy(1, "/a/7.arc", "A"), LogCopy(2, None, "D", deleted=True))
CONTAINER = ContainerIdentity("AB12", 3, 4, PdbIncarnation(2, 1, Scn(5), None, True, (2, 0)))
LOG = LogFile(1, 7, 2, Scn(100), Scn(200), COPIES, 4096)
PLAN = WindowPlan(Window(1, 2, ScnRange(Scn(100), Scn(200)), (Slice(0, 1, (LOG,)),)), (T,), {77: T}, 210, CONTAINER)
SLICE = SliceRecord(
    "w", 0, "t", ("SHOP.T",), ("f",), (LogTally(MANIFEST.logs[0], 1, "x"),), {"SHOP.T insert": 1}, MANIFEST.ddl, digests=DIGESTS
)
GAP = DeclaredGap(
    "gap",
    Position(1, 2, Scn(300)),
    Position(1, 2, Scn(400)),
    "why",
    "who",
    "when",
    "what",
    {"SHOP.T": 5},
    (OPEN,),
    CONTAINER,
    Encoding(),
)
APPROVAL = Approval("ddl", "SHOP.T", 300, "unknown_ddl", "ignore", "why", "who", "when", "name", "rs", 1)
DROP = DroppedTransaction(OPEN, 2, 300, "why", "who", "when", {"SHOP.T": 1}, ("1.2.3", "4.5.6"))
ID = DictionaryColumn("ID", OracleType("NUMBER"), 1, 1, False)
TABLE = DictionaryTable(T, 7, 7, (ID,), ("ID",), frozenset(), Scn(5), Scn(6), unique=(UniqueIndex("U", 8, ("ID",)),))
LOGGED = DictionaryTable(
    T, 7, 7, (ID,), ("ID",), frozenset({"PRIMARY KEY LOGGING", "ALL COLUMN LOGGING"}), Scn(5), Scn(6), logging=False
)

RECORDS: tuple[Any, ...] = (
    Attempt(10, 100, WORK),
    BATCH,
    RESULT,
    LOAD,
    LOADED,
    MANIFEST,
    PLAN,
    SLICE,
    GAP,
    DROP,
    APPROVAL,
    ClosedTable("g", "SHOP.T", 5, ("w",), 2, 9, 4, (60,), (7,), "why", "who", "when", inserted=1, updated=2, deleted=1),
    SplitTransactions((TransactionName(3, "1.2.3"),), (SplitTransaction(None, "4.5.6", 7),)),
    DictionaryReading(2, 300, "5f2d", {"SHOP.T": 310}, {"SHOP.T": "SHOP.U"}),
    DictionaryContent((TABLE, LOGGED)),
    CapturedTables(9, ("A.*",), ("A.B",), {"A.C": 8}, {"A.D": "is a queue table"}, {"A.E": 7}, {"A.B": "A.F"}),
    TABLE,
    VERSION,
    FirstPosition(1, 2, 300, Encoding(), CONTAINER, {"compatible": "19.0.0"}),
    SnapshotManifest("SHOP.T", 50, 3, ("f",), digests=DIGESTS, scns={"f": 60}),
    ChunkPlan("SHOP.T", 50, "key", (Chunk(0, None, "9", "P", "SUBPARTITION", 7),), "ID", "text", "5f2d"),
    ChunkManifest("SHOP.T", 0, 60, 3, "f", next(iter(DIGESTS.values())), 0.5),
    ChunkScn(60, "ORA-01555"),
    SnapshotPause(True, "who", "when"),
    SnapshotGivenUp("why"),
    SnapshotBegun(),
    NobodyListed(),
    RedoNeededFrom(40),
    SingleQuotes("w", {"SHOP.T": DoubtfulWindows("0000000001-10-20", "0000000001-30-40", 5)}),
    Pruned(
        (PruneStep(1, 300, "2026-01-02T03:04:05+00:00", "dba"),),
        7,
        {"SHOP.T": PrunedTable("0000000001-00000000000000000100", None, (KnownVersion(5, "ddl", {"x": 1}, "ALTER"),), "1-2")},
        {"SHOP.T": DoubtfulWindows("0000000001-10-20", "0000000001-30-40", 5)},
        SingleQuotes("w", {}),
        (DroppedRows(3, "1.2.3", 40, {"SHOP.T": 2}, 50, True),),
    ),
    BatchPrepared(),
    MaintenanceSpec("p", "t", (MaintenanceTask(T, "s3://lake/t", ("delta.x",)),), "m", 32, 1024, 20.0, 336, 7),
    MaintenanceResult("p", (MaintainedTable(T, 40, 2, True),), ("SHOP.U",)),
    JobFailure(True, "RedoLost: gone"),
    MARK,
    LANDING_KEY,
    TableProof("SHOP.T", "n", "2026-01-02T03:04:05+00:00", 300, 2, 7, "buckets", 0.5, 16, 1, 100, 99, 1, found=1),
    HashingBegun("SHOP.T", 300, 7, 2, "5f2d", "rowid", (Chunk(1, "AAA"),)),
    HashedChunk("SHOP.T", 1, 300, (("0A", 1, 2, 3),)),
    FoundRows("SHOP.T", "n", (1,), (FoundRow("missing", "5F2D", ("1",)), FoundRow("rows", "5F2E"))),
)

# Those that are in the ledger only. Nothing decides by facts, and yet each page reads those that an older version has left.
IN_LEDGER: tuple[Any, ...] = (
    SourceFact(7200.0),
    FailureFact("SourceUnavailable", "what", "cure", "2026-01-02T03:04:05+00:00"),
    PlanFact("waits", "why", "2026-01-02T03:04:05+00:00", 1, 7),
    SettingsFact("5f2d", "host", "2026-01-02T03:04:05+00:00"),
    RedoFact(2, 300, 400, (ThreadFact(1, "FREE1", (LogFact(7, 100, None, None, 4096, "online"),)),)),
    StreamsFact((StreamFact(1, "h:5000", 300, 7, 512, "2026-01-02T03:04:05+00:00"),), "2026-01-02T03:04:05+00:00"),
    RunwayFact("enough", "why", 10.4, True, 0, None, 300, 12.0, ("a warning",)),
    ChoicesFact(300, (Choice("restore", "what", "nothing", "redolake recover"),), ("RESTORE ..",)),
    ProofFact(300, 7, 100, share=0.5),
    SnapshotFact("loaded", 300, 5, 0.5, "2026-01-02T03:04:05"),
    QuarantineFact(3),
    HistoryFact(2, 30, 20, "rows were repaired", 900),
    LostPosition(1, 2, 300, 400),
    MissingLogReport(1, 7, 2, (100, 200), (MissingLogFile(1, "/a/7.arc", "D"),), "deleted", False),
)
