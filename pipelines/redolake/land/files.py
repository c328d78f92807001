"""The adapter of the landing's file system. A file appears complete under its name, or not at all.

Locally a temporary file is synced, then linked or renamed. Object stores publish an object whole, at the end of its upload;
a file that only one writer may create is created by a conditional request.
"""

from __future__ import annotations

import errno
import hashlib
import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import IO, Any, TypeVar

from fsspec.spec import AbstractBufferedFile

from redolake.errors import (
    ConfigurationError,
    Finding,
    LandingConflict,
    LandingDamaged,
    LandingUnavailable,
    LandingUnwritable,
    RedolakeError,
)
from redolake.host.crash import file_point, point
from redolake.host.filesystem import (
    PART,
    Modes,
    close_to_others,
    code_of,
    create_local,
    create_object,
    is_local_filesystem,
    keeps_apart,
    make_folders,
    modes_under,
    new_file,
    open_filesystem,
    protocol_of,
    public_modes,
    storage_errors,
    sync_folder,
)
from redolake.host.secrets import RowsKey
from redolake.records.codec import DAMAGED, LARGEST, check_size, decode, to_file
from redolake.records.file_digest import FileDigest

T = TypeVar("T")

NO_LINKS = "its file system has no hard links, which keep two writers apart: set `landing` to another folder"
CURES = {
    errno.ENOSPC: "free space there or move the landing to a larger volume, and run again: nothing was published",
    errno.EDQUOT: "raise the quota, and run again: nothing was published",
    errno.EFBIG: "raise the limit of a file's size (`ulimit -f`, or the file system's), and run again: nothing was published",
    errno.EROFS: "mount it writable, or set `landing` to another folder",
    errno.EACCES: "give the user of this process the right to write there, or set `landing` to another folder",
    errno.EPERM: f"give the user of this process the right to write there; if it has it, {NO_LINKS}",
    **dict.fromkeys((errno.EOPNOTSUPP, errno.ENOSYS, errno.EXDEV, errno.EMLINK), NO_LINKS),
    errno.EEXIST: "there is a file where a folder is needed: set `landing` to another folder",
    errno.ENOTDIR: "there is a file where a folder is needed: set `landing` to another folder",
}
OTHER_CURE = "make the folder writable, or set `landing` to another one; then run again: nothing was published"
DENIED_CURE = "give this process credentials that may list, read, write and delete there; nothing was published"
BUCKET_CURE = "create it, or correct `landing` and `lake`"
NOT_ONCE = "two writers can both create one object there: the store ignores the condition If-None-Match"
NOT_ONCE_CURE = "upgrade the store to a release that knows S3's conditional writes, or set `landing` to another one"
EMPTY = "InvalidRange"  # S3: an object of no bytes has none of those asked for


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file as the store lists it; `path` is relative to the folder of `Files`."""

    path: str
    bytes: int
    modified: datetime


def facts_of(info: Mapping[str, Any]) -> tuple[int, datetime]:
    """Return size and time of a file from its entry in a listing, which each package spells in its own way."""
    at = next(info[name] for name in ("mtime", "LastModified", "last_modified", "updated", "created") if info.get(name))
    if isinstance(at, int | float):
        at = datetime.fromtimestamp(at, UTC)
    elif isinstance(at, str):
        at = datetime.fromisoformat(at)
    return int(info["size"]), at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def no_key() -> RowsKey | None:
    """Return no key: Parquet files are written in clear text."""
    return None


class Files:
    """Paths are relative to `url` and use `/`. Local files and folders are the owner's alone, for they contain row data, unless
    they are `public`."""

    def __init__(self, url: str, *, public: bool = False) -> None:
        self.url, self._is_public = url.rstrip("/"), public
        self._fs, self._root = open_filesystem(self.url)
        self._is_local = is_local_filesystem(self._fs)
        self.rows_key: Callable[[], RowsKey | None] = no_key  # with which Parquet files are written (keys.py)

    @cached_property
    def _modes(self) -> Modes:
        if self._is_public:
            return public_modes(self._root)
        if os.path.isdir(self._root):
            close_to_others(self._root)
        return modes_under(self._root)

    def path(self, relative: str) -> str:
        return f"{self._root}/{relative}"

    def location(self, relative: str) -> str:
        """Return the absolute path; for an object store the URL as configured, by which Spark finds the same object."""
        return os.path.abspath(self.path(relative)) if self._is_local else f"{self.url}/{relative}"

    def remove(self, relative: str) -> None:
        """Remove a file, or a folder with its files, if it exists."""
        if self.exists(relative):
            with self._translate_errors(relative), suppress(FileNotFoundError):  # another process may be removing it too
                self._fs.rm(self.path(relative), recursive=True)
            file_point(self.path(relative))

    def path_text(self, relative: str) -> str:
        return f"{self.url}/{relative}"

    @contextmanager
    def _translate_errors(self, relative: str) -> Iterator[None]:
        """Raise LandingUnwritable or LandingUnavailable for what the file system raises."""
        try:
            yield
        except RedolakeError:
            raise
        except storage_errors() as error:
            raise self._explain(error, relative) from error

    def _explain(self, error: BaseException, relative: str) -> RedolakeError:
        number = getattr(error, "errno", None) or 0
        what = f"the landing cannot be used: {getattr(error, 'strerror', None) or error}"
        if self._is_local:
            return LandingUnwritable(what, cure=CURES.get(number, OTHER_CURE), path=self.path_text(relative))
        if isinstance(error, PermissionError) or "Credentials" in type(error).__name__:
            return LandingUnwritable(what, cure=DENIED_CURE, path=self.path_text(relative))
        if is_without_bucket(error):
            return LandingUnwritable(what, cure=BUCKET_CURE, path=self.path_text(relative))
        return LandingUnavailable(what, cure="run again when the object store answers", path=self.path_text(relative))

    def make_folder(self, relative: str) -> None:
        """Make a local folder. Object stores have none, and their packages would make a bucket whose name is mistyped."""
        if self._is_local:
            root = os.path.abspath(self._root)
            top = root if self._is_public else os.path.dirname(root)  # the landing, which has a folder for each pipeline
            with self._translate_errors(relative):
                make_folders(os.path.abspath(self.path(relative)), top, self._modes)

    @contextmanager
    def open_new(self, relative: str) -> Iterator[IO[bytes]]:
        """Open a file to write. It gets its name at the end of the block, and is removed when the block raises."""
        folder = relative.rpartition("/")[0]
        self.make_folder(folder)
        final = self.path(relative)
        if not self._is_local:
            with self._translate_errors(relative):
                out = self._fs.open(final, "wb")
                try:
                    yield out
                except BaseException:
                    discard(out)
                    raise
                out.close()
            file_point(final)
            return
        part = f"{final}.{uuid.uuid4().hex}{PART}"
        with self._translate_errors(relative):
            try:
                with open(part, "xb", opener=new_file(self._modes)) as out:
                    yield out
                    out.flush()
                    os.fsync(out.fileno())
                point("part of a stream")
                os.rename(part, final)
                sync_folder(final)
            except BaseException:
                if os.path.exists(part):
                    os.unlink(part)
                raise
        file_point(final)

    def create(self, relative: str, body: bytes) -> bool:
        """Write a small file if none has its name; return False when there is one already."""
        self.make_folder(relative.rpartition("/")[0])
        with self._translate_errors(relative):
            try:
                if self._is_local:
                    create_local(self.path(relative), body, self._modes)
                else:
                    self._require_single_creation()
                    self._create_object(self.path(relative), body)
            except FileExistsError:
                return False
        file_point(self.path(relative))
        return True

    def _create_object(self, path: str, body: bytes) -> None:
        create_object(self._fs, path, body)

    def _require_single_creation(self) -> None:
        """Raise ConfigurationError for a store in which two writers would both own a place in the chain."""
        if not keeps_apart(self._fs, self.url, self.path("created-once")):
            raise ConfigurationError([Finding(self.url, NOT_ONCE, NOT_ONCE_CURE)])

    def read(self, relative: str) -> bytes | None:
        """Return a JSON file's bytes, None when there is no such file. Raises LandingDamaged for one that is too large, of
        which no more is read than a file may have."""
        with self._translate_errors(relative):
            try:
                body = self._read_some(self.path(relative))
            except FileNotFoundError as error:
                if is_without_bucket(error):
                    raise
                return None
        check_size(len(body), self.path_text(relative))
        return body

    def _read_some(self, path: str) -> bytes:
        if self._is_local:  # where to read with an end takes room for that much
            check_size(os.stat(path).st_size, path)
        try:
            body: bytes = self._fs.cat_file(path, end=None if self._is_local else LARGEST + 1)
        except OSError as error:
            if code_of(error) != EMPTY:
                raise
            return b""
        return body

    def exists(self, relative: str) -> bool:
        with self._translate_errors(relative):
            return bool(self._fs.exists(self.path(relative)))

    def time_of(self, relative: str) -> datetime | None:
        """Return when a file was written, by the store's clock; None when there is no such file."""
        with self._translate_errors(relative):
            try:
                found: datetime = self._fs.modified(self.path(relative))
            except FileNotFoundError as error:
                if is_without_bucket(error):
                    raise
                return None
        return found if found.tzinfo is not None else found.replace(tzinfo=UTC)

    def list_files(self, relative: str) -> list[ListedFile]:
        """Return all files below a folder, unfinished ones too, in the order of their names; empty when there is no folder."""
        with self._translate_errors(relative):
            try:
                found = self._fs.find(self.path(relative), detail=True)
            except FileNotFoundError as error:
                if is_without_bucket(error):
                    raise
                return []
        prefix = f"{self._root}/"
        return [ListedFile(path.removeprefix(prefix), *facts_of(info)) for path, info in sorted(found.items())]

    @contextmanager
    def reading(self, relative: str, cure: str = DAMAGED) -> Iterator[IO[bytes]]:
        """Open a file that a manifest names. Raises LandingDamaged when it is gone."""
        with self._translate_errors(relative):
            try:
                file = self._fs.open(self.path(relative), "rb")
            except FileNotFoundError as error:
                if is_without_bucket(error):
                    raise
                raise LandingDamaged("the file is gone", cure=cure, path=self.path_text(relative)) from error
        with file:
            yield file

    def digest(self, relative: str, cure: str = DAMAGED) -> FileDigest:
        """Return size and hash of a file as it is now."""
        with self.reading(relative, cure) as file, self._translate_errors(relative):
            hashed = hashlib.file_digest(file, hashlib.sha256)  # type: ignore[arg-type]
            return FileDigest(file.tell(), hashed.hexdigest())

    def check(self, relative: str, written: FileDigest | None, cure: str = DAMAGED) -> None:
        """Raise LandingDamaged unless the file is as it was written. Manifests of older versions have no digest: of their files
        only the existence is checked."""
        if written is None:
            with self.reading(relative, cure):
                return
        found = self.digest(relative, cure)
        if found != written:
            has = f"{found.bytes} bytes instead of {written.bytes}" if found.bytes != written.bytes else "other contents"
            raise LandingDamaged(f"the file is not as it was written: it has {has}", cure=cure, path=self.path_text(relative))

    def names(self, relative: str, after: str = "") -> list[str]:
        """Return the sorted names in a folder, or those after one, without unfinished files of killed writers; empty when there
        is no folder. S3 lists no more than is wanted; a local folder is listed whole, without a look at each file."""
        with self._translate_errors(relative):
            try:
                found = self._list_names(relative, after)
            except FileNotFoundError as error:
                if is_without_bucket(error):
                    raise
                return []
        names = (path.rstrip("/").rpartition("/")[2] for path in found)
        return sorted(name for name in names if name > after and not name.endswith(PART))

    def _list_names(self, relative: str, after: str) -> Iterable[str]:
        if self._is_local:
            return os.listdir(self.path(relative))
        if after and protocol_of(self.url) in ("s3", "s3a"):
            return self._list_objects(self.path(relative), after)
        found: list[str] = self._fs.ls(self.path(relative), detail=False, refresh=True)
        return found

    def _list_objects(self, folder: str, after: str) -> Iterator[str]:
        """Yield the objects and folders in a folder of S3 whose names come after one, page by page."""
        bucket, _, key = folder.partition("/")
        wanted = {"Bucket": bucket, "Prefix": f"{key}/", "Delimiter": "/", "StartAfter": f"{key}/{after}"}
        while True:
            page = self._fs.call_s3("list_objects_v2", **wanted)
            yield from (found["Key"] for found in page.get("Contents", ()))
            yield from (found["Prefix"] for found in page.get("CommonPrefixes", ()))
            if not page.get("IsTruncated"):
                return
            wanted["ContinuationToken"] = page["NextContinuationToken"]

    def read_at(self, location: str) -> bytes | None:
        """Read a file by its location; return None when there is no such file."""
        return self.read(location.removeprefix(self.location("")).lstrip("/"))

    def read_record(self, kind: type[T], relative: str, cure: str = DAMAGED) -> T | None:
        """Return None when there is no such file. Raises FormatTooNew, and LandingDamaged with the cure of this file."""
        body = self.read(relative)
        try:
            return None if body is None else decode(kind, body, self.path_text(relative))
        except LandingDamaged as error:
            raise LandingDamaged(error.what, cure=cure, path=self.path_text(relative)) from error

    def create_record(self, relative: str, record: Any) -> bool:
        """Write a record if no file has its name; return False when there is one already."""
        return self.create(relative, to_file(record))

    def replace_record(self, relative: str, record: Any) -> None:
        """Write a record in the place of another, at once."""
        with self.open_new(relative) as out:
            out.write(to_file(record))

    def write_new_record(self, relative: str, record: Any) -> str:
        """Write a record and return its location. Raises LandingConflict when a file has its name already."""
        # An object store's package repeats a request whose answer was lost: then the record is there, and is ours.
        if not self.create_record(relative, record) and self.read_record(type(record), relative) != record:
            raise LandingConflict("the file is there already", cure="give each attempt a name of its own", path=relative)
        return self.location(relative)

    def write_record_once(self, relative: str, record: Any) -> bool:
        """Return False when the same record is there already. Raises LandingConflict when another one is."""
        if self.create_record(relative, record):
            return True
        if self.read_record(type(record), relative) != record:
            cure = "find out who else writes there: no file of the landing is ever changed"
            raise LandingConflict("the file is there with other content", cure=cure, path=self.path_text(relative))
        return False


def check_file(path: str, written: FileDigest | None, cure: str) -> None:
    """Raise LandingDamaged unless the file at a whole path is as it was written."""
    folder, _, name = path.rpartition("/")
    Files(folder).check(name, written, cure)


def is_without_bucket(error: BaseException) -> bool:
    return code_of(error) in ("NoSuchBucket", "ContainerNotFound")


def discard(out: Any) -> None:
    """Give up an upload. Without the mark, closing the file would publish what was written so far."""
    out.discard()
    if isinstance(out, AbstractBufferedFile):
        out.closed = True
