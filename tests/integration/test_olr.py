"""OpenLogReplicator as the source: the stand-in's port, receiver, landing, decoding, and a plain fold in place of Spark."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count, groupby
from pathlib import Path
from threading import Event
from typing import Any
from unittest import mock

import pytest

from redolake import steps
from redolake.cockpit import read_overview
from redolake.config import Pipeline
from redolake.config.source import SourceSettings
from redolake.config.tables import Table
from redolake.context import Run, ledger_url, open_pipeline_source
from redolake.errors import ConfigurationError, LeaseHeld, ReplicatorRefused, ReplicatorUnavailable, StreamLost
from redolake.ledger.entries import lease_name
from redolake.reconcile.ledger import last_batch
from redolake.records.readers import is_received
from redolake.source import ConnectParams, read_current_scn, read_redo_facts
from redolake.source.olr.settings import needed_configuration
from redolake.steps.capture.receive_streams import take_stream
from redolake.steps.run import capture
from redolake.steps.shared.reader_change import read_open
from redolake.values.datatypes import OF_PARTS
from redolake.values.redo import CHANGES
from standin.olr.options import Behaviour
from standin.olr.server import OlrServer
from tests.fixtures.shop import TABLES, Shop, open_shop
from tests.generated.hunts import EXAMPLES
from tests.generated.table_lives import killer
from tests.integration.test_pipeline import TWO_TABLES, differences
from tests.integration.test_vanished_partitions import BY_K, ENDS, created
from tests.integration.test_vanished_partitions import run as run_in
from tests.references.plain_ddl import Contradiction
from tests.references.plain_lake import PlainLake, raw_redo
from tests.support.doctor import run_doctor
from tests.support.killed import Killed, killed_at
from tests.support.short_pauses import short_pauses

SPARK = "no Spark"
HUNTED = EXAMPLES // 20
SEEDS = random.Random(os.environ.get("REDOLAKE_SEED")).sample(range(10**9), HUNTED) if HUNTED else [5]
LOOSE = (
    "CREATE TABLE loose (id NUMBER(9) PRIMARY KEY, name VARCHAR2(20), weight NUMBER(20,6), at TIMESTAMP(6), raw RAW(8))",
    "ALTER TABLE loose ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
    "INSERT INTO loose SELECT LEVEL, 'row ' || LEVEL, LEVEL / 7, NULL, NULL FROM dual CONNECT BY LEVEL <= 20",
)
CHANGES_OF_LOOSE = (
    ("ALTER TABLE loose ADD (points NUMBER(9) DEFAULT 7)", "UPDATE loose SET points = 8 WHERE MOD(id, 3) = 0"),
    ("ALTER TABLE loose RENAME COLUMN name TO title", "INSERT INTO loose (id, title) VALUES (101, 'für')"),
    ("TRUNCATE TABLE loose", "INSERT INTO loose (id, weight) VALUES (102, -0.000123)"),
    ("UPDATE loose SET at = TIMESTAMP '1583-01-02 03:04:05.123456', weight = weight * 3 WHERE MOD(id, 2) = 0",),
    ("DELETE FROM loose WHERE MOD(id, 4) = 0", "UPDATE loose SET raw = HEXTORAW('00FF') WHERE MOD(id, 5) = 0"),
)


@dataclass(slots=True)
class Streamed:
    """A shop, whose redo an OpenLogReplicator reads."""

    shop: Shop
    server: OlrServer

    def pipeline(self, name: str = "shop", **settings: Any) -> Pipeline:
        source = {
            "connection": "oracle_shop", "container": "FREEPDB1", "kind": "openlogreplicator",
            "address": self.server.address, "database": "SHOP_DB", "silent_seconds": 10,
        }  # fmt: skip
        return self.shop.pipeline(name, source=source, **settings)

    def run(self, pipeline: Pipeline, source: ConnectParams | None = None) -> Any:
        return steps.run_pipeline(pipeline, until_caught_up=True, source=source or self.shop.params, spark=SPARK)


def start(shop: Shop, behaviour: Behaviour | None = None, **format_: Any) -> Streamed:
    body = needed_configuration("SHOP_DB", "127.0.0.1:5000", [])
    body["source"][0]["format"].update(format_)
    return Streamed(shop, shop.oracle.replicate(body, behaviour))


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with short_pauses(), PlainLake().in_place_of_spark(), open_shop(tmp_path, threads=1, scns_per_second=50) as opened:
        yield opened


OF_OBJECTS = {"PAPER": "CLOB", "XML": "XMLTYPE", "DOC": "JSON"}
# All that releases do differently, or nobody knows.
OTHER = Behaviour(c_scn="begin", group_scn="first", first_index=0, commits_in_group=4, splits=700)


@pytest.mark.parametrize("behaviour", [Behaviour(), OTHER])
def test_every_table_of_the_shop_equals_the_source(shop: Shop, behaviour: Behaviour) -> None:
    shop.work(30, seed=1)
    streamed = start(shop, behaviour)
    pipeline = streamed.pipeline()
    steps.take_snapshot(pipeline, source=shop.params, spark=SPARK)
    done = shop.work(120, seed=2)
    first = streamed.run(pipeline)
    shop.work(40, seed=3)
    streamed.server.restart()
    second = streamed.run(pipeline)
    third = streamed.run(pipeline)

    assert done.tally.partial_rollbacks > 0
    assert done.tally.rollbacks > 0
    assert first.windows >= 1
    assert second.windows >= 1
    assert (third.windows, third.batches) == (0, 0)
    assert differences(shop, pipeline) == {}


@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_history_gives_equal_tables_by_logminer_and_by_openlogreplicator(tmp_path: Path, seed: int) -> None:
    lake, chance = PlainLake(), random.Random(seed)
    with short_pauses(), lake.in_place_of_spark(), open_shop(tmp_path, threads=1, scns_per_second=50) as shop:
        streamed = start(shop, Behaviour(c_scn=chance.choice(("commit", "begin")), commits_in_group=chance.randint(1, 5)))
        settings: dict[str, Any] = {"tables": [*TABLES, "SHOP.LOOSE"], "on_ddl": {"truncate": "follow"}}
        received = streamed.pipeline(**settings)
        mined = shop.pipeline("mined", lake=str(tmp_path / "mined"), **settings)
        shop.run_sql(*LOOSE)
        shop.work(15, seed=seed)
        for pipeline in (received, mined):
            steps.take_snapshot(pipeline, source=shop.params, spark=SPARK)
        for number, statement in enumerate(chance.sample(CHANGES_OF_LOOSE, 4)):
            shop.work(20, seed=seed + number + 1)
            shop.run_sql(*statement)
            shop.work(10, seed=seed + number + 101)
            shop.switch_logs()
            for pipeline in chance.choice(((received,), (mined,), (received, mined))):
                streamed.run(pipeline)
        for pipeline in (received, mined):
            streamed.run(pipeline)
        assert differences(shop, received) == {}

    rows = [
        {path.removeprefix(one.lake): table.rows for path, table in lake.tables.items() if path.startswith(f"{one.lake}/")}
        for one in (received, mined)
    ]
    assert rows[0] == rows[1]
    assert len(rows[0]) == len(TABLES) + 1


def two_tables(shop: Shop, behaviour: Behaviour | None = None, **format_: Any) -> tuple[Streamed, Pipeline]:
    """Return a pipeline whose tables are loaded, and whose first window has landed."""
    streamed = start(shop, behaviour, **format_)
    pipeline = streamed.pipeline(tables=TWO_TABLES, on_ddl={"truncate": "follow"})
    shop.work(5)
    steps.take_snapshot(pipeline, source=shop.params, spark=SPARK)
    streamed.run(pipeline)
    return streamed, pipeline


def test_a_transaction_that_is_open_at_a_windows_end_comes_whole_with_its_commit(shop: Shop) -> None:
    """By the numbers of 2.0, a client that continues from its position would lose it."""
    streamed, pipeline = two_tables(shop, OTHER)
    with shop.oracle.connect("SHOP") as slow:
        slow.cursor().execute("INSERT INTO customers (id, name) VALUES (900001, 'slow')")
        shop.work(10, seed=2)
        assert streamed.run(pipeline).windows
        shop.work(10, seed=3)
        streamed.server.restart()
        assert streamed.run(pipeline).windows
        slow.commit()
    shop.work(3, seed=4)
    streamed.run(pipeline)
    assert differences(shop, pipeline) == {}


def test_nothing_is_landed_after_a_change_that_is_missing_and_a_restart_cures(shop: Shop) -> None:
    streamed, pipeline = two_tables(shop)
    streamed.server.restart(Behaviour(lost_change=7))
    shop.work(20, seed=2)
    with pytest.raises(StreamLost, match=r"change \d+ of transaction .* and \d+ was next"):
        streamed.run(pipeline)
    streamed.server.restart(Behaviour())
    streamed.run(pipeline)
    assert differences(shop, pipeline) == {}


def test_messages_that_a_continue_skips_are_noticed_and_come_after_a_restart(shop: Shop) -> None:
    """OpenLogReplicator's issue 324."""
    streamed, pipeline = two_tables(shop)
    shop.work(20, seed=2)
    streamed.server.behaviour = replace(streamed.server.behaviour, skipped_by_continue=60)
    with pytest.raises(StreamLost, match="the stream begins after the end of the last window"):
        streamed.run(pipeline)
    streamed.server.restart(Behaviour())
    streamed.run(pipeline)
    assert differences(shop, pipeline) == {}


