"""Through Spark Connect: a spec file with a DDL, and with more windows than a short plan has; what the server logs; an
encrypted landing on S3.

Through spark-submit: tests/e2e/test_two_hosts.py.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from redolake import steps
from redolake.apply.delivery.reread_rows import check_read
from redolake.apply.spark.session import open_session
from redolake.assemble.landed import read_rows
from redolake.errors import RedoNotUnderstood
from redolake.host.connect_token import TOKEN
from redolake.host.runtime import environment
from redolake.job.job import read_spec, run
from redolake.job.snapshot import run_snapshot
from redolake.operations.declared import Verdict
from redolake.records.batches.manifest import BatchResult
from redolake.records.batches.spec import LandedWindow, RereadFile
from redolake.records.codec import decode, encode
from tests.e2e.conftest import TOKEN_OF_TESTS
from tests.fixtures.s3 import S3
from tests.fixtures.shop import Shop
from tests.fixtures.spark import with_few_changes
from tests.integration.spark.landing import a_row, land
from tests.integration.spark.specs import batch_spec, snapshot_spec, task
from tests.integration.spark.table_with_ddl import AFTER_DDL, ddl_rows, rows_of, with_ddl

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def session(connect: str) -> Iterator[Any]:
    opened = open_session("connect", connect.replace("spark-connect", "sc"))
    yield opened
    opened.client.close()  # else what is collected after the server has stopped tells it so, again and again


def test_a_spec_file_runs_and_leaves_a_manifest(session: Any, tmp_path: Path) -> None:
    mine = with_ddl(tmp_path)
    run_snapshot(session, snapshot_spec(tmp_path, mine, 5))
    quiet = [LandedWindow(f"quiet-{start}", start, start + 1, ()) for start in range(100, 220)]  # apply comes late
    batch = batch_spec(tmp_path, [land(tmp_path / "w", 10, 100, ddl_rows()), *quiet], [mine])
    file = tmp_path / "spec.json"
    file.write_text(encode(batch))

    run(session, read_spec(str(file)))

    result = decode(BatchResult, Path(batch.manifest).read_bytes(), batch.manifest)
    assert [(t.error, t.complete_to) for t in result.tables] == [(None, 219)]
    assert rows_of(session, mine) == AFTER_DDL
    log = "".join(commit.read_text() for commit in Path(mine.destination.target, "_delta_log").glob("*.json"))
    assert [what for what in ("collate", "TypeWidening", "typeWidening") if what in log] == []  # for readers other than Spark


OPEN = """
import json, os, sys
from redolake.apply.spark.start import start_session
from redolake.cli.options import exit_code_of
from redolake.errors import RedolakeError
name, *tries = json.loads(sys.stdin.read())
said = []
for token, url in tries:
    os.environ.pop(name, None)
    if token is not None:
        os.environ[name] = token
    try:
        said.append(str(start_session("connect", url).sql("SELECT 6 * 7").collect()))
    except RedolakeError as error:
        said.append(f"{exit_code_of(error)} {error}")
