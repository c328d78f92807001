"""An S3 server (moto) in its own process. Tests have its address in the environment, as a user of such a store exports it."""

from __future__ import annotations

import itertools
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
        wait_until(lambda: server.poll() is not None or answers(found.endpoint), 60, 0.1)
        assert server.poll() is None, log.read_text()[-2000:]
        yield found
    finally:
        server.terminate()
        server.wait(30)


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    pytest.importorskip("moto", reason="the S3 server of the tests is not installed: make setup")
    with open_s3(tmp_path_factory.mktemp("s3") / "log") as found:
        yield found


@pytest.fixture
def s3(s3_server: S3, monkeypatch: pytest.MonkeyPatch) -> S3:
    """The server; its address and credentials are in the environment of the test."""
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    return s3_server


@pytest.fixture
def bucket(s3: S3) -> str:
    return s3.new_bucket()
