"""The container of docker-compose.yml: its start-up scripts, with a SQL*Plus that runs them against the stand-in."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from redolake import steps
from redolake.config import Pipeline
from redolake.source import ConnectParams
from redolake.source.setup_sql import Flavour
from standin.serve import StandIn, standin
from standin.sqlplus import run_script
from tests.oracle.container import abort, set_up, setup_script
from tests.support.doctor import run_doctor

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "docker" / "oracle"
SQLPLUS = """#!{python}
import sys
from pathlib import Path
folder = Path({folder!r})
script = sys.stdin.read()
with (folder / "asked").open("a") as asked:
    asked.write(script)
if "log_mode" in script:
    print((folder / "log_mode").read_text())
if (folder / "fails").exists():
    sys.exit(1)
"""

# Its containers are the folder `root`; a command in one is run here.
DOCKER = """#!{python}
import os, shutil, subprocess, sys
from pathlib import Path
folder = Path({folder!r})
root = folder / "root"
inside = lambda path: str(root) + path
with (folder / "docker").open("a") as called:
    called.write(" ".join(sys.argv[1:]) + chr(10))
what, *rest = [word for word in sys.argv[1:] if word not in ("--user", "root")]
if what == "cp":
    shutil.copy2(rest[0], inside(rest[1].removeprefix("database:")))
elif what == "exec" and rest[1] == "mkdir":
    [os.makedirs(inside(path), exist_ok=True) for path in rest[3:]]
elif what == "exec":
    env = dict(os.environ, REDOLAKE_SQL=inside("/opt/redolake/redolake.sql"))
    sys.exit(subprocess.run([inside(rest[1])], env=env).returncode)
elif what == "inspect":
    print("starting" if (folder / "docker").read_text().count("inspect") < 3 else "healthy")
"""


@pytest.fixture
def container(tmp_path: Path) -> Path:
    """A folder whose `sqlplus` writes down what it is asked, and answers LOG_MODE with the content of a file."""
    program = tmp_path / "sqlplus"
    program.write_text(SQLPLUS.format(python=sys.executable, folder=str(tmp_path)))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "log_mode").write_text("NOARCHIVELOG\n")
    return tmp_path


def start(container: Path, script: str) -> tuple[int, str]:
    env = dict(
        os.environ,
        PATH=f"{container}:{os.environ['PATH']}",
        ORACLE_PASSWORD="redolake",
        ORACLE_ARCHIVE=str(container / "archive"),
        TMPDIR=str(container),
        REDOLAKE_SQL=str(SCRIPTS / "redolake.sql"),
    )
    done = subprocess.run([str(SCRIPTS / script)], env=env, capture_output=True, text=True, check=False)
    asked = container / "asked"
    return done.returncode, asked.read_text() if asked.exists() else ""


def test_a_new_database_is_switched_to_archivelog(container: Path) -> None:
    code, asked = start(container, "1_archivelog.sh")

    places = [asked.index(word) for word in ("SHUTDOWN", "STARTUP MOUNT", "DATABASE ARCHIVELOG", "DATABASE OPEN", "PLUGGABLE")]
    assert (code, places) == (0, sorted(places))
    assert asked.index(f"log_archive_dest_1 = 'LOCATION={container / 'archive'}'") < places[0]
    assert (container / "archive").is_dir()


def test_a_database_in_archivelog_is_not_restarted(container: Path) -> None:
    (container / "log_mode").write_text("ARCHIVELOG\n")

    code, asked = start(container, "1_archivelog.sh")

    assert (code, "SHUTDOWN" in asked) == (0, False)


@pytest.mark.parametrize("script", ["1_archivelog.sh", "2_redolake.sh"])
def test_a_script_that_fails_says_so(container: Path, script: str) -> None:
    (container / "fails").touch()

    assert start(container, script)[0] != 0


def test_the_rendered_script_is_the_one_that_setup_sql_prints() -> None:
    printed = steps.write_setup_sql(
        flavour=Flavour.cdb,
        user="C##REDOLAKE",
        container="FREEPDB1",
        force_logging=True,
        archive_lag_seconds=60,
        prompts=False,
    )

    assert (SCRIPTS / "redolake.sql").read_text() == printed


@pytest.fixture
def empty_database() -> Iterator[StandIn]:
    with standin(supplemental=frozenset(), background=False) as oracle:
        with oracle.connect("SYS") as connection:
            connection.cursor().execute("DROP USER C##REDOLAKE CASCADE")
        with oracle.connect("SHOP") as connection:
            connection.cursor().execute("CREATE TABLE parts (id NUMBER(9) PRIMARY KEY)")
        yield oracle


def test_the_script_asks_nothing_and_may_run_at_every_start(container: Path, empty_database: StandIn, tmp_path: Path) -> None:
    code, script = start(container, "2_redolake.sh")
    assert code == 0
    for _ in range(2):
        with empty_database.connect("SYS") as connection, connection.cursor() as cursor:
            done = run_script(script, cursor.execute, [], (Exception,))
        assert (done.questions, done.failed) == ([], False)

    pipeline = Pipeline.model_validate(
        {
            "name": "shop",
            "source": {"connection": "none", "container": "FREEPDB1"},
            "landing": str(tmp_path / "landing"),
            "lake": str(tmp_path / "lake"),
            "retry": {"attempts": 1},
            "tables": ["SHOP.NOT_YET"],
        }
    )
    reader = ConnectParams("C##REDOLAKE", "redolake", empty_database.root_dsn)
    errors = [f for f in run_doctor(pipeline, reader) if f.severity == "error"]
    assert [error.subject for error in errors] == ["SHOP.NOT_YET"]


@pytest.fixture
def docker(container: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `docker` on PATH; the value is the file with the calls."""
    program = container / "bin" / "docker"
    program.parent.mkdir()
    program.write_text(DOCKER.format(python=sys.executable, folder=str(container)))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}:{container}:{os.environ['PATH']}")
    monkeypatch.setenv("ORACLE_PASSWORD", "redolake")
    monkeypatch.setenv("TMPDIR", str(container))
    return container / "docker"


