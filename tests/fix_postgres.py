"""A PostgreSQL server for each test process, on a free loopback port, in a temporary folder.

The programs are looked for in PATH and where Debian puts them; when they are missing and this is root with apt-get, they
are installed once. `postgres_url` gives each test a database of its own.
"""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

INSTALL = (["apt-get", "update", "-q"], ["apt-get", "install", "-y", "-q", "--no-install-recommends", "postgresql"])


@dataclass(frozen=True, slots=True)
class Postgres:
    port: int
    psql: tuple[str, ...]
    numbers: itertools.count[int]

    def new_database(self) -> str:
        name = f"ledger{next(self.numbers)}"
        subprocess.run([*self.psql, "-c", f"CREATE DATABASE {name}"], check=True, capture_output=True)
        return f"postgresql://redolake:redolake@127.0.0.1:{self.port}/{name}"


def find_programs() -> Path | None:
    """Return the folder that contains initdb and pg_ctl."""
    in_path = shutil.which("initdb")
    folders = [Path(in_path).resolve().parent] if in_path else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists() and (folder / "pg_ctl").exists()), None)


def install() -> str | None:
    """Install the programs; return why that is impossible, or None."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return "PostgreSQL is not installed (initdb, pg_ctl), and only root with apt-get could install it here"
    for command in INSTALL:
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
        if done.returncode != 0:
            return f"PostgreSQL is not installed, and {' '.join(command)} failed: {done.stderr.strip()[-300:]}"
    return None


def as_server_user(folder: Path) -> list[str]:
    """Return the command prefix for another user, and give that user the folder: the server refuses to run as root."""
    if os.geteuid() != 0:
        return []
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    user = known.get("postgres") or known["nobody"]
    os.chown(folder, user.pw_uid, user.pw_gid)
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    why = None if find_programs() else install()
    programs = find_programs()
    if why or programs is None:
        pytest.skip(why or "PostgreSQL was installed, but initdb and pg_ctl are not where they are looked for")
    # Not tmp_path: its parents are closed to the server's user, and a socket's path may not be long.
    folder = Path(tempfile.mkdtemp(prefix="redolake-pg-"))
    user, port = as_server_user(folder), free_port()

    def run(program: str, *arguments: str) -> None:
        command = [*user, str(programs / program), *arguments]
        subprocess.run(command, check=True, capture_output=True, cwd=folder, timeout=120)

    try:
        password = folder / "password"
        password.write_text("redolake\n")
        password.chmod(0o644)
        run(
            "initdb", "-D", f"{folder}/data", "-U", "redolake", "-A", "scram-sha-256", f"--pwfile={password}", "-E", "UTF8",
            "--no-sync",
        )  # fmt: skip
        options = f"-p {port} -c listen_addresses=127.0.0.1 -k {folder} -c fsync=off"
        run("pg_ctl", "-D", f"{folder}/data", "-l", f"{folder}/log", "-o", options, "-w", "-t", "60", "start")
        try:
            admin = f"postgresql://redolake:redolake@127.0.0.1:{port}/postgres"
            yield Postgres(port, (str(programs / "psql"), "-q", admin), itertools.count(1))
        finally:
            run("pg_ctl", "-D", f"{folder}/data", "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres_url(postgres: Postgres) -> str:
    return postgres.new_database()
