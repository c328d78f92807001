"""OpenLogReplicator on RAC: a stream per redo thread, merged by commit SCN; threads that lag, die, close, open, skip logs."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from redolake import steps
from redolake.config import Pipeline
from redolake.config.source import SourceSettings
from redolake.context import Run
from redolake.errors import ConfigurationError, ReplicatorRefused, ReplicatorUnavailable, StreamLost
from redolake.source.olr.settings import needed_configuration
from redolake.steps.run import capture
from standin.olr.options import Behaviour
from standin.olr.server import OlrServer
from tests.fixtures.shop import TABLES, Shop, open_shop
from tests.generated.hunts import EXAMPLES
from tests.generated.table_lives import killer
from tests.integration.test_olr import OTHER, SPARK, meanwhile, received
from tests.integration.test_pipeline import TWO_TABLES, differences
from tests.references.plain_lake import PlainLake
from tests.support.doctor import run_doctor
from tests.support.killed import Killed
from tests.support.short_pauses import short_pauses

HUNTED = EXAMPLES // 20
SEEDS = random.Random(os.environ.get("REDOLAKE_SEED")).sample(range(10**9), HUNTED) if HUNTED else [7]


@dataclass(slots=True)
class Rac:
    """A shop with several redo threads, and an OpenLogReplicator on each."""

    shop: Shop
    servers: dict[int, OlrServer] = field(default_factory=dict)
    seed: int = 100

    def start(self, *threads: int, behaviour: Behaviour | None = None) -> Rac:
        for thread in threads:
            body = needed_configuration("RAC", "127.0.0.1:5000", [], [])
            body["source"][0]["filter"]["table"] = [{"owner": "SHOP", "table": ".*"}]
            self.servers[thread] = self.shop.oracle.replicate(body, behaviour, thread=thread)
        return self

    def pipeline(self, name: str = "shop", **settings: Any) -> Pipeline:
        streams = [{"thread": thread, "address": server.address} for thread, server in self.servers.items()]
        source = {
            "connection": "oracle_shop", "container": "FREEPDB1", "kind": "openlogreplicator", "database": "RAC",
            "streams": streams, "silent_seconds": 2,
        }  # fmt: skip
        return self.shop.pipeline(name, **{"source": source, "tables": TWO_TABLES, **settings})

    def loaded(self, **settings: Any) -> Pipeline:
        pipeline = self.pipeline(**settings)
        self.work(5)
        steps.take_snapshot(pipeline, source=self.shop.params, spark=SPARK)
        self.run(pipeline)
        return pipeline

    def run(self, pipeline: Pipeline) -> Any:
        return steps.run_pipeline(pipeline, until_caught_up=True, source=self.shop.params, spark=SPARK)

    def work(self, transactions: int = 8) -> None:
        self.seed += 1
        self.shop.work(transactions, seed=self.seed)

    def run_sql(self, thread: int, *statements: str) -> None:
        instance = self.shop.oracle.database.state.threads[thread].instance
        with self.shop.oracle.connect("SHOP", instance_name=instance) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            connection.commit()

    def restart(self) -> None:
        for server in self.servers.values():
            server.restart()


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with short_pauses(), PlainLake().in_place_of_spark(), open_shop(tmp_path, threads=2, scns_per_second=50) as opened:
        yield opened


@pytest.mark.parametrize("behaviour", [Behaviour(), OTHER])
def test_two_threads_are_merged_and_equal_the_source(shop: Shop, behaviour: Behaviour) -> None:
    rac = Rac(shop).start(1, 2, behaviour=behaviour)
    pipeline = rac.loaded(tables=list(TABLES))
    with shop.oracle.connect("SHOP", instance_name=shop.instances[1]) as slow:
        slow.cursor().execute("INSERT INTO customers (id, name) VALUES (900001, 'slow')")
        rac.work(60)
        assert rac.run(pipeline).windows
        rac.restart()
        rac.work(20)
        assert rac.run(pipeline).windows
        slow.commit()
    rac.work(3)
    rac.run(pipeline)
    assert differences(shop, pipeline) == {}
    with Run(pipeline) as context:
        assert {log.thread for window in context.landing.windows.after() for log in window.logs} == {1, 2}


@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_history_of_two_threads_gives_equal_tables_by_logminer_and_by_openlogreplicator(
    tmp_path: Path, seed: int
) -> None:
    lake, chance = PlainLake(), random.Random(seed)
    with short_pauses(), lake.in_place_of_spark(), open_shop(tmp_path, threads=2, scns_per_second=50) as shop:
        behaviour = Behaviour(c_scn=chance.choice(("commit", "begin")), commits_in_group=chance.randint(1, 5))
        rac = Rac(shop, seed=seed).start(1, 2, behaviour=behaviour)
        received = rac.pipeline(tables=list(TABLES))
        mined = shop.pipeline("mined", lake=str(tmp_path / "mined"))
        rac.work(15)
        for pipeline in (received, mined):
            steps.take_snapshot(pipeline, source=shop.params, spark=SPARK)
        for _ in range(4):
            rac.work(20)
            lagging = rac.servers[chance.choice((1, 2))]
            if chance.random() < 0.5:  # the other stream goes ahead, and is read again from before the window's end
                rac.run(received)
                lagging.reads_to = int(shop.oracle.database.clock.scn)
                rac.work(10)
            shop.switch_logs()
            for pipeline in chance.choice(((received,), (mined,), (received, mined))):
                rac.run(pipeline)
            lagging.reads_to = None
            if chance.random() < 0.3:
                rac.restart()
        for pipeline in (received, mined):
            rac.run(pipeline)
        assert differences(shop, received) == {}
    rows = [
        {path.removeprefix(one.lake): table.rows for path, table in lake.tables.items() if path.startswith(f"{one.lake}/")}
        for one in (received, mined)
    ]
    assert rows[0] == rows[1]
    assert len(rows[0]) == len(TABLES)


def test_a_thread_that_lags_holds_windows_back_is_named_and_stops_once_it_is_too_old(shop: Shop) -> None:
    rac = Rac(shop).start(1, 2)
    pipeline = rac.loaded()
    rac.servers[2].reads_to = int(shop.oracle.database.clock.scn)
    rac.work()
    while rac.run(pipeline).windows:  # up to where thread 2 has been read
        rac.work(2)
    streams = {one.thread: one for one in steps.read_status(pipeline).streams}
    assert {thread: one.holds_back for thread, one in streams.items()} == {1: False, 2: True}
    with pytest.raises(ReplicatorUnavailable, match=r"redo thread 2 holds windows back: .* written \d+ minutes ago"):
        steps.receive_next_window(Run(pipeline.model_copy(update={"wait_max_minutes": 0.0001}), shop.params))
    rac.servers[2].reads_to = None
    rac.run(pipeline)
    assert differences(shop, pipeline) == {}


def test_a_stream_that_dies_is_named_and_goes_on_after_its_start(shop: Shop) -> None:
    rac = Rac(shop).start(1, 2)
    pipeline = rac.loaded()
    host, port = rac.servers[2].address.split(":")
    rac.servers[2].close()
    rac.work()
    with pytest.raises(ReplicatorUnavailable, match=rf"{port} \(redo thread 2\) cannot be reached"):
        rac.run(pipeline)
    rac.servers[2] = shop.oracle.replicate(rac.servers[2].configuration, thread=2, uri=f"{host}:{port}")
    rac.run(pipeline)  # it is another one, without checkpoint files
    assert differences(shop, pipeline) == {}


def test_a_log_and_a_change_that_one_stream_leaves_out_are_noticed_per_thread(shop: Shop) -> None:
    rac = Rac(shop).start(1, 2)
    pipeline = rac.loaded()
    rac.work()
    shop.switch_logs()
    left_out = shop.oracle.database.state.threads[2].current.sequence
    rac.work()
    shop.switch_logs()
    rac.work()
    rac.servers[2].restart(Behaviour(skipped_log=left_out))
    with pytest.raises(StreamLost, match="logs between them were left out"):
        rac.run(pipeline)
    rac.servers[2].restart(Behaviour(lost_change=5))
    with pytest.raises(StreamLost, match="some are missing"):
        rac.run(pipeline)
    rac.servers[2].restart(Behaviour())
    rac.run(pipeline)
    assert differences(shop, pipeline) == {}


def test_a_closed_thread_no_longer_holds_back_needs_no_stream_and_may_open_again(shop: Shop) -> None:
    rac = Rac(shop).start(1, 2)
    pipeline = rac.loaded()
    rac.work()
    shop.oracle.faults.close_thread(2)
    rac.run_sql(1, "INSERT INTO customers (id, name) VALUES (900001, 'by the other one')")
    rac.run(pipeline)
    assert differences(shop, pipeline) == {}
    host, port = rac.servers[2].address.split(":")
    rac.servers[2].close()
    rac.run_sql(1, "INSERT INTO customers (id, name) VALUES (900002, 'alone')")
    assert rac.run(pipeline).windows
    assert differences(shop, pipeline) == {}
    shop.oracle.faults.open_thread(2)
    rac.run_sql(2, "UPDATE customers SET name = 'back' WHERE id = 900001")
    with pytest.raises(ReplicatorUnavailable, match="redo thread 2"):
        rac.run(pipeline)
    rac.servers[2] = shop.oracle.replicate(rac.servers[2].configuration, thread=2, uri=f"{host}:{port}")
    rac.run(pipeline)
    assert differences(shop, pipeline) == {}


def test_a_thread_that_opens_without_a_stream_stops_until_it_has_one(shop: Shop) -> None:
    rac = Rac(shop).start(1, 2)
    pipeline = rac.loaded()
    shop.oracle.faults.add_thread(3)
    rac.run_sql(3, "INSERT INTO customers (id, name) VALUES (900003, 'third')")
    with pytest.raises(ReplicatorRefused, match="redo thread 3 has redo that no stream gives: `streams` lists 1, 2"):
        rac.run(pipeline)
    rac.start(3)
    grown = rac.pipeline()
    rac.run(grown)
    assert differences(shop, grown) == {}


def test_a_stream_under_another_threads_number_is_refused(shop: Shop) -> None:
    rac = Rac(shop).start(1, 2)
    rac.servers = {1: rac.servers[2], 2: rac.servers[1]}
    pipeline = rac.pipeline()
    rac.work()
    steps.take_snapshot(pipeline, source=shop.params, spark=SPARK)
    rac.work()
    with pytest.raises((ReplicatorRefused, StreamLost)):
        rac.run(pipeline)
    assert steps.list_windows(pipeline) == []


def test_a_kill_after_any_write_leaves_no_window_of_two_threads_or_a_whole_one(shop: Shop) -> None:
    rac = Rac(shop).start(1, 2)
    pipeline = rac.loaded()
    for writes in count(1):
        rac.work(3)
        if writes % 3 == 0:
            rac.restart()
        with suppress(Killed), mock.patch("redolake.host.crash.point", killer(writes)):
            capture(Run(pipeline, shop.params))
            break
    rac.run(pipeline)
    windows = steps.list_windows(pipeline)
    assert [one.last_scn + 1 for one in windows[:-1]] == [one.from_scn for one in windows[1:]]
    assert differences(shop, pipeline) == {}


def test_ddl_of_a_captured_table_stops_before_rows_are_missing_and_logminer_reads_past_it(shop: Shop) -> None:
    """The OpenLogReplicator of another redo thread does not see the DDL, and would leave out or blur the table's rows."""
    rac = Rac(shop).start(1, 2)
    pipeline = rac.loaded()
    mined = pipeline.model_copy(update={"source": SourceSettings(connection="oracle_shop", container="FREEPDB1")})
    rac.run_sql(1, "ALTER TABLE customers ADD (points NUMBER(9))")
    rac.run_sql(2, "INSERT INTO customers (id, name, points) VALUES (900001, 'new', 5)")
    with pytest.raises(ReplicatorRefused, match=r"SHOP.CUSTOMERS: objects or columns are not those") as refused:
        rac.run(pipeline)
    assert "kind: logminer" in refused.value.cure
    for number in range(2):
        shop.switch_logs()
        rac.run(mined)
        rac.run_sql(1 + number, f"INSERT INTO customers (id, name, points) VALUES (90001{number}, 'later', 5)")
    for server in rac.servers.values():
        server.forget()
    for number in range(3):
        rac.run_sql(2, f"UPDATE customers SET points = {number} WHERE id = 900001")
        shop.switch_logs()
        rac.run(pipeline)
    assert received(pipeline)[-1]
    rac.run_sql(2, "UPDATE customers SET points = 6 WHERE id = 900001")
    rac.run(pipeline)
    assert differences(shop, pipeline) == {}