print(json.dumps(said), flush=True)
os._exit(0)
"""


def test_who_sends_no_token_or_another_gets_no_session_and_the_cure(connect: str) -> None:
    """All other tests here send the right one. The last try has a header of the URL beside it."""
    url = connect.replace("spark-connect", "sc")
    tries = [(None, url), ("", url), ("another one that is long enough", url)]
    tries += [(TOKEN_OF_TESTS, f"{url}/;authorization=Bearer%20x")]
    command, given = [sys.executable, "-c", OPEN], json.dumps([TOKEN, *tries])
    done = subprocess.run(command, env=environment(), input=given, capture_output=True, text=True, check=True, timeout=120)

    answers = json.loads(done.stdout.splitlines()[-1])
    assert len(answers) == len(tries)
    for answer in answers:
        assert answer.startswith(f"{Verdict.MISUSED} 1 finding"), answer
        assert "refuses a session: " in answer
        assert "RpcError" not in answer
        assert f"export {TOKEN} here as for the server" in answer
    assert not any(secret in done.stdout + done.stderr for secret in (TOKEN_OF_TESTS, "another one that"))


def test_a_changed_bit_in_a_page_is_found_when_spark_reads_it(session: Any, tmp_path: Path) -> None:
    """Files are compared with their digests before; this is for what changes later, and for the files of the lake."""
    mine = task(tmp_path)
    run_snapshot(session, snapshot_spec(tmp_path, mine, 5, [{"ID": n, "V": f"value {n}"} for n in range(500)]))
    (in_delta,) = Path(mine.destination.target).glob("*.parquet")
    Path(mine.destination.target, f".{in_delta.name}.crc").unlink()  # of Hadoop's local file system; other stores have none
    landed = land(tmp_path / "w", 10, 100, [a_row(n, 11, 1, sql_redo=f"text {n}") for n in range(500)])
    in_landing = Path(landed.files[0])

    for changed in changed_pages(in_landing, "sql_redo"):
        in_landing.write_bytes(changed)
        with pytest.raises(Exception, match="FAILED_READ_FILE"):
            read_rows(session, [landed], []).collect()
    for changed in changed_pages(in_delta, "V"):
        in_delta.write_bytes(changed)
        with pytest.raises(Exception, match="FAILED_READ_FILE"):
            session.read.format("delta").load(mine.destination.target).collect()


def changed_pages(file: Path, column: str) -> list[bytes]:
    """Return the file's contents with one bit of the column's page changed, at eight places."""
    parquet = pq.ParquetFile(file)
    chunk, body = parquet.metadata.row_group(0).column(parquet.schema_arrow.get_field_index(column)), file.read_bytes()
    ends = chunk.data_page_offset + chunk.total_compressed_size  # there is no dictionary
    places = range(ends - 1, chunk.data_page_offset + 100, -(chunk.total_compressed_size // 8))
    return [body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :] for at in places]


def test_rows_that_were_read_again_are_checked_over_many_windows(session: Any, tmp_path: Path) -> None:
    mine = task(tmp_path)
    read = [RereadFile(mine.table, scn + 9, "rows.parquet", bases=(scn - 1,), asked=1) for scn in range(100, 1300, 10)]
    windows = [LandedWindow(f"w{one.scn}", one.scn - 9, one.scn + 1, (), (one,)) for one in read]
    files = {window.start: (window, window.reread[0]) for window in windows}
    names = ("commit_scn", "row_id", "operation_code", "rollback", "sql_redo")
    changes = session.createDataFrame([(one.scn, "AAA", 3, False, "x") for one in read], names)

    check_read(changes, files, windows, mine, 0)

    with pytest.raises(RedoNotUnderstood, match="1 changed row"):
        check_read(changes, {start: found for start, found in files.items() if start != 700}, windows, mine, 0)


def test_the_servers_log_says_that_a_cast_failed_and_not_of_which_value(
    session: Any, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows = session.createDataFrame([("the clear text of a masked column",)], ["v"]).repartition(2)
    with pytest.raises(Exception, match="the clear text"):
        rows.selectExpr("cast(v AS int)").write.format("delta").save(str(tmp_path / "table"))

    logs = "".join(log.read_text() for log in tmp_path_factory.getbasetemp().glob("connect*/logs/*"))
    assert "Lost task" in logs
    assert "clear text" not in logs


def test_an_encrypted_landing_on_s3_is_read_and_carried_over_by_sparks_workers(
    session: Any, shop: Shop, s3: S3, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last change of a table without large objects is merged by this process, into the lake on S3."""
    shop.run_sql(
        "CREATE TABLE plain (id NUMBER(9) PRIMARY KEY, v VARCHAR2(9))",
        "ALTER TABLE plain ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        "INSERT INTO plain VALUES (1, 'old')",
    )
    monkeypatch.setenv("REDOLAKE_LANDING_KEY", "a key of the landing that nobody guesses")
    pipeline = shop.pipeline(
        landing=f"s3://{bucket}/landing",
        lake=f"s3://{bucket}/lake",
        ledger={"url": f"sqlite:///{tmp_path}/ledger.db"},
        landing_key={"variable": "REDOLAKE_LANDING_KEY"},
        tables=["SHOP.CUSTOMERS", "SHOP.PLAIN"],
        spark={"parallel_tables": 1},
    )
    steps.take_snapshot(pipeline, source=shop.params, spark=session)
    with shop.oracle.connect("SHOP") as open_transaction:
        open_transaction.cursor().execute("UPDATE customers SET name = 'carried over' WHERE id = 1")
        shop.work(10)
        shop.switch_logs()
        steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=session)
        open_transaction.commit()
    shop.run_sql("UPDATE plain SET v = 'new'")
    shop.switch_logs()
    with with_few_changes(session, "direct"):
        steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=session)

    assert [table.error for table in steps.read_status(pipeline).tables] == [None, None]
    *_, newest = sorted(key for key in s3.keys(bucket) if re.search(r"plain/_delta_log/\d+\.json$", key))
    assert b'"engineInfo": "Redolake"' in s3.client().get_object(Bucket=bucket, Key=newest)["Body"].read()
    assert steps.verify_tables(pipeline, source=shop.params, spark=session).equal
    landed = [key for key in s3.keys(bucket) if key.startswith("landing/") and key.endswith(".parquet")]
    assert landed != []
    assert [key for key in landed if not key.endswith(".encrypted.parquet")] == []
    assert [key for key in landed if b"carried over" in s3.client().get_object(Bucket=bucket, Key=key)["Body"].read()] == []
