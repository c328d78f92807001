"""Which folders a form or an option may name: those below `allowed_folders`, and for files that are written also the lake.
Other pipelines may have folders there, too: each one's mark says so."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import NoReturn

from redolake.apply.lake_tables import owner_around
from redolake.config import Pipeline
from redolake.errors import ConfigurationError, Finding
from redolake.host.filesystem import open_filesystem
from redolake.host.paths import PROTOCOL, fold, unfit_place
from redolake.land import layout
from redolake.values.table import TableId


def check_folder_to_write(pipeline: Pipeline, option: str, folder: str) -> None:
    """Raise ConfigurationError unless files may be written to a folder: not where Redolake, Delta or a table has its own."""
    above = check_folder(pipeline, option, folder, [pipeline.lake])
    place = real(folder)
    hidden = next((part for part in place[len(above) :].split("/") if part.startswith(("_", "."))), None)
    if hidden is not None:
        refuse_folder(option, folder, f"contains {hidden}: what begins with _ or . has a meaning for Spark or Redolake")
    if any(place == real(own) for own in (pipeline.lake, pipeline.landing)) or is_in(place, [pipeline.landing]):
        refuse_folder(option, folder, "is the lake itself, or lies in the landing, whose folders have a meaning")
    if is_in(place, [pipeline.target(table.id) for table in pipeline.tables]):
        refuse_folder(option, folder, "is a table's folder, or lies in one")
    if is_of_pattern(pipeline, place):
        refuse_folder(option, folder, "is where tables of a pattern of `tables` go: VACUUM would remove the files there")
    if (owner := owner_around(place)) is not None:
        refuse_folder(option, folder, f"is the folder of {owner}, or lies in it")
    filesystem, root = open_filesystem(place)
    if any(filesystem.exists(f"{one}/{layout.HANDOVER}") for one in (root, *PurePosixPath(root).parents)):
        refuse_folder(option, folder, "is the landing of another pipeline, or lies in it")


def check_paths_to_write(pipeline: Pipeline, option: str, folder: str, paths: Iterable[str]) -> list[str]:
    """Return the folder of each path in a folder. Raises ConfigurationError for one to which no files may be written, or where
    something is already."""
    places = [f"{folder.rstrip('/')}/{path}" for path in paths]
    for place in places:
        check_folder_to_write(pipeline, option, place)
        filesystem, root = open_filesystem(place)
        if filesystem.exists(root):
            refuse_folder(option, place, "exists already, and nothing there is replaced")
    return places


def check_folder(pipeline: Pipeline, option: str, folder: str, own: Iterable[str] = ()) -> str:
    """Return which folder that pipelines.yml allows, or which one of `own`, a folder is below; raise ConfigurationError for any
    other."""
    if (why := unfit_place(folder)) is not None:
        refuse_folder(option, folder, why)
    place = real(folder)
    above = next((one for one in map(real, (*pipeline.allowed_folders, *own)) if f"{place}/".startswith(f"{one}/")), None)
    if above is None:
        refuse_folder(option, folder, "is not below a folder that this pipeline may use")
    return above


def refuse_folder(option: str, folder: str, what: str) -> NoReturn:
    cure = "name one below `lake`, or add one for such files to `allowed_folders` in pipelines.yml"
    raise ConfigurationError([Finding(option, f"{folder} {what}", cure)])


def is_in(place: str, folders: Iterable[str]) -> bool:
    """Return whether a place is one of the folders, or in one, on the store that distinguishes least."""
    parts = fold(place)
    return any(parts[: len(own)] == own for own in map(fold, map(real, folders)))


def is_of_pattern(pipeline: Pipeline, place: str) -> bool:
    """Return whether a table that a pattern finds, now or later, has its folder there, or around it."""
    if not is_in(place, [pipeline.lake]):
        return False
    targets = [match.target.partition("{")[0] for match in pipeline.matches if match.target is not None]
    if any(is_in(place, [f"{pipeline.lake}/{target}"]) for target in targets):
        return True
    owner, table, *_ = (*fold(place)[len(fold(real(pipeline.lake))) :], "", "")
    return bool(table) and pipeline.match_of(TableId(owner.upper(), table.upper())) is not None


def real(place: str) -> str:
    """Return a place without links of this host, and without a slash at its end."""
    protocol = PROTOCOL.match(place)
    if protocol is None or protocol[0] in ("file://", "local://"):
        return os.path.realpath(place.removeprefix(protocol[0] if protocol else "")).rstrip("/")
    return place.rstrip("/")
