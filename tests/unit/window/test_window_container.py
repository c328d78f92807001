"""Which changes of V$PDBS and V$PDB_INCARNATION mean that the PDB's tables are not those that were captured."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redolake.values.redo import ContainerFacts, ContainerIdentity, Encoding, PdbIncarnation
from redolake.values.scn import Scn
from redolake.window.container import container_change, encoding_change, parameter_changes

FIRST = PdbIncarnation(2, 0, Scn(100), Scn(100), True, (1, 0))


def facts(*rows: PdbIncarnation, **changes: object) -> ContainerFacts:
    """Return the facts whose last row is the current one."""
    rows = (*(replace(row, is_current=False) for row in rows[:-1]), *rows[-1:])
    identity = ContainerIdentity("AB12", 33, 44, rows[-1] if rows else None)
    return ContainerFacts("PDB1", replace(identity, **changes), rows)


def own(number: int, prior: tuple[int, int], database: int = 2) -> PdbIncarnation:
    """Return a row as OPEN RESETLOGS of the PDB alone writes it."""
    return PdbIncarnation(database, number, Scn(500), Scn(600 + number), True, prior)


def of_database(database: int, prior: tuple[int, int]) -> PdbIncarnation:
    """Return a row as a RESETLOGS of the whole database writes it."""
    return PdbIncarnation(database, 0, Scn(900), Scn(900), True, prior)


RECORDED = facts(FIRST).identity
UNNUMBERED = facts().identity


@pytest.mark.parametrize(
    ("recorded", "found"),
    [
        (None, None),
        (RECORDED, facts(FIRST)),
        (RECORDED, facts(FIRST, of_database(3, (2, 0)))),
        (RECORDED, facts(FIRST, of_database(3, (2, 0)), of_database(4, (3, 0)))),
        (UNNUMBERED, facts()),
        (UNNUMBERED, facts(FIRST)),
        (facts(FIRST, own(1, (2, 0))).identity, facts(FIRST, own(1, (2, 0)), of_database(3, (2, 1)))),
    ],
    ids=["no PDB", "the same", "RESETLOGS", "two RESETLOGS", "no row", "a first row", "RESETLOGS after a known set-back"],
)
def test_the_same_pdb(recorded: ContainerIdentity | None, found: ContainerFacts | None) -> None:
    assert container_change(recorded, found) is None


@pytest.mark.parametrize(
    ("recorded", "found", "what", "opened"),
    [
        (RECORDED, facts(FIRST, guid="CD34"), "GUID was AB12 and is CD34", None),
        (RECORDED, facts(FIRST, con_uid=7, dbid=8), "CON_UID was 33 and is 7, DBID was 44 and is 8", None),
        (RECORDED, facts(FIRST, own(1, (2, 0))), "was set back to SCN 500 and opened with RESETLOGS at SCN 601", 601),
        (RECORDED, facts(FIRST, own(1, (2, 0)), own(2, (2, 0))), "opened with RESETLOGS at SCN 602", 602),
        (RECORDED, facts(FIRST, own(1, (2, 0)), of_database(3, (2, 1))), "opened with RESETLOGS at SCN 601", 601),
        (RECORDED, facts(), "does not lead back to incarnation 2.0", None),
        (RECORDED, facts(replace(FIRST, opened_scn=Scn(700))), "does not lead back to incarnation 2.0", None),
        (UNNUMBERED, facts(own(1, (2, 0))), "opened with RESETLOGS at SCN 601", 601),
        (facts(FIRST, own(1, (2, 0))).identity, facts(FIRST), "does not lead back to incarnation 2.1", None),
        (RECORDED, None, "were read from a pluggable database, and `container` names no one now", None),
        (None, facts(FIRST), "were read from no pluggable database, and `container` names one now", None),
    ],
)
def test_another_pdb_or_one_that_was_set_back(
    recorded: ContainerIdentity | None, found: ContainerFacts | None, what: str, opened: int | None
) -> None:
    change = container_change(recorded, found)

    assert change is not None
    assert what in change.what
    assert change.opened_scn == opened


def test_each_setting_that_encodes_texts_and_times_is_named() -> None:
    assert encoding_change(Encoding(), Encoding()) == ""
    changed = encoding_change(Encoding(), Encoding("UTF8", "UTF8", "Europe/Berlin"))
    assert [part.split(" ")[0] for part in changed.split(", ")] == ["NLS_CHARACTERSET", "NLS_NCHAR_CHARACTERSET", "DBTIMEZONE"]
    assert "DBTIMEZONE was +00:00 when capture began and is Europe/Berlin now" in changed


def test_parameters_are_compared_as_they_were_when_capture_began() -> None:
    recorded = {"compatible": "12.2.0", "db_block_size": "8192", "max_string_size": "STANDARD"}
    found = {"compatible": "19.0.0", "db_block_size": "16384", "max_string_size": "STANDARD", "archive_lag_target": "0"}
    assert dict(parameter_changes(recorded, found)) == {
        "COMPATIBLE": "was 12.2.0 when capture began and is 19.0.0 now",
        "DB_BLOCK_SIZE": "was 8192 when capture began and is 16384 now",
    }
    assert not dict(parameter_changes({}, found)), "a handover of an older Redolake has recorded none"
    assert not dict(parameter_changes(recorded, {})), "V$PARAMETER was not read"
