"""Open the file system of a folder or URL: a local folder, or an object store through its fsspec package."""

from __future__ import annotations

import sys
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from pipelines.errors import ConfigurationError, Finding

# Of these, fsspec's `pipe_file(mode="create")` is one conditional request: of two writers exactly one creates the object. For
# all others it looks first and writes then.
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