def test_a_replicator_that_has_forgotten_where_it_was_is_started_where_the_last_window_needs_it(shop: Shop) -> None:
    streamed, pipeline = two_tables(shop, OTHER)
    with shop.oracle.connect("SHOP") as slow:
        slow.cursor().execute("INSERT INTO customers (id, name) VALUES (900001, 'slow')")
        shop.work(10, seed=2)
        streamed.run(pipeline)
        streamed.server.forget()
        slow.commit()
    shop.work(3, seed=3)
    streamed.run(pipeline)
    assert differences(shop, pipeline) == {}


def test_one_that_has_forgotten_and_lacks_the_redo_stops_and_new_snapshots_cure(shop: Shop) -> None:
    streamed, pipeline = two_tables(shop)
    shop.work(10, seed=2)
    host, port = streamed.server.address.split(":")
    streamed.server.close()
    for _ in range(3):  # online logs have it longer
        shop.lose_redo()
    shop.oracle.replicate(streamed.server.configuration, uri=f"{host}:{port}")
    with pytest.raises(ReplicatorRefused, match="cannot start at SCN") as lost:
        streamed.run(pipeline)
    assert "redolake recover" in lost.value.cure
    for _ in range(2):  # as recover asks for: the last log before the loss must have ended
        shop.switch_logs()
    steps.recover_redo_loss(pipeline, "snapshot", source=shop.params, spark=SPARK)
    shop.work(10, seed=3)
    streamed.run(pipeline)
    assert differences(shop, pipeline) == {}