def test_a_container_that_runs_already_gets_the_same_scripts_for_its_own_pdb(container: Path, docker: Path) -> None:
    set_up("database", "XEPDB1")

    asked = (container / "asked").read_text()
    starts = container / "root" / "container-entrypoint-startdb.d"
    assert {file.name for file in starts.iterdir() if os.access(file, os.X_OK)} == {f.name for f in SCRIPTS.glob("*.sh")}
    assert asked.count("ALTER DATABASE ARCHIVELOG") == asked.count("CREATE USER C##REDOLAKE") == 2
    assert "ALTER SESSION SET CONTAINER = XEPDB1;" in asked
    assert "FREEPDB1" not in asked
    assert setup_script("FREEPDB1") == (SCRIPTS / "redolake.sql").read_text()


def test_a_set_up_that_fails_in_the_container_says_so(container: Path, docker: Path) -> None:
    (container / "fails").touch()

    with pytest.raises(subprocess.CalledProcessError):
        set_up("database", "XEPDB1")


def test_an_abort_returns_once_the_database_is_open_again(docker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.oracle.container.POLL_SECONDS", 0)

    abort("database")

    assert [call.split()[0] for call in docker.read_text().splitlines()] == ["kill", "start", "inspect", "inspect", "inspect"]


def test_the_compose_file_mounts_every_script() -> None:
    service = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["oracle"]

    mounted = {volume.partition(":")[0] for volume in service["volumes"]}
    assert {f"./docker/oracle/{file.name}" for file in SCRIPTS.iterdir()} < mounted
    assert service["ports"] == ["127.0.0.1:1521:1521"]


def test_the_shop_of_the_first_day_passes_doctor(container: Path, empty_database: StandIn, tmp_path: Path) -> None:
    with empty_database.connect("SYS") as connection, connection.cursor() as cursor:
        assert not run_script(start(container, "2_redolake.sh")[1], cursor.execute, [], (Exception,)).failed
    # The stand-in has a SHOP already, and no container to switch to in a session of the PDB.
    given = (ROOT / "docker" / "first-day" / "shop.sql").read_text().splitlines()
    statements = [line for line in given if line.startswith(("CREATE TABLE", "ALTER TABLE", "INSERT", "COMMIT"))]
    with empty_database.connect("SHOP") as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement.rstrip(";"))

    pipeline = Pipeline.model_validate(
        {
            **yaml.safe_load((ROOT / "docker" / "first-day" / "pipelines.yml").read_text())["pipelines"]["shop"],
            "name": "shop",
            "landing": str(tmp_path / "landing"),
            "lake": str(tmp_path / "lake"),
            "ledger": {},
            "tables": ["SHOP.CUSTOMERS", "SHOP.ORDERS"],
        }
    )
    reader = ConnectParams("C##REDOLAKE", "redolake", empty_database.root_dsn)
    assert [f for f in run_doctor(pipeline, reader) if f.severity == "error"] == [
        f for f in steps.validate(steps.Run(pipeline)) if f.severity == "error"
    ]
