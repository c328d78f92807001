"""Each set-up script, run as SQL*Plus would run it, is all that `doctor` asks for; without any one grant, doctor names it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import oracledb
import pytest

from redolake import steps
from redolake.config import Pipeline
from redolake.config.tables import Match
from redolake.errors import Finding
from redolake.source import ConnectParams
from redolake.source.setup_sql import Flavour, Grants
from standin.serve import StandIn, standin
from standin.sqlplus import Transcript, run_script
from tests.support.doctor import run_doctor

PASSWORD = "hunter two"
TABLES = ("CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20))", "CREATE TABLE notes (text VARCHAR2(20))")
OPTIONAL = (
    "V_$RECOVERY_FILE_DEST", "DBA_SUPPLEMENTAL_LOGGING", "DBA_SEGMENTS", "DBA_EXTENTS", "V_$DATAGUARD_STATS", "GV_$DATABASE",
)  # fmt: skip


MATCHES = [Match.model_validate(one) for one in ("SHOP.*", "!SHOP.SECRET?")]


@dataclass(frozen=True, slots=True)
class Place:
    """A database on one platform, before Redolake is set up in it."""

    oracle: StandIn
    flavour: Flavour
    folder: Path

    @property
    def user(self) -> str:
        return "c##mirror" if self.flavour == Flavour.cdb else "mirror"

    @property
    def pipeline(self) -> Pipeline:
        container = {"container": "FREEPDB1"} if self.oracle.database.state.is_cdb else {}
        return Pipeline.model_validate(
            {
                "name": "shop",
                "source": {"connection": "oracle_shop", **container},
                "landing": str(self.folder / "landing"),
                "lake": str(self.folder / "lake"),
                "retry": {"attempts": 1},
                "tables": ["SHOP.PARTS", {"table": "SHOP.NOTES", "key": "rowid"}],
            }
        )

    @property
    def params(self) -> ConnectParams:
        return ConnectParams(self.user, PASSWORD, self.dsn, pdb_only=self.flavour == Flavour.pdb_only)

    @property
    def dsn(self) -> str:
        return self.oracle.root_dsn if self.flavour in (Flavour.cdb, Flavour.non_cdb) else self.oracle.pdb_dsn

    def sqlplus(self, script: str, *answers: str, user: str | None = None) -> Transcript:
        """Run the script as its first lines say: as SYSDBA, or as the master user of RDS."""
        who = user or ("ADMIN" if self.flavour == Flavour.rds else "SYS")
        with self.oracle.connect(who, dsn=self.dsn) as connection, connection.cursor() as cursor:
            return run_script(script, cursor.execute, answers, (oracledb.DatabaseError,))

    def doctor(self) -> list[Finding]:
        found = run_doctor(self.pipeline, self.params)
        return [f for f in found if f.severity != "note" and "AIRFLOW_CONN" not in f.what]


@contextmanager
def place(flavour: Flavour, folder: Path, **options: Any) -> Iterator[Place]:
    settings = {
        Flavour.cdb: {},
        Flavour.non_cdb: {"is_cdb": False},
        Flavour.rds: {"is_cdb": False, "rds": True, "archive_lag_target": 300},
        Flavour.pdb_only: {"archive_lag_target": 300},  # which only the root's administrators set, like FORCE LOGGING
    }
    with standin(supplemental=frozenset(), background=False, **{**settings[flavour], **options}) as oracle:
        oracle.database.state.force_logging = flavour == Flavour.pdb_only
        with oracle.connect("SHOP") as connection, connection.cursor() as cursor:
            for table in TABLES:
                cursor.execute(table)
        yield Place(oracle, flavour, folder)


@pytest.fixture(params=Flavour)
def here(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with place(request.param, tmp_path) as opened:
        yield opened


def chosen(here: Place, **choices: Any) -> str:
    lag = {"archive_lag_seconds": 300} if here.flavour in (Flavour.cdb, Flavour.non_cdb) else {}
    force = {"force_logging": True} if here.flavour != Flavour.pdb_only else {}
    return steps.write_setup_sql(here.pipeline, flavour=here.flavour, user=here.user, **{**force, **lag, **choices})


@pytest.mark.parametrize("key_logging", ["table", "database"])
def test_after_the_script_doctor_finds_nothing(here: Place, key_logging: str) -> None:
    before = here.doctor()
    done = here.sqlplus(chosen(here, key_logging=key_logging), PASSWORD)

    assert before
    assert (done.errors, done.failed, here.doctor()) == ([], False, [])


def test_the_user_reads_the_tables_that_patterns_match_and_no_other(here: Place) -> None:
    with here.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE secrets (id NUMBER(9) PRIMARY KEY)")
        cursor.execute('CREATE TABLE "Par\'t & more" (id NUMBER(9) PRIMARY KEY)')
    by_pattern = here.pipeline.model_copy(update={"tables": [], "matches": MATCHES})
    choices = {"flavour": here.flavour, "user": here.user, "grants": Grants.table}

    done = here.sqlplus(steps.write_setup_sql(by_pattern, **choices), PASSWORD)

    assert (done.errors, done.failed) == ([], False)
    dsn = here.oracle.pdb_dsn if here.flavour == Flavour.cdb else here.dsn
    with oracledb.connect(user=here.user, password=PASSWORD, dsn=dsn) as connection, connection.cursor() as cursor:
        ((scn,),) = cursor.execute("SELECT current_scn FROM v$database")
        for name in ("PARTS", "NOTES", "Par't & more"):
            cursor.execute(f'SELECT count(*) FROM shop."{name}" AS OF SCN {scn}')
        with pytest.raises(oracledb.DatabaseError, match="ORA-00942"):
            cursor.execute("SELECT count(*) FROM shop.secrets")


@pytest.mark.parametrize("here", [Flavour.rds], indirect=True)
def test_on_rds_no_cure_asks_for_what_the_master_user_may_not_do(here: Place) -> None:
    here.sqlplus('CREATE USER mirror IDENTIFIED BY "hunter two";\nGRANT CREATE SESSION TO mirror;')
    without_grants = here.doctor()
    here.sqlplus(chosen(here, force_logging=False), PASSWORD)
    with_grants = here.doctor()
    forbidden = re.compile("ON SYS[.]|ALTER DATABASE|ALTER SYSTEM|STARTUP")

    cures = [f.cure for f in (*without_grants, *with_grants)]
    assert "rdsadmin.rdsadmin_util.grant_sys_object('V_$DATABASE', 'MIRROR', 'SELECT')" in "; ".join(cures)
    assert "rdsadmin.rdsadmin_util.force_logging(p_enable => true)" in "; ".join(cures)
    assert [cure for cure in cures if forbidden.search(cure)] == []


@pytest.mark.parametrize("here", [Flavour.rds], indirect=True)
@pytest.mark.parametrize(
    ("hours", "severity", "what"),
    [(1, "warning", "after 1 hours"), (48, "note", "for 48 hours"), (None, "note", "may not read")],
    ids=["short", "long enough", "not readable"],
)
def test_on_rds_a_short_retention_of_archived_logs_is_a_warning(
    here: Place, hours: int | None, severity: str, what: str
) -> None:
    here.sqlplus(chosen(here, retention_hours=hours or 48), PASSWORD)
    if hours is not None:
        here.sqlplus("GRANT SELECT ANY TABLE TO mirror;")

    found = [f for f in run_doctor(here.pipeline, here.params) if f.subject == "retention" and "RDS" in f.what]

    assert [(f.severity, what in f.what) for f in found] == [(severity, True)]


@pytest.mark.parametrize("here", [Flavour.cdb, Flavour.non_cdb, Flavour.rds], indirect=True)
def test_without_the_options_doctor_only_warns(here: Place) -> None:
    here.sqlplus(chosen(here, force_logging=False, archive_lag_seconds=None), PASSWORD)

    found = here.doctor()

    assert {finding.severity for finding in found} == {"warning"}
    assert [word in str(found) for word in ("FORCE_LOGGING", "ARCHIVE_LAG_TARGET")] == [True, here.flavour != Flavour.rds]


def test_it_asks_for_the_password_alone_never_shows_it_and_can_be_run_again(here: Place) -> None:
    first = here.sqlplus(chosen(here), PASSWORD)
    done = here.sqlplus(chosen(here), PASSWORD)

    assert first.questions == [f"Password for {here.user}: "]
    assert PASSWORD not in first.text
    assert [re.findall(r"ORA-\d+", error)[0] for error in done.errors] == ["ORA-01920", "ORA-32588", "ORA-32588"]
    assert (done.failed, here.doctor()) == (False, [])


def test_it_stops_where_the_user_could_not_be_created(here: Place) -> None:
    script = chosen(here).replace("CREATE USER", "CREATE USER nobody", 1)

    done = here.sqlplus(script, PASSWORD)

    assert done.failed
    assert "ORA-01917" in done.errors[-1]
    assert not any("SUPPLEMENTAL" in statement for statement in done.statements)


def test_without_prompts_the_caller_defines_the_password(here: Place) -> None:
    done = here.sqlplus(f"DEFINE password = '{PASSWORD}'\n" + chosen(here, prompts=False))

    assert (done.questions, done.errors, here.doctor()) == ([], [], [])


def revocable(here: Place) -> list[tuple[str, str]]:
    """Return each privilege of the user with its object, or with '' for a system privilege."""
    user = here.oracle.database.state.users[here.user.upper()]
    return sorted(user.grants | {(privilege, "") for privilege in user.privileges})


@pytest.mark.parametrize("here", [Flavour.cdb, Flavour.pdb_only], indirect=True)
def test_doctor_names_each_grant_that_is_missing(here: Place) -> None:
    here.sqlplus(chosen(here), PASSWORD)
    granted, unnoticed = revocable(here), []
    for privilege, target in granted:
        on = f" ON {target}" if target else ""
        place = "ALTER SESSION SET CONTAINER = FREEPDB1;\n" if "." in target and here.flavour == Flavour.cdb else ""
        here.sqlplus(f"{place}REVOKE {privilege}{on} FROM {here.user};", user="SYS")
        found = [
            f for f in here.doctor() if f.severity == "error" and privilege in str(f) and target in str(f).replace('"', "")
        ]
        if not found and target not in OPTIONAL:
            unnoticed.append((privilege, target))
        here.sqlplus(f"{place}GRANT {privilege}{on} TO {here.user};", user="SYS")

    assert (len(granted) > 15, unnoticed, here.doctor()) == (True, [], [])