def test_doctor_and_the_printed_configuration_know_each_threads_stream(shop: Shop) -> None:
    rac = Rac(shop).start(1, 2)
    pipeline = rac.pipeline()
    assert [f for f in run_doctor(pipeline, shop.params) if "OpenLogReplicator" in f.subject or "source" in f.subject] == []
    shop.oracle.faults.add_thread(3)
    second = rac.servers[2].address
    rac.servers[2].close()
    found = {f.subject: f.what for f in run_doctor(pipeline, shop.params)}
    assert found["shop.source"].startswith("redo thread 3 has redo that no stream gives")
    assert f"OpenLogReplicator {second} (redo thread 2)" in found
    assert second in steps.write_olr_config(pipeline, 2)
    with pytest.raises(ConfigurationError, match="a stream per redo thread"):
        steps.write_olr_config(pipeline)
    with pytest.raises(ConfigurationError, match="no stream for redo thread 3"):
        steps.write_olr_config(pipeline, 3)


def test_a_thread_that_opens_while_a_window_is_received_is_noticed_at_its_close(shop: Shop) -> None:
    rac = Rac(shop).start(1, 2)
    pipeline = rac.loaded()
    landed = steps.list_windows(pipeline)
    rac.work()
    with meanwhile(lambda: shop.oracle.faults.add_thread(3)), pytest.raises(ReplicatorRefused, match="redo thread 3 has redo"):
        rac.run(pipeline)
    assert steps.list_windows(pipeline) == landed
    rac.start(3)
    grown = rac.pipeline()
    rac.run(grown)
    assert differences(shop, grown) == {}