def test_a_replicator_of_another_database_under_the_same_names_is_noticed_by_its_logs(shop: Shop, tmp_path: Path) -> None:
    pipeline = start(shop).pipeline(tables=TWO_TABLES)
    shop.switch_logs()
    steps.take_snapshot(pipeline, source=shop.params, spark=SPARK)
    shop.work(5)
    shop.switch_logs()
    with open_shop(tmp_path / "other", threads=1, scns_per_second=50) as other:
        for _ in range(4):
            other.switch_logs()
        strange = start(other)
        other.work(40)
        moved = pipeline.source.model_copy(update={"address": strange.server.address})
        with pytest.raises(StreamLost, match=r"begins in log \d|names log \d+, which has the SCNs"):
            strange.run(pipeline.model_copy(update={"source": moved}), source=shop.params)
    assert steps.list_windows(pipeline) == []


def test_an_older_checkpoint_sends_again_what_was_landed_and_nothing_comes_twice(shop: Shop) -> None:
    streamed, pipeline = two_tables(shop)
    older = streamed.server.confirmed
    shop.work(10, seed=2)
    streamed.run(pipeline)
    shop.work(10, seed=3)
    streamed.run(pipeline)
    streamed.server.restart(confirmed=older)
    shop.work(10, seed=4)
    streamed.run(pipeline)
    assert differences(shop, pipeline) == {}


# What one that loses nothing needs, by another value.
NEEDED: dict[str, tuple[int, str]] = {
    "message": (0, '"message": 2'),
    "scn-type": (0, '"scn-type": 14'),
    "rid": (0, '"rid": 1'),
    "schema": (0, '"schema": 4'),
    "xid": (3, '"xid": 1'),
    "timestamp-metadata": (8, '"timestamp-metadata": 0'),
    "db": (0, '"db": 3'),
}


def test_a_setting_without_which_a_loss_would_not_show_is_named(shop: Shop) -> None:
    pipeline = start(shop).pipeline(tables=TWO_TABLES)
    steps.take_snapshot(pipeline, source=shop.params, spark=SPARK)
    shop.work(3)
    for setting, (value, said) in NEEDED.items():
        poor = start(shop, **{setting: value})
        source = pipeline.source.model_copy(update={"address": poor.server.address})
        with pytest.raises(ReplicatorRefused) as refused:
            poor.run(pipeline.model_copy(update={"source": source}))
        assert said in refused.value.cure
    assert steps.list_windows(pipeline) == []


