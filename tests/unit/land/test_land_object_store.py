"""What the landing needs of an object store, against an S3 server."""

from __future__ import annotations

import gc
import os
from concurrent.futures import ThreadPoolExecutor

import fsspec
import pyarrow as pa
import pytest

from redolake.errors import ConfigurationError, LandingDamaged, LandingUnavailable, LandingUnwritable
from redolake.host import filesystem
from redolake.land.files import Files
from redolake.land.parquet import write_parquet


@pytest.fixture
def store(bucket):
    return Files(f"s3://{bucket}/landing/shop")


@pytest.mark.filterwarnings("error")  # no package tries to finish the upload when its file is collected
@pytest.mark.parametrize("size", [10, 70 * 2**20], ids=["one request", "an upload in parts"])
def test_a_file_whose_writer_fails_does_not_appear(store, bucket, s3, size):
    def rows():
        yield pa.RecordBatch.from_pydict({"row": [os.urandom(size)]})
        raise RuntimeError("the source went away")

    with pytest.raises(RuntimeError, match="the source went away"):
        write_parquet(store, "windows/w/redo.parquet", pa.schema({"row": pa.binary()}), rows())

    gc.collect()
    assert s3.keys(bucket) == []
    assert s3.client().list_multipart_uploads(Bucket=bucket).get("Uploads", []) == []


def test_one_of_many_writers_creates_a_file(store):
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(lambda n: store.create("chain/one.json", str(n).encode()), range(8)))

    assert won.count(True) == 1
    assert store.read("chain/one.json") == str(won.index(True)).encode()


def test_a_file_that_another_process_writes_is_seen_at_once(bucket, s3):
    store = Files(f"s3://{bucket}/landing")
    assert (store.names("chain"), store.exists("chain/one.json")) == ([], False)
    s3.client().put_object(Bucket=bucket, Key="landing/chain/zero.json", Body=b"")
    assert store.names("chain") == ["zero.json"]
    s3.client().put_object(Bucket=bucket, Key="landing/chain/one.json", Body=b"")

    assert (store.exists("chain/one.json"), store.names("chain")) == (True, ["one.json", "zero.json"])


def test_a_store_that_ignores_the_condition_is_refused(store, bucket, monkeypatch):
    """As older S3-compatible stores do: they create the object a second time."""
    original = store._fs.pipe_file
    monkeypatch.setattr(store._fs, "pipe_file", lambda path, body, mode: original(path, body))
    monkeypatch.setattr(filesystem, "_proven", set())

    with pytest.raises(ConfigurationError, match="ignores the condition If-None-Match"):
        store.create("chain/one.json", b"")

    assert store.names("") == []


def test_a_bucket_that_does_not_exist_is_an_error_and_is_not_made(s3):
    store = Files("s3://mistyped/landing")
    for use in (lambda: store.names("chain"), lambda: store.read("handover.json"), lambda: store.create("a", b"")):
        with pytest.raises(LandingUnwritable, match="bucket") as caught:
            use()
        assert "correct `landing`" in caught.value.cure

    assert "mistyped" not in [one["Name"] for one in s3.client().list_buckets()["Buckets"]]


def test_a_store_that_does_not_answer_is_tried_again_later(s3):
    store = Files("s3://any/landing")
    store._fs = type(store._fs)(endpoint_url="http://127.0.0.1:9", config_kwargs={"retries": {"max_attempts": 0}})
    store._fs.retries = 1

    with pytest.raises(LandingUnavailable) as caught:
        store.read("handover.json")

    assert "object store answers" in caught.value.cure


@pytest.mark.parametrize(
    ("url", "location"),
    [
        ("s3a://lake/landing", "s3a://lake/landing/shop/a.json"),
        ("abfss://box@account.dfs.core.windows.net/landing", "abfss://box@account.dfs.core.windows.net/landing/shop/a.json"),
        ("gs://lake/landing/", "gs://lake/landing/shop/a.json"),
    ],
)
def test_a_location_is_the_url_by_which_spark_finds_the_file(url, location, s3, monkeypatch):
    monkeypatch.setenv("AZURE_STORAGE_ANON", "true")
    monkeypatch.setitem(fsspec.config.conf, "gs", {"token": "anon"})  # otherwise it looks for Google's servers for 15 s

    assert Files(f"{url.rstrip('/')}/shop").location("a.json") == location


@pytest.mark.parametrize("where", ["an object store", "a folder"])
@pytest.mark.parametrize("size", [0, 1, 1_000, 1_001, 100_000])
def test_no_more_is_read_of_a_json_file_than_one_may_have(where, size, store, tmp_path, monkeypatch):
    for module in ("redolake.records.codec", "redolake.land.files"):
        monkeypatch.setattr(f"{module}.LARGEST", 1_000)
    files = store if where == "an object store" else Files(str(tmp_path / "landing"))
    files.create("chain/one.json", b"x" * size)
    read, got = files._fs.cat_file, []
    monkeypatch.setattr(files._fs, "cat_file", lambda *args, **kwargs: got.append(read(*args, **kwargs)) or got[-1])

    if size <= 1_000:
        assert files.read("chain/one.json") == b"x" * size
    else:
        with pytest.raises(LandingDamaged, match="has more than 1,000 bytes"):
            files.read("chain/one.json")
    assert max(map(len, got), default=0) <= 1_001
    assert files.read("chain/two.json") is None
