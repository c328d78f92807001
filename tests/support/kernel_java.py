"""The jars of delta-kernel in Java, with which tests/support/KernelReader.java reads a table.

`python -m tests.support.kernel_java` lets Spark's own Ivy fetch them, once; without them delta-kernel in Java is not asked.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from redolake.host.runtime import NOT_NEEDED, delta_jars, resolve_jars, share

VERSION = "4.4.0"
SOURCE = Path(__file__).with_name("KernelReader.java")
PACKAGES = ",".join(f"io.delta:delta-kernel-{part}:{VERSION}" for part in ("api", "defaults"))
NEEDED = [f"io.delta_delta-kernel-{part}-{VERSION}.jar" for part in ("api", "defaults")]


def folder() -> Path:
    return share() / "kernel-jars"


def kernel_jars() -> list[Path]:
    """Return what the program needs on its class path: the kernel's jars, and those of Spark. Empty without the kernel's
    or without a compiler."""
    import pyspark

    jars = sorted(folder().glob("*.jar"))
    if not jars or shutil.which("javac") is None:
        return []
    return [*jars, *map(Path, delta_jars()), *sorted((Path(pyspark.__file__).parent / "jars").glob("*.jar"))]


def fetch() -> None:
    if folder().exists():
        return
    with tempfile.TemporaryDirectory(prefix=".kernel-", dir=share()) as made:
        found = Path(made, "kernel-jars")
        found.mkdir()
        for jar in resolve_jars(Path(made), PACKAGES, [*NOT_NEEDED, "io.unitycatalog:unitycatalog-hadoop"], NEEDED):
            jar.rename(found / jar.name)
        found.rename(folder())


if __name__ == "__main__":
    fetch()