def test_a_replicator_of_another_database_or_alias_or_none_at_all_is_said(shop: Shop) -> None:
    streamed, pipeline = two_tables(shop)
    source = pipeline.source
    other = pipeline.model_copy(update={"source": source.model_copy(update={"database": "OTHER"})})
    with pytest.raises(ReplicatorRefused, match="no source with the alias OTHER"):
        streamed.run(other)
    host, port = streamed.server.address.split(":")
    streamed.server.close()
    with pytest.raises(ReplicatorUnavailable, match="cannot be reached"):
        streamed.run(pipeline)
    shop.work(3, seed=3)
    shop.oracle.replicate(streamed.server.configuration, uri=f"{host}:{port}")
    streamed.run(pipeline)  # it is another one, which starts where this pipeline needs it
    assert differences(shop, pipeline) == {}


def test_one_that_runs_already_is_not_taken_for_one_that_waits(shop: Shop) -> None:
    streamed, _ = two_tables(shop)
    second = streamed.pipeline("second", tables=TWO_TABLES, lake=str(shop.folder / "lake2"))
    steps.take_snapshot(second, source=shop.params, spark=SPARK)
    with pytest.raises(ReplicatorRefused, match="runs already"):
        streamed.run(second)
    streamed.server.forget()
    streamed.run(second)
    assert differences(shop, second) == {}


@dataclass(slots=True)
class Handover:
    """A pipeline whose reader changes, and two transactions that are open meanwhile: one commits, one never."""

    shop: Shop
    server: OlrServer
    streamed: Pipeline
    seed: int = 10

    @property
    def mined(self) -> Pipeline:
        return self.streamed.model_copy(update={"source": SourceSettings(connection="oracle_shop", container="FREEPDB1")})

    def run(self, pipeline: Pipeline, switches: int = 0) -> Any:
        for _ in range(switches):
            self.work()
            self.shop.switch_logs()
            steps.run_pipeline(pipeline, until_caught_up=True, source=self.shop.params, spark=SPARK)
        self.work()
        self.shop.switch_logs()
        return steps.run_pipeline(pipeline, until_caught_up=True, source=self.shop.params, spark=SPARK)

    def work(self) -> None:
        self.seed += 1
        self.shop.work(6, seed=self.seed)

    @contextmanager
    def open_transactions(self) -> Iterator[tuple[Any, Any]]:
        """Yield the cursors of a transaction that is to commit, and of one that is to be rolled back."""
        with self.shop.oracle.connect("SHOP") as slow, self.shop.oracle.connect("SHOP") as gone:
            cursors = slow.cursor(), gone.cursor()
            for number, cursor in enumerate(cursors):
                cursor.execute(f"INSERT INTO customers (id, name) VALUES ({self.seed}00{number}, 'before')")
            yield cursors
            cursors[0].execute(f"UPDATE customers SET name = 'after' WHERE id = {self.seed}000")
            cursors[0].execute(f"INSERT INTO order_lines (order_id, line_no, sku) VALUES ({self.seed}, 9, 'late')")
            slow.commit()
            gone.rollback()


def handover(shop: Shop, behaviour: Behaviour | None = None) -> Handover:
    streamed = start(shop, behaviour)
    found = Handover(shop, streamed.server, streamed.pipeline(tables=TWO_TABLES))
    shop.work(5)
    return found


def received(pipeline: Pipeline) -> list[bool]:
    """Return of each landed window whether OpenLogReplicator has sent it."""
    with Run(pipeline) as context:
        return [is_received(window) for window in context.landing.windows.after()]


def open_at_last(pipeline: Pipeline) -> list[str]:
    """Return the transactions that the last batch has carried over."""
    with Run(pipeline) as context:
        last = last_batch(context)
        return [] if last is None else [found.xid for found in last.open_transactions]


def test_openlogreplicator_goes_on_after_logminer_without_a_snapshot(shop: Shop) -> None:
    moved = handover(shop, OTHER)
    steps.take_snapshot(moved.mined, source=shop.params, spark=SPARK)
    moved.run(moved.mined)
    with moved.open_transactions():
        moved.run(moved.mined)
        assert "two log switches or more" in steps.plan_edit(moved.streamed).handover
        with moved.open_transactions():  # ends before the other reader begins
            moved.run(moved.streamed)
        with moved.open_transactions():
            moved.run(moved.streamed, switches=3)
        assert received(moved.streamed)[-1]
        assert steps.plan_edit(moved.streamed).handover == ""
        moved.run(moved.streamed)
    moved.run(moved.streamed)

    readers = received(moved.streamed)
    assert readers == sorted(readers)
    assert open_at_last(moved.streamed) == []  # what LogMiner had of them is not carried on
    assert differences(shop, moved.streamed) == {}


