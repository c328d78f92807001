"""Check that the lake is the one that was written before: an empty folder below a mount point looks like a lake without tables.

The first job writes a mark into the lake and the same one into the landing. A lake of an older Redolake, which has tables and
no mark, gets one as well.
"""

from __future__ import annotations

import uuid
from pathlib import PurePosixPath

from redolake.apply.lake_tables import read_log
from redolake.apply.spark.troubles import storage_error
from redolake.errors import LakeDamaged, LakeMissing, LakeRefused, LakeUnavailable, RedolakeError
from redolake.host import crash
from redolake.host.filesystem import code_of, open_filesystem, storage_errors
from redolake.land.cures import found_again
from redolake.land.files import Files
from redolake.records.lakes import LakeMark, LakePlace

NO_CONDITIONS = "NotImplemented"  # S3: the store refuses If-None-Match
PROBE, PROBE_BYTES = "_redolake/write-test-", 16 << 10


class LakeFiles(Files):
    """Files of the lake, which its readers may read: what its file system raises is the lake's trouble. A store need not keep
    two writers of one file apart: of these the last one counts."""

    def __init__(self, url: str) -> None:
        super().__init__(url, public=True)

    @property
    def keeps_writers_apart(self) -> bool:
        return self._is_local

    def _require_single_creation(self) -> None:
        """Require nothing of the store."""

    def _create_object(self, path: str, body: bytes) -> None:
        try:
            super()._create_object(path, body)
        except storage_errors() as error:
            if code_of(error) != NO_CONDITIONS:
                raise
            self._fs.pipe_file(path, body)

    def _explain(self, error: BaseException, relative: str) -> RedolakeError:
        path = self.path_text(relative)
        if isinstance(error, Exception) and (known := storage_error(error, path)) is not None:
            return known
        what = f"the lake cannot be used: {getattr(error, 'strerror', None) or error}"
        if self._is_local:
            cure = "make the folder writable for Spark and this process, and run again: no table is held"
            return LakeRefused(what, cure=cure, path=path)
        return LakeUnavailable(what, cure="run again when the object store answers", path=path)


def check_lake(place: LakePlace | None) -> None:
    """Raise LakeMissing for a lake without the mark that the landing expects, and for one without mark and tables. Mark a new
    lake, and one of an older Redolake."""
    if place is None:
        return
    lake, landing = LakeFiles(place.lake), Files(place.landing)
    recorded = landing.read_record(LakeMark, place.record, found_again(landing.path_text(place.record)))
    body = lake.read(place.mark)
    found = None if body is None or not body.strip() else lake.read_record(LakeMark, place.mark, empty_mark(place))
    if found is not None:
        check_same(place, found, recorded)
    elif body is None and (recorded is not None or is_empty(place)):
        raise missing_lake(place, "has lost the file that Redolake wrote into it" if recorded else "has none of the tables")
    else:
        found = recorded or LakeMark(place.pipeline, place.landing, uuid.uuid4().hex)
        mark_lake(lake, place, found, replaces=body is not None)
    if recorded is None:
        record_mark(landing, place, lake)


@crash.writer
def check_usable(place: LakePlace | None) -> None:
    """Raise the lake's own error before a table is held: the lake is missing, or nothing can be written there. Spark's error
    need not say so ("Job aborted", "Mkdirs failed")."""
    if place is None:
        return
    check_lake(place)
    files, name = LakeFiles(place.lake), f"{PROBE}{uuid.uuid4().hex}"
    try:
        files.create(name, bytes(PROBE_BYTES))
    finally:
        files.remove(name)


def check_same(place: LakePlace, found: LakeMark, recorded: LakeMark | None) -> None:
    if recorded is not None and recorded.token != found.token:
        raise missing_lake(place, f"is another one: it was written from the landing {found.landing}")


@crash.writer
def mark_lake(files: Files, place: LakePlace, mark: LakeMark, *, replaces: bool) -> None:
    if replaces:  # an empty file, by which a person has said that this is the lake
        files.remove(place.mark)
    files.create_record(place.mark, mark)


@crash.writer
def record_mark(landing: Files, place: LakePlace, lake: LakeFiles) -> None:
    """Record the mark that is in the lake: another job may have been the first to write one. Where a store has let two jobs
    write one, the landing says which counts."""
    mark = lake.read_record(LakeMark, place.mark)
    if landing.create_record(place.record, mark):
        return
    first = landing.read_record(LakeMark, place.record)
    if first != mark:
        if lake.keeps_writers_apart:
            raise missing_lake(place, "is another one than a job has just marked")
        lake.replace_record(place.mark, first)


def is_empty(place: LakePlace) -> bool:
    """Return whether tables should be there, and none is."""
    return bool(place.holds) and not any(map(has_log, place.holds))


def has_log(target: str) -> bool:
    """Return whether a Delta table is there, also a damaged one."""
    try:
        return read_log(target) is not None
    except LakeDamaged:
        return True


def has_neighbours(lake: str, mark: str) -> bool:
    """Return whether another pipeline has left its mark in the lake, or in a folder above; `mark` is the file of this one. A
    lake that is inside of this one finds the mark of this one."""
    filesystem, root = open_filesystem(lake)
    folder, own = mark.rpartition("/")[0], f"{root.rstrip('/')}/{mark}"
    for place in (PurePosixPath(root), *PurePosixPath(root).parents):
        try:
            found = filesystem.ls(f"{place}/{folder}", detail=False) if place.name else []
        except OSError:  # there is none, or it is not ours to list
            continue
        except storage_errors():
            continue
        if any(name.endswith(".json") and name != own for name in found):
            return True
    return False


def empty_mark(place: LakePlace) -> str:
    return f"empty the file {place.lake}/{place.mark}, if this is the lake, and run again: it is written again"


def missing_lake(place: LakePlace, what: str) -> LakeMissing:
    return LakeMissing(
        f"the lake {what}: it is not mounted, or another folder is there",
        cure=f"mount it, or correct `lake` in pipelines.yml, and run again: no table is held. If this is the lake, emptied or "
        f"moved on purpose: create the empty file {place.lake}/{place.mark}, and run again",
        path=place.lake,
    )
