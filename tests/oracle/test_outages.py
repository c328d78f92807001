"""What happens to a whole database: outages, lost files, a PDB set back, revoked grants. Nothing is lost, and each is named."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import oracledb
import pytest

from redolake import steps
from redolake.errors import MiningIncomplete, PdbChanged, RedoLost, SourceUnavailable
from redolake.source.setup_sql import Flavour
from tests.oracle.conftest import Database
from tests.oracle.parts import Parts
from tests.references.plain_lake import PlainLake
from tests.support.doctor import run_doctor

pytestmark = pytest.mark.oracle
# Doctor only warns without these.
OPTIONAL = (
    "V_$RECOVERY_FILE_DEST", "DBA_SUPPLEMENTAL_LOGGING", "DBA_SEGMENTS", "DBA_EXTENTS",
    "V_$DATAGUARD_STATS", "GV_$DATABASE",  # only a standby's pipeline uses them
)  # fmt: skip
FLASHBACK_IS_OFF = (38706, 38714, 38726, 38760, 38782)


@pytest.fixture
def parts(breakable: Database, tmp_path: Path) -> Iterator[Parts]:
    """Three rows of a snapshot; Spark and Delta add nothing to these facts."""
    with PlainLake().in_place_of_spark():
        made = Parts(breakable, tmp_path, "no Spark")
        made.create()
        made.log_and_let_read()
        made.change(*(f"INSERT INTO parts VALUES ({n}, 'x', {n})" for n in (1, 2, 3)))
        made.snapshot()
        made.catch_up()
        yield made
        made.drop()


def test_a_closed_pdb_is_waited_for_and_loses_nothing(parts: Parts) -> None:
    parts.change("UPDATE parts SET quantity = 20 WHERE id = 2")
    with closed_pdb(parts.database), pytest.raises(SourceUnavailable, match="ORA-"):
        parts.catch_up()

    parts.catch_up()

    assert parts.rows() == 3


@contextmanager
def closed_pdb(database: Database) -> Iterator[None]:
    database.as_sysdba(f"ALTER PLUGGABLE DATABASE {database.container} CLOSE IMMEDIATE")
    try:
        yield
    finally:
        database.as_sysdba(f"ALTER PLUGGABLE DATABASE {database.container} OPEN")


def test_a_pdb_that_was_flashed_back_stops_everything_until_a_new_snapshot(parts: Parts) -> None:
    database = parts.database
    ((scn,),) = database.as_sysdba("SELECT current_scn FROM v$database")
    parts.change("UPDATE parts SET quantity = 100 WHERE id = 1")
    parts.catch_up()
    flash_back(database, scn)
    parts.change("UPDATE parts SET quantity = 30 WHERE id = 3")

    with pytest.raises(PdbChanged):
        parts.catch_up()
    steps.recover_redo_loss(parts.pipeline, "snapshot", source=database.reader, spark=parts.spark, by="test")
    parts.catch_up()

    assert parts.rows() == 3


def flash_back(database: Database, scn: int) -> None:
    """Run FLASHBACK PLUGGABLE DATABASE; skip where the database keeps no flashback logs."""
    database.as_sysdba(f"ALTER PLUGGABLE DATABASE {database.container} CLOSE IMMEDIATE")
    options = ""
    try:
        database.as_sysdba(f"FLASHBACK PLUGGABLE DATABASE {database.container} TO SCN {scn}")
        options = " RESETLOGS"
    except oracledb.DatabaseError as error:
        if error.args[0].code not in FLASHBACK_IS_OFF:
            raise
        pytest.skip(f"the database keeps no flashback logs: {error}")
    finally:
        database.as_sysdba(f"ALTER PLUGGABLE DATABASE {database.container} OPEN{options}")


def test_a_prepared_transaction_that_is_open_at_the_snapshot_arrives_when_it_commits(parts: Parts) -> None:
    changes = ["INSERT INTO parts VALUES (4, 'prepared', 4)", "UPDATE parts SET quantity = 10 WHERE id = 1"]
    with parts.database.outages.prepare(parts.database, changes) as commit:
        parts.snapshot(replace=True)
        parts.catch_up()
        assert parts.rows() == 3
        commit()
    parts.catch_up()

    assert parts.rows() == 4


def test_a_snapshot_after_an_abort_ends_right_or_held(parts: Parts) -> None:
    """Until recovery has rolled a dead transaction back, no view shows it: its undo may come without its changes."""
    scratch, outages = parts.database.scratch, parts.database.outages
    dead = oracledb.connect(user=scratch.user, password=scratch.password, dsn=scratch.dsn)
    dead.cursor().execute("UPDATE parts SET quantity = -1")
    dead.cursor().execute("INSERT INTO parts VALUES (5, 'dead', 5)")
    parts.database.archive_logs()
    outages.abort()
    with suppress(oracledb.DatabaseError):
        dead.close()
    parts.snapshot(replace=True)
    outages.recover()
    parts.change("UPDATE parts SET quantity = 20 WHERE id = 2")
    parts.catch_up()

    (table,) = steps.read_status(parts.pipeline).tables
    if table.state == "held":
        parts.snapshot(replace=True)
        parts.catch_up()
    assert parts.rows() == 3


@pytest.mark.parametrize("error", [RedoLost], ids=["renamed"])
def test_an_archived_log_whose_file_is_away_stops_the_window_until_it_is_back(parts: Parts, error: type[Exception]) -> None:
    parts.change("UPDATE parts SET quantity = 20 WHERE id = 2")
    parts.database.archive_logs()
    files = [name for (name,) in parts.database.as_sysdba(NEWEST_LOGS)]
    for file in files:
        parts.database.outages.rename(parts.database, file, away(file))
    try:
        with pytest.raises((error, MiningIncomplete), match=re.escape(files[0].rpartition("/")[2])):
            parts.catch_up()
    finally:
        for file in files:
            name = file.rpartition("/")[2]
            parts.database.outages.rename(parts.database, file.removesuffix(name) + away(file), name)
    steps.recheck_redo_loss(parts.pipeline, source=parts.database.reader)
    parts.catch_up()

    assert parts.rows() == 3


NEWEST_LOGS = """
    SELECT a.name FROM v$archived_log a JOIN v$database d ON a.resetlogs_change# = d.resetlogs_change#
    WHERE a.deleted = 'NO' AND a.standby_dest = 'NO' AND a.next_change# = (
      SELECT MAX(b.next_change#) FROM v$archived_log b
      WHERE b.resetlogs_change# = d.resetlogs_change# AND b.thread# = a.thread#)
"""


def away(file: str) -> str:
    return file.rpartition("/")[2] + ".away"


def test_doctor_refuses_a_table_whose_rows_a_policy_filters(parts: Parts) -> None:
    parts.database.outages.add_policy(parts.database, "PARTS")

    errors = [str(f) for f in run_doctor(parts.pipeline, parts.database.reader) if f.severity == "error"]

    assert any("P1" in error and "EXEMPT ACCESS POLICY" in error for error in errors), errors


def test_doctor_names_each_grant_of_the_set_up_script_that_is_missing(parts: Parts) -> None:
    database, unnoticed, tried = parts.database, [], 0
    for what, target, user, where in granted(parts):
        on, scope = f" ON {target}" if target else "", " CONTAINER = ALL" if where == "all" else ""
        dsn = None if where == "all" else database.pdb_dsn
        database.as_sysdba(f"REVOKE {what}{on} FROM {user}{scope}", dsn=dsn)
        try:
            errors = "\n".join(str(f) for f in run_doctor(parts.pipeline, database.reader) if f.severity == "error")
        finally:
            database.as_sysdba(f"GRANT {what}{on} TO {user}{scope}", dsn=dsn)
        tried += 1
        if not (what in errors and target.removeprefix("SYS.") in errors) and target.removeprefix("SYS.") not in OPTIONAL:
            unnoticed.append((what, target))

    assert (tried > 15, unnoticed) == (True, [])


def granted(parts: Parts) -> Iterator[tuple[str, str, str, str]]:
    """Yield each privilege of the set-up script with its object or '', its user, and whether it holds in all containers.

    Those on tables are left out: this user may have them twice. tests/integration/test_setup_sql.py tries them.
    """
    script = steps.write_setup_sql(parts.pipeline, user=parts.database.reader.user, flavour=Flavour.cdb)
    for privileges, target, user, scope in GRANT.findall(script):
        for what in privileges.split(", "):
            if "ANY TABLE" not in what and (not target or target.startswith("SYS.")):
                yield what, target, user, "all" if scope else "pdb"


GRANT = re.compile(r"^GRANT ([A-Z, ]+?)(?: ON (\S+))? TO (\S+?)( CONTAINER = ALL)?;$", re.MULTILINE)