def test_logminer_goes_on_after_openlogreplicator_without_a_snapshot(shop: Shop) -> None:
    moved = handover(shop, OTHER)
    steps.take_snapshot(moved.streamed, source=shop.params, spark=SPARK)
    moved.run(moved.streamed)
    with moved.open_transactions():
        moved.run(moved.streamed)
        with moved.open_transactions():
            moved.run(moved.streamed)
        assert "LogMiner goes on after OpenLogReplicator at SCN" in steps.plan_edit(moved.mined).handover
        with moved.open_transactions():
            moved.run(moved.mined)
        assert not received(moved.mined)[-1]
        moved.run(moved.mined)
    moved.run(moved.mined)

    readers = received(moved.mined)
    assert readers == sorted(readers, reverse=True)
    assert open_at_last(moved.mined) == []
    assert differences(shop, moved.mined) == {}


def test_a_kill_after_any_write_of_a_handover_leaves_no_window_or_a_whole_one(shop: Shop) -> None:
    moved = handover(shop, OTHER)
    steps.take_snapshot(moved.mined, source=shop.params, spark=SPARK)
    moved.run(moved.mined)
    with moved.open_transactions():
        while not received(moved.streamed)[-1]:
            moved.work()
            shop.switch_logs()
            kill_everywhere(moved.streamed, shop)
        moved.run(moved.streamed)
        moved.work()
        shop.switch_logs()
        kill_everywhere(moved.mined, shop)
        assert not received(moved.mined)[-1]
        moved.run(moved.mined)
    moved.run(moved.mined)
    readers = received(moved.mined)
    assert [is_stream for is_stream, _ in groupby(readers)] == [False, True, False]
    assert differences(shop, moved.mined) == {}


def test_a_reading_of_open_transactions_holds_from_after_the_commits_that_it_does_not_show(shop: Shop) -> None:
    moved = handover(shop)
    with open_pipeline_source(moved.mined, shop.params) as oracle:
        with moved.open_transactions():
            facts = read_redo_facts(oracle, read_current_scn(oracle))
        committed = read_current_scn(oracle)
        found = read_open(oracle, facts)

    assert found is not None
    assert found.at >= committed > facts.current_scn >= found.oldest


def kill_everywhere(pipeline: Pipeline, shop: Shop) -> None:
    """Capture a window in several attempts, each of which ends after one write more."""
    for writes in count(1):
        with suppress(Killed), mock.patch("redolake.host.crash.point", killer(writes)):
            capture(Run(pipeline, shop.params))
            return


def test_what_openlogreplicator_does_not_give_stops_the_handover_before_it_begins(shop: Shop) -> None:
    shop.run_sql(
        "CREATE TABLE sorted (id NUMBER(9) PRIMARY KEY, name VARCHAR2(20)) ORGANIZATION INDEX",
        "ALTER TABLE sorted ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
    )
    moved = handover(shop)
    tables = {"tables": (Table.model_validate({"table": "SHOP.SORTED"}),)}
    streamed, mined = moved.streamed.model_copy(update=tables), moved.mined.model_copy(update=tables)
    steps.take_snapshot(mined, source=shop.params, spark=SPARK)
    moved.run(mined)
    with pytest.raises(ConfigurationError, match="index-organized"):
        moved.run(streamed)
    moved.run(mined)
    assert differences(shop, mined) == {}


def test_values_that_it_could_not_decode_hold_their_table_alone(shop: Shop) -> None:
    streamed, pipeline = two_tables(shop)
    streamed.server.restart(Behaviour(undecodable=frozenset({"NAME"})))
    shop.work(10, seed=2)
    streamed.run(pipeline)
    tables = {t.table: t for t in steps.read_status(pipeline).tables}
    assert {name: t.state for name, t in tables.items()} == {"SHOP.CUSTOMERS": "held", "SHOP.ORDER_LINES": "live"}
    assert "column NAME: OpenLogReplicator could not decode the value" in str(tables["SHOP.CUSTOMERS"].error)
    assert differences(shop, pipeline, "SHOP.ORDER_LINES") == {}


def test_columns_that_come_and_go_and_a_truncate_are_followed(shop: Shop) -> None:
    streamed, pipeline = two_tables(shop)
    shop.run_sql(
        "ALTER TABLE customers ADD (points NUMBER(9) DEFAULT 7)",
        "INSERT INTO customers (id, name) VALUES (900001, 'new')",
        "UPDATE customers SET credit = 5 WHERE id = 900001",
        "ALTER TABLE customers RENAME COLUMN notes TO remarks",
        "UPDATE customers SET remarks = 'seen' WHERE id = 900001",
        "TRUNCATE TABLE order_lines",
        "INSERT INTO order_lines (order_id, line_no, sku) VALUES (1, 1, 'A')",
    )
    streamed.run(pipeline)
    assert differences(shop, pipeline) == {}


