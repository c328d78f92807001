"""Delta tables in folders that lie inside each other: VACUUM of the outer one removes the files of the inner one.

Two pipelines.yml need not know of each other. So the folders above and below are read, and each table says whose it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from redolake.apply.delta.log import read_log
from redolake.apply.owner import recorded_owners
from redolake.errors import FolderTaken, LakeDamaged
from redolake.host.filesystem import open_filesystem
from redolake.values.table import TableId

LOG = "_delta_log"


def check_not_nested(path: str, table: TableId, *, in_partitions: bool = True) -> None:
    """Raise FolderTaken where a Delta table is in a folder above the one of `path`, or below it. What removes files needs to
    know what lies in folders of partitions too, each of which is listed."""
    filesystem, root = open_filesystem(path)
    outer = next(above(filesystem, root), None)
    folder = outer or next(below(filesystem, root, in_partitions), None)
    if folder is None:
        return
    where = f"{'inside' if outer else 'around'} that of {whose(folder, path, root)}"
    raise FolderTaken(
        f"the folder lies {where}: VACUUM of the outer one removes files of the inner one",
        cure=f"set `target` of {table} (or `lake`) to a folder of its own in pipelines.yml, and run `redolake snapshot "
        f"{table} --replace`; or move the other table away. Nothing was removed",
        table=table,
        path=path,
    )


def owner_around(path: str) -> str | None:
    """Return whose Delta table a folder is, or lies in; None for a folder of none."""
    filesystem, root = open_filesystem(path)
    folder = root if filesystem.exists(f"{root}/{LOG}") else next(above(filesystem, root), None)
    return None if folder is None else whose(folder, path, root)


def above(filesystem: Any, root: str) -> Iterator[str]:
    """Yield the folders above that have a Delta table."""
    for parent in PurePosixPath(root).parents:
        if parent.name and filesystem.exists(f"{parent}/{LOG}"):
            yield str(parent)


def below(filesystem: Any, root: str, in_partitions: bool = True) -> Iterator[str]:
    """Yield the folders below that have a Delta table. VACUUM passes over names that begin with _ or a dot, unless they are
    those of partitions."""
    try:
        found = filesystem.ls(root, detail=True)
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in found:
        name = str(entry["name"]).rstrip("/")
        last = name.rpartition("/")[2]
        if entry["type"] != "directory" or (not in_partitions if "=" in last else last.startswith(("_", "."))):
            continue
        if filesystem.exists(f"{name}/{LOG}"):
            yield name
        yield from below(filesystem, name, in_partitions)


def whose(folder: str, path: str, root: str) -> str:
    """Return what the table in a folder says of its owner. `root` is what the file system calls `path`."""
    prefix = path.removesuffix(root) if path.endswith(root) else ""
    try:
        log = read_log(f"{prefix}{folder}")
        owners = [] if log is None else recorded_owners(log)
    except LakeDamaged:
        owners = []
    return f"{' and '.join(map(str, owners)) or 'a Delta table that Redolake did not write'} ({folder})"
