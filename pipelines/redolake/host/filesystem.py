"""Open the file system of a folder or URL: a local folder, or an object store through its fsspec package."""

from __future__ import annotations

import errno
import os
import stat
import sys
import uuid
from pathlib import Path
from typing import Any, NamedTuple

import fsspec
from fsspec.implementations.local import LocalFileSystem
from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from redolake.errors import ConfigurationError, Finding
from redolake.host.crash import point

_proven: set[str] = set()  # S3 buckets that have refused a second writer to this process
PART = ".part"  # suffix of a file that is still being written
CONFLICT = "ConditionalRequestConflict"  # S3: another request for the same object was under way; the answer is to ask again

# On these stores, fsspec's `pipe_file(mode="create")` is one conditional request: exactly one of two writers creates the
# object. For all others it looks first and writes then.
CREATES_ONCE = ("file", "local", "memory", "s3", "s3a", "gs", "gcs", "abfs", "abfss", "az")
EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs", "abfs": "abfs", "abfss": "abfs", "az": "abfs"}
# What the packages raise beside OSError; only a package that is loaded can have raised it.
PACKAGE_ERRORS = (
    ("botocore.exceptions", "BotoCoreError"),
    ("botocore.exceptions", "ClientError"),
    ("aiohttp", "ClientError"),
    ("gcsfs.retry", "HttpError"),
    ("google.auth.exceptions", "GoogleAuthError"),
    ("azure.core.exceptions", "AzureError"),
)


def protocol_of(url: str) -> str:
    return url.partition("://")[0] if "://" in url else "file"


def open_filesystem(url: str) -> tuple[Any, str]:
    """Return the file system and the path in it. Listings are never cached: other processes write there too. Raises
    ConfigurationError where the package for the URL is not installed."""
    try:
        filesystem, root = fsspec.core.url_to_fs(url, use_listings_cache=False)
    except (ImportError, ValueError) as error:
        extra = EXTRAS.get(protocol_of(url))
        cure = f"pip install 'redolake[{extra}]'" if extra else "write a folder, or a URL whose file system is installed"
        raise ConfigurationError([Finding(url, str(error), cure)]) from error
    return filesystem, root.rstrip("/")


def is_local_filesystem(filesystem: Any) -> bool:
    return isinstance(filesystem, LocalFileSystem)


class Modes(NamedTuple):
    """The permissions of what is written into a folder."""

    file: int
    folder: int


def public_modes(root: str) -> Modes:
    """Return the modes for what is public: by this process's umask, but whoever may write in the root may write in a folder; of
    a root that does not exist yet, the group with which the folder above is shared."""
    umask = os.umask(0)
    os.umask(umask)
    found, is_ours = nearest_mode(root)
    shared = 0o3022 if is_ours else 0o2020 if found & stat.S_ISGID else 0
    return Modes(0o666 & ~umask, 0o777 & ~umask | found & shared)


def nearest_mode(root: str) -> tuple[int, bool]:
    """Return the mode of the folder, or of the nearest one above it that exists, and whether it is the folder itself."""
    own = Path(root).absolute()
    near = next(place for place in (own, *own.parents) if place.exists())
    return near.stat().st_mode, near == own


def modes_in(folder: int, *, is_ours: bool) -> Modes:
    """Return the modes of what holds row data, by the mode of the nearest folder that exists: the owner's alone. Others share
    what they can write: the group with 2770, and of a folder of ours that is there already whoever may write there."""
    group = folder & stat.S_IWGRP and (is_ours or folder & stat.S_ISGID)
    others = folder & stat.S_IWOTH and is_ours
    shared = (0o060 if group else 0) | (0o006 if others else 0)
    folders = 0o700 | (0o070 if group else 0) | (0o007 if others else 0) | (folder & stat.S_ISGID if group else 0)
    return Modes(0o600 | shared, folders)


def modes_under(root: str) -> Modes:
    """Return the modes for a local folder, which need not exist."""
    found, is_ours = nearest_mode(root)
    return modes_in(found, is_ours=is_ours)


