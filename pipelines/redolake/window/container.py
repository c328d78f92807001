"""Whether the PDB is still the one whose redo was read. Pure functions.

Point-in-time recovery and FLASHBACK of a PDB, and another PDB under its name, leave the redo of the database as it is: it
undoes no row. Only the PDB's own identity shows them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from redolake.values.redo import ContainerFacts, ContainerIdentity, Encoding, PdbIncarnation


@dataclass(frozen=True, slots=True)
class ContainerChange:
    """`what` changed. The PDB's redo is of its present tables from `opened_scn` on; None where no view says it."""

    what: str
    opened_scn: int | None = None


def container_change(recorded: ContainerIdentity | None, found: ContainerFacts | None) -> ContainerChange | None:
    """Return what makes the container another one than the recorded, or None. None stands for a database without containers."""
    if recorded is None or found is None:
        if recorded is None and found is None:
            return None
        was, is_now = ("no", "") if recorded is None else ("a", "no ")
        return ContainerChange(f"the tables were read from {was} pluggable database, and `container` names {is_now}one now")
    now = found.identity
    parts = (("GUID", recorded.guid, now.guid), ("CON_UID", recorded.con_uid, now.con_uid), ("DBID", recorded.dbid, now.dbid))
    others = [f"{name} was {before} and is {after}" for name, before, after in parts if before != after]
    if others:
        return ContainerChange(f"another pluggable database has the name {found.name} now: {', '.join(others)}")
    return incarnation_change(recorded.incarnation, found)


def incarnation_change(recorded: PdbIncarnation | None, found: ContainerFacts) -> ContainerChange | None:
    """Follow V$PDB_INCARNATION from the current row to the recorded one.

    A RESETLOGS of the whole database may add a row of number 0; the gate follows it. Any other row on the way is the PDB's own.
    """
    rows = {row.name: row for row in found.incarnations}
    at = found.identity.incarnation
    while at is not None and not is_same(at, recorded):
        if at.number > 0:
            what = f"the pluggable database {found.name} was set back to SCN {at.set_back_to} and opened with RESETLOGS at SCN "
            return ContainerChange(f"{what}{at.opened_scn}", at.opened_scn)
        at = rows.get(at.prior)
    if at is None and recorded is not None:
        where = f"{recorded.database}.{recorded.number}"
        return ContainerChange(
            f"V$PDB_INCARNATION does not lead back to incarnation {where} of {found.name}, which was captured"
        )
    return None


def is_same(row: PdbIncarnation, recorded: PdbIncarnation | None) -> bool:
    return recorded is not None and (row.name, row.opened_scn) == (recorded.name, recorded.opened_scn)


def encoding_change(recorded: Encoding, found: Encoding) -> str:
    """Return which settings are others than the recorded ones; empty where none is."""
    parts = (
        ("NLS_CHARACTERSET", recorded.text, found.text),
        ("NLS_NCHAR_CHARACTERSET", recorded.national, found.national),
        ("DBTIMEZONE", recorded.time_zone, found.time_zone),
    )
    return ", ".join(f"{name} was {was} when capture began and is {now} now" for name, was, now in parts if was != now)


def parameter_changes(recorded: Mapping[str, str], found: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the parameters that are others than when capture began, and how. A handover of an older Redolake has none."""
    for name, was in recorded.items():
        if (now := found.get(name, was)) != was:
            yield name.upper(), f"was {was} when capture began and is {now} now"