def test_what_it_does_not_give_exactly_is_refused_before_anything_is_read(shop: Shop) -> None:
    shop.run_sql(
        "CREATE TABLE measures (id NUMBER(9) PRIMARY KEY, exact NUMBER, rough BINARY_DOUBLE, "
        "paper CLOB, xml XMLTYPE, doc JSON)",
        "ALTER TABLE measures ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        "CREATE TABLE sorted (id NUMBER(9) PRIMARY KEY, name VARCHAR2(20)) ORGANIZATION INDEX",
        "ALTER TABLE sorted ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
    )
    streamed = start(shop)
    refused = streamed.pipeline(tables=["SHOP.MEASURES", "SHOP.SORTED"])
    errors = {f.subject: f.what for f in run_doctor(refused, shop.params) if f.severity == "error"}
    assert errors == {
        "SHOP.MEASURES.ROUGH": "BINARY_DOUBLE: OpenLogReplicator writes six digits of it",
        **{f"SHOP.MEASURES.{name}": f"{type_}: {OF_PARTS}" for name, type_ in OF_OBJECTS.items()},
        "SHOP.SORTED": "is an index-organized table, whose changes OpenLogReplicator does not give",
    }
    with pytest.raises(ConfigurationError, match="six digits"):
        steps.take_snapshot(refused, source=shop.params, spark=SPARK)
    pipeline = streamed.pipeline(tables=[{"table": "SHOP.MEASURES", "exclude_columns": ["ROUGH", *OF_OBJECTS]}])
    steps.take_snapshot(pipeline, source=shop.params, spark=SPARK)
    shop.run_sql("INSERT INTO measures VALUES (1, 12345678901234567890.5, 1.25, 'long', XMLTYPE('<a/>'), '{}')")
    streamed.run(pipeline)
    assert [f for f in run_doctor(pipeline, shop.params) if f.severity == "error"] == []
    assert differences(shop, pipeline) == {}


def test_what_it_gives_and_logminer_does_not_is_captured(shop: Shop) -> None:
    long = "a_name_of_more_than_thirty_bytes_which_logminer_does_not_show"
    shop.run_sql(
        f"CREATE TABLE flags (id NUMBER(9) PRIMARY KEY, {long} BOOLEAN, place UROWID)",
        "ALTER TABLE flags ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        "INSERT INTO flags VALUES (1, TRUE, NULL)",
    )
    streamed = start(shop)
    pipeline = streamed.pipeline(tables=["SHOP.FLAGS"])
    assert [f for f in run_doctor(pipeline, shop.params) if f.severity == "error"] == []
    steps.take_snapshot(pipeline, source=shop.params, spark=SPARK)
    shop.run_sql(
        "INSERT INTO flags SELECT 2, FALSE, ROWID FROM flags",
        "INSERT INTO flags VALUES (3, NULL, NULL)",
        f"UPDATE flags SET {long} = FALSE WHERE id = 1",
        f"UPDATE flags SET {long} = TRUE WHERE id = 3",
        "DELETE FROM flags WHERE id = 2",
    )
    streamed.run(pipeline)
    assert differences(shop, pipeline) == {}
    mined = shop.pipeline(tables=["SHOP.FLAGS"])
    assert "LogMiner shows each change" in " ".join(f.what for f in run_doctor(mined, shop.params))


def test_a_database_with_two_redo_threads_is_refused(tmp_path: Path) -> None:
    with short_pauses(), PlainLake().in_place_of_spark(), open_shop(tmp_path, threads=2) as shop:
        streamed = start(shop)
        pipeline = streamed.pipeline(tables=TWO_TABLES)
        steps.take_snapshot(pipeline, source=shop.params, spark=SPARK)
        with pytest.raises(ReplicatorRefused, match="2 redo threads"):
            streamed.run(pipeline)


def test_one_receiver_at_a_time_is_connected(shop: Shop) -> None:
    streamed, pipeline = two_tables(shop)
    shop.work(3, seed=2)
    asked = len(streamed.server.requests)
    with Run(pipeline) as context:
        lease = context.ledger.lease(lease_name("receive", pipeline.name), "one on another host", 60, lambda _: False)
        with pytest.raises(LeaseHeld, match="on another host"):
            steps.receive_next_window(Run(pipeline.model_copy(update={"lease_wait_minutes": 0}), shop.params))
        context.ledger.release_lease(lease)
    assert len(streamed.server.requests) == asked
    streamed.run(pipeline)
    assert differences(shop, pipeline) == {}


