"""A choice that decides how a table is read on, with who made it, when, and why. It is written once beside the landing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ApprovalKind = Literal["resume", "ddl", "resnapshot", "repair", "quarantine"]


@dataclass(frozen=True, slots=True)
class Approval:
    """`at_scn` is the SCN before which the table had stopped, or of the DDL; `thread` and `rs_id` tell apart DDLs at one SCN.
    `policy` is the setting of `on_ddl` that held the table.

    resume      continue a held table from its own position; `policy` is `history` where its history may begin again
    ddl         treat one DDL statement as `choice` says: a value of the policy, or `ignore`
    resnapshot  read the table again, as the policy says; `by` is the file that declares it
    repair      read rows that differ again; `policy` is what found them, `choice` their number
    quarantine  leave changes in quarantine out for good; `choice` has the number of keys
    """

    kind: ApprovalKind
    table: str  # OWNER.NAME
    at_scn: int | None
    policy: str
    choice: str
    reason: str
    by: str
    at: str  # ISO time in UTC
    name: str  # of its file
    rs_id: str = ""
    thread: int | None = None
