"""An S3 server (moto) in its own process. Its address is in the environment, as a user of an S3-compatible store exports it."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.fix_postgres import free_port
from tests.waiting import wait_until

REGION = "us-east-1"


@dataclass(frozen=True, slots=True)
class S3:
    endpoint: str
    numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": "redolake",
            "AWS_SECRET_ACCESS_KEY": "only-for-tests",
            "AWS_DEFAULT_REGION": REGION,
            "AWS_REGION": REGION,
        }

    def client(self) -> Any:
        import boto3

        return boto3.client("s3", endpoint_url=self.endpoint)

    def new_bucket(self) -> str:
        name = f"bucket-{next(self.numbers)}"
        self.client().create_bucket(Bucket=name)
        return name

    def keys(self, bucket: str) -> list[str]:
        pages = self.client().get_paginator("list_objects_v2").paginate(Bucket=bucket)
        return [entry["Key"] for page in pages for entry in page.get("Contents", ())]


def answers(endpoint: str) -> bool:
    try:
        with urlopen(f"{endpoint}/moto-api/", timeout=5):
            return True
    except URLError:
        return False


@contextmanager
def open_s3(log: Path) -> Iterator[S3]:
    port = free_port()
    found = S3(f"http://127.0.0.1:{port}")
    command = [str(Path(sys.executable).with_name("moto_server")), "-H", "127.0.0.1", "-p", str(port)]
    with log.open("wb") as out:
        server = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
    try:
        wait_until(lambda: server.poll() is not None or answers(found.endpoint), 60)
        assert server.poll() is None, log.read_text()[-2000:]
        yield found
    finally:
        server.terminate()
        server.wait(30)


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    """Start the server; its address and credentials are in the environment until the end of the session."""
    pytest.importorskip("moto", reason="the S3 server of the tests is not installed: make setup")
    before = dict(os.environ)
    with open_s3(tmp_path_factory.mktemp("s3") / "log") as found:
        os.environ |= found.environment
        yield found
    for name in found.environment:
        os.environ.pop(name)
        if name in before:
            os.environ[name] = before[name]


@pytest.fixture
def bucket(s3: S3) -> str:
    return s3.new_bucket()
