"""Prepare and kill the database of a container that runs already, such as a service container of GitHub Actions.

Those start before the checkout is there, so that no script can be mounted into them. `python -m tests.oracle.container set-up`
copies the scripts of docker/oracle to where docker-compose.yml mounts them, and runs them twice: they may run at every start.
`abort` kills the container and returns once its database is open again.

    REDOLAKE_ORACLE_DOCKER       the container's id or name
    REDOLAKE_ORACLE_CONTAINER    the PDB; default FREEPDB1
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from redolake.source.setup_sql import Flavour
from redolake.steps.setup.setup_sql import write_setup_sql

SCRIPTS = Path(__file__).parents[2] / "docker" / "oracle"
STARTS, SQL = "/container-entrypoint-startdb.d", "/opt/redolake"
OPEN_SECONDS, POLL_SECONDS = 900, 2


def docker(*arguments: str) -> str:
    return subprocess.run(["docker", *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout


def set_up(container: str, pdb: str) -> None:
    """Switch the database to ARCHIVELOG mode and create C##REDOLAKE, with the grants for this PDB."""
    docker("exec", "--user", "root", container, "mkdir", "-p", STARTS, SQL)
    scripts = sorted(SCRIPTS.glob("*.sh"))
    for script in scripts:
        docker("cp", str(script), f"{container}:{STARTS}/{script.name}")
    with tempfile.TemporaryDirectory() as folder:
        sql = Path(folder) / "redolake.sql"
        sql.write_text(setup_script(pdb))
        sql.chmod(0o644)
        docker("cp", str(sql), f"{container}:{SQL}/{sql.name}")
    for script in scripts * 2:
        print(docker("exec", container, f"{STARTS}/{script.name}"), end="")  # noqa: T201


def setup_script(pdb: str) -> str:
    """Return docker/oracle/redolake.sql for another PDB."""
    return write_setup_sql(
        flavour=Flavour.cdb, user="C##REDOLAKE", container=pdb, force_logging=True, archive_lag_seconds=60, prompts=False
    )


def abort(container: str) -> None:
    docker("kill", container)
    docker("start", container)
    deadline = time.monotonic() + OPEN_SECONDS
    while docker("inspect", "--format", "{{.State.Health.Status}}", container).strip() != "healthy":
        if time.monotonic() > deadline:
            raise SystemExit(f"{container} was not healthy within {OPEN_SECONDS} s")
        time.sleep(POLL_SECONDS)


if __name__ == "__main__":
    (what,) = sys.argv[1:]
    name = os.environ["REDOLAKE_ORACLE_DOCKER"]
    if what == "abort":
        abort(name)
    else:
        set_up(name, os.environ.get("REDOLAKE_ORACLE_CONTAINER") or "FREEPDB1")