def test_a_zone_that_is_off_by_hours_is_noticed_before_anything_lands(shop: Shop) -> None:
    """SynchDB's eight hours."""
    streamed = start(shop, Behaviour(hours=8))
    pipeline = streamed.pipeline(tables=TWO_TABLES)
    steps.take_snapshot(pipeline, source=shop.params, spark=SPARK)
    shop.work(5)
    with pytest.raises(ReplicatorRefused, match=r"\+8\.0 h off"):
        streamed.run(pipeline)
    assert steps.list_windows(pipeline) == []
    streamed.server.restart(Behaviour())
    streamed.server.forget()
    streamed.run(pipeline)
    assert differences(shop, pipeline) == {}


def test_a_kill_after_any_write_leaves_no_window_or_a_whole_one(shop: Shop) -> None:
    streamed, pipeline = two_tables(shop)
    shop.work(3, seed=2)
    passed: list[str] = []
    with mock.patch("redolake.host.crash.point", passed.append):
        steps.receive_next_window(Run(pipeline, shop.params))
    points = [name for name in dict.fromkeys(passed) if not name.startswith("part of")]
    assert {"ledger.plan_slices", "write_slice", "publish", "finish"} <= {name.partition(" ")[0] for name in points}
    for seed, point in enumerate(points, 3):
        shop.work(3, seed=seed)
        with killed_at(point):
            steps.receive_next_window(Run(pipeline, shop.params))
        if seed % 3 == 0:
            streamed.server.restart()
    streamed.run(pipeline)
    assert differences(shop, pipeline) == {}
    windows = steps.list_windows(pipeline)
    assert [one.last_scn + 1 for one in windows[:-1]] == [one.from_scn for one in windows[1:]]


def test_follow_lands_and_applies_what_comes_and_the_page_shows_it(shop: Shop) -> None:
    _, pipeline = two_tables(shop)
    stop, said = Event(), list[str]()

    def report(line: str) -> None:
        said.append(str(line))
        if "is visible" in line:
            shop.work(5, seed=3) if sum("is visible" in one for one in said) < 2 else stop.set()

    shop.work(5, seed=2)
    done = steps.follow_pipeline(Run(pipeline, source=shop.params, spark=SPARK, report=report), stop)
    assert (done.windows > 1, done.batches > 1, done.retries) == (True, True, 0), said
    assert differences(shop, pipeline) == {}
    assert {table.table for table in read_overview(pipeline, ledger_url(pipeline), datetime.now(UTC)).tables} == set(TWO_TABLES)


def test_the_printed_configuration_is_that_of_the_tables_and_a_wrong_one_is_named(shop: Shop, tmp_path: Path) -> None:
    streamed = start(shop)
    pipeline = streamed.pipeline(tables=TWO_TABLES)
    file = tmp_path / "OpenLogReplicator.json"
    file.write_text(steps.write_olr_config(pipeline))
    body = json.loads(file.read_text())
    assert steps.check_olr_file(pipeline, file) == []
    assert [one["table"] for one in body["source"][0]["filter"]["table"]] == ["CUSTOMERS", "ORDER_LINES"]
    body["source"][0]["format"]["char"] = 0
    file.write_text(json.dumps(body))
    assert [f.subject for f in steps.check_olr_file(pipeline, file)] == ["format.char"]
    with pytest.raises(ConfigurationError, match="is not OpenLogReplicator"):
        steps.write_olr_config(shop.pipeline(tables=TWO_TABLES))