def set_mode(path: str | int, mode: int) -> None:
    """Set the mode of a path or an open file, whatever the umask is. A mount that has no modes keeps its own rule."""
    try:
        os.chmod(path, mode)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL):
            raise


def make_folders(folder: str, root: str, modes: Modes) -> None:
    """Make a folder and those above it that do not exist; up to the root with the modes, above it as this process makes all."""
    if len(folder) < len(root):
        os.makedirs(folder, exist_ok=True)
        return
    try:
        os.mkdir(folder, modes.folder)
    except FileNotFoundError:
        make_folders(os.path.dirname(folder), root, modes)
        make_folders(folder, root, modes)
    except FileExistsError:
        if not os.path.isdir(folder):
            raise
    else:
        set_mode(folder, modes.folder)


def close_to_others(path: str) -> None:
    """Take away the rights to read from those who may not write, if it is ours to do: an older Redolake left them."""
    found = os.stat(path)
    modes = modes_in(found.st_mode, is_ours=True)
    mode = stat.S_IMODE(found.st_mode)
    wanted = mode & (modes.folder if stat.S_ISDIR(found.st_mode) else modes.file)
    if found.st_uid == os.geteuid() and wanted != mode:
        set_mode(path, wanted)


def new_file(modes: Modes) -> Any:
    """Return an `opener` for open() whose files have the mode."""

    def opener(path: str, flags: int) -> int:
        descriptor = os.open(path, flags, modes.file)
        set_mode(descriptor, modes.file)
        return descriptor

    return opener


def storage_errors() -> tuple[type[BaseException], ...]:
    """Return what a file system may raise when it cannot do its work."""
    loaded = ((sys.modules.get(module), name) for module, name in PACKAGE_ERRORS)
    return (OSError, *(getattr(module, name) for module, name in loaded if module is not None and hasattr(module, name)))


def code_of(error: BaseException) -> str:
    """Return the object store's own code for an error, such as NoSuchBucket; empty if it gave none."""
    for one in (error, error.__cause__):
        response = getattr(one, "response", None)
        if isinstance(response, dict):
            return str(response.get("Error", {}).get("Code", ""))
    return ""


def create_object(filesystem: Any, path: str, body: bytes) -> None:
    """Write a small object of one of the stores in CREATES_ONCE. Raise FileExistsError where one has its name: perhaps ours,
    whose answer was lost."""
    asked_again = Retrying(
        retry=retry_if_exception(lambda error: code_of(error) == CONFLICT),
        wait=wait_random_exponential(0.05, max=2),
        stop=stop_after_attempt(8),
        reraise=True,
    )
    asked_again(filesystem.pipe_file, path, body, mode="create")


def keeps_apart(filesystem: Any, url: str, trial: str) -> bool:
    """Return whether the store of `url` lets only one writer create an object. An S3 store is tried, once per process and
    bucket, with an object whose name begins with `trial`, which is removed: some ignore the condition."""
    bucket, path = trial.partition("/")[0], f"{trial}-{uuid.uuid4().hex}"
    if protocol_of(url) not in ("s3", "s3a") or bucket in _proven:
        return True
    create_object(filesystem, path, b"")
    try:
        create_object(filesystem, path, b"")
    except FileExistsError:
        _proven.add(bucket)
        return True
    finally:
        filesystem.rm_file(path)
    return False


def create_local(path: str, body: bytes, modes: Modes) -> None:
    """Write a file under a new name. link() refuses an existing name and is atomic, also on NFS; rename() would replace it."""
    part = f"{path}.{uuid.uuid4().hex}{PART}"
    try:
        with open(part, "xb", opener=new_file(modes)) as out:
            out.write(body)
            out.flush()
            os.fsync(out.fileno())
        point("part of a file")
        os.link(part, path)
        sync_folder(path)
    finally:
        if os.path.exists(part):
            os.unlink(part)


def sync_folder(path: str) -> None:
    """Sync the file's folder: only then is its new name on disk."""
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
