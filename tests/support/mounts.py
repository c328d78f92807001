"""Mounts that come and go under a test's folders: full, read-only, or not there. They need root."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest


def mount(*arguments: object) -> None:
    subprocess.run(["mount", *map(str, arguments)], check=True, capture_output=True)


def unmount(folder: Path) -> None:
    """Unmount what is there, also while a process has files of it open."""
    subprocess.run(["umount", "-l", str(folder)], check=True, capture_output=True)


@cache
def may_mount() -> bool:
    with TemporaryDirectory(prefix="redolake-mount-") as folder:
        try:
            mount("-t", "tmpfs", "-o", "size=64k", "tmpfs", folder)
        except (OSError, subprocess.CalledProcessError):
            return False
        unmount(Path(folder))
    return True


needs_mount = pytest.mark.skipif(not may_mount(), reason="needs the right to mount")


@contextmanager
def small_disk(folder: Path, kibibytes: int) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    mount("-t", "tmpfs", "-o", f"size={kibibytes}k", "tmpfs", folder)
    try:
        yield
    finally:
        unmount(folder)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    mount("--bind", folder, folder)
    mount("-o", "remount,bind,ro", folder)
    try:
        yield
    finally:
        unmount(folder)


@contextmanager
def not_mounted(folder: Path) -> Iterator[None]:
    """Cover the folder with an empty one, as it looks where its file system is not mounted."""
    with TemporaryDirectory(prefix="redolake-empty-") as empty:
        mount("--bind", empty, folder)
        try:
            yield
        finally:
            unmount(folder)


def fill(folder: Path) -> Path:
    """Write a file that takes all space there is."""
    file = folder / "fills-the-disk"
    with file.open("wb", buffering=0) as out:
        try:
            while out.write(bytes(4096)):
                pass
        except OSError:
            return file
    raise AssertionError("a write of no byte has not failed")