def test_doctor_looks_at_what_a_running_one_sends_and_names_each_setting(shop: Shop) -> None:
    servers = {
        "good": start(shop),
        "poor": start(shop, rid=0, schema=0, **{"scn-type": 0, "timestamp-type": 0}),
        "blurred": start(shop, char=0),
    }
    pipelines = {name: one.pipeline(name, tables=TWO_TABLES, lake=str(shop.folder / name)) for name, one in servers.items()}
    shop.work(3)
    for name, pipeline in pipelines.items():
        assert [f for f in run_doctor(pipeline, shop.params) if f.subject.startswith("OpenLogReplicator")] == []
        steps.take_snapshot(pipeline, source=shop.params, spark=SPARK)
        with suppress(ReplicatorRefused):
            servers[name].run(pipeline)
    shop.work(10, seed=2)
    found = {
        name: [f for f in run_doctor(pipeline, shop.params) if f.subject.startswith("OpenLogReplicator")]
        for name, pipeline in pipelines.items()
    }

    assert found["good"] == []
    for name, pipeline in pipelines.items():  # without asking Oracle, of the tables as the landing knows them
        checked = steps.validate(steps.Run(pipeline), ask_olr=True)
        assert [f for f in checked if f.subject.startswith("OpenLogReplicator")] == found[name]
    settings = {setting for f in found["poor"] for setting in re.findall(r'"([a-z-]+)": \d', f.cure)}
    assert settings == {"rid", "schema", "scn-type", "timestamp-type"}
    assert "SHOP.CUSTOMERS: column NAME: the value is not in hexadecimal digits: OpenLogReplicator needs `char: 2`" in {
        f.what for f in found["blurred"]
    }
    shop.work(3, seed=3)
    servers["good"].run(pipelines["good"])  # the look has taken nothing away
    assert differences(shop, pipelines["good"]) == {}


@contextmanager
def meanwhile(happens: Callable[[], Any]) -> Iterator[None]:
    """Let something happen after the first stream was received, and before the window's close."""
    left = [happens]

    def received(*given: Any) -> Any:
        found = take_stream(*given)
        if left:
            left.pop()()
        return found

    with mock.patch("redolake.steps.capture.receive_streams.take_stream", received):
        yield


def test_a_redo_thread_that_opens_while_a_window_is_received_is_noticed_at_its_close(shop: Shop) -> None:
    streamed, pipeline = two_tables(shop)
    landed = steps.list_windows(pipeline)
    shop.work(3, seed=2)
    with meanwhile(lambda: shop.oracle.faults.add_thread(2)), pytest.raises(ReplicatorRefused, match="2 redo threads"):
        streamed.run(pipeline)
    assert steps.list_windows(pipeline) == landed


def test_one_that_hangs_is_not_taken_for_one_without_changes(shop: Shop) -> None:
    streamed, pipeline = two_tables(shop)
    source = pipeline.source.model_copy(update={"silent_seconds": 1.5})
    impatient = pipeline.model_copy(update={"source": source, "wait_max_minutes": 0.0001})
    streamed.server.reads_to = int(shop.oracle.database.clock.scn)
    shop.work(3, seed=2)
    while (found := steps.receive_next_window(Run(impatient, shop.params))).landed is not None:
        pass
    assert re.search(r"has read to SCN \d+, log 1", found.plan.reason)  # which has not ended: it may read archived logs only
    shop.switch_logs()
    with pytest.raises(ReplicatorUnavailable, match=r"has read to SCN \d+, log 1, written \d+ minutes ago"):
        steps.receive_next_window(Run(impatient, shop.params))
    streamed.server.reads_to = None
    streamed.run(pipeline)
    assert differences(shop, pipeline) == {}


def rows_by_name_too(part: Any, start: int, task: Any) -> Iterator[Any]:
    """Raise as assemble does for a row that has the table's name and an OBJECT_ID that it never had."""
    ids = {number for version in task.course.versions for number in version.object_ids}
    named = (row for row in part.to_pylist() if (row["seg_owner"], row["table_name"]) == (task.table.owner, task.table.name))
    if any(row["operation_code"] in CHANGES and row["object_id"] not in ids for row in named):
        raise Contradiction("an object that the table never had")
    yield from raw_redo(part, start, task)


@pytest.mark.parametrize("behaviour", [Behaviour(), Behaviour(dictionary="database"), Behaviour(uncommitted_dictionary=True)])
@pytest.mark.parametrize("how", ["merged", "dropped"])
def test_rows_of_a_partition_that_came_and_went_are_not_passed_over(shop: Shop, behaviour: Behaviour, how: str) -> None:
    """OpenLogReplicator knows the partition and sends its rows under the table's name; the table stops at them."""
    shop.run_sql(*created("t", BY_K), "INSERT INTO t VALUES (1, 5, 'old')", "INSERT INTO t VALUES (2, 5, 'old')")
    streamed = start(shop, behaviour)
    pipeline = streamed.pipeline(tables=["SHOP.T"])
    steps.take_snapshot(pipeline, source=shop.params, spark=SPARK)
    run_in(shop, "t", ENDS[how])
    with mock.patch("tests.references.plain_lake.raw_redo", rows_by_name_too):
        try:
            streamed.run(pipeline)
        except Contradiction:
            return
    (table,) = steps.read_status(pipeline).tables
    assert table.error or differences(shop, pipeline) == {}
