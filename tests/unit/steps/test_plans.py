"""What the ledger keeps of a plan between tasks is what the plan was."""

from __future__ import annotations

import json

from pipelines.reconcile.dictionary_files import dictionary_from_json, dictionary_to_json
from pipelines.redo import LogCopy, LogFile, Slice, Window
from pipelines.scn import Scn, ScnRange
from pipelines.steps.plans import Plan
from pipelines.table import DictionaryColumn, DictionaryTable, OracleType, TableId, UniqueIndex

ORDERS = TableId("SHOP", "ORDERS")


def test_a_plan_is_read_as_it_was_written() -> None:
    log = LogFile(1, 7, 2, Scn(100), Scn(200), (LogCopy(1, "/a/7.arc", "A"), LogCopy(2, None, "D", deleted=True)), 4096)
    plan = Plan(Window(1, 2, ScnRange(Scn(100), Scn(200)), (Slice(0, 1, (log,)),)), (ORDERS,), {77: ORDERS}, 210)

    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


def test_a_dictionary_reading_is_read_as_it_was_written() -> None:
    table = DictionaryTable(
        table=ORDERS,
        object_id=77,
        data_object_id=78,
        columns=(DictionaryColumn("ID", OracleType("NUMBER", precision=9, scale=0), 1, 1, nullable=False, has_default=True),),
        key=("ID",),
        log_groups=frozenset({"ALL COLUMN LOGGING"}),
        scn_before=Scn(5),
        scn_after=Scn(6),
        unique=(UniqueIndex("BY_CODE", 79, ("CODE", "DAY")),),
    )

    assert dictionary_from_json(json.loads(json.dumps(dictionary_to_json(table))), "file") == table
