"""`source: {kind: openlogreplicator}`: what is needed, and what is refused because it is not proved to work."""

from __future__ import annotations

from typing import Any

import pytest

from redolake.config import parse_configuration
from redolake.errors import ConfigurationError

STREAM = "kind: openlogreplicator, address: 'localhost:5000', database: DB"

RAC = "kind: openlogreplicator, database: DB, streams: [{thread: 1, address: 'a:1'}"


def parse(source: str, more: str = "") -> Any:
    source = source if "connection" in source else f"connection: oracle_shop, {source}"
    text = f"""
pipelines:
  shop:
    source: {{{source}}}
    landing: /data/landing
    lake: /lake
    tables: [SHOP.ORDERS]
    {more}
"""
    return parse_configuration(text, {}).pipelines["shop"]


def test_only_one_stream_may_be_received_without_a_connection() -> None:
    def without(source: str, more: str = "") -> Any:
        return parse(f"connection: null, {source}", more)

    assert without(STREAM).source.connection is None
    for source, more, said in (
        ("container: PDB", "", "pipelines.shop.source.connection: is missing"),
        (f"{RAC}]", "", "tables are compared with the dictionary at each window"),
        (STREAM, "verify_schedule: '0 3 * * *'", "tables are compared with Oracle's rows"),
    ):
        with pytest.raises(ConfigurationError) as refused:
            without(source, more)
        assert said in str(refused.value)


def test_a_stream_needs_its_address_and_the_alias_of_its_source() -> None:
    assert parse(STREAM).source.is_stream
    assert [one.thread for one in parse(f"{RAC}, {{thread: 2, address: 'b:1'}}]").source.streams] == [1, 2]
    assert not parse("container: PDB").source.is_stream


@pytest.mark.parametrize(
    ("source", "more", "said"),
    [
        ("kind: openlogreplicator", "", "needs `address` and `database`"),
        ("kind: openlogreplicator, address: 'localhost:5000'", "", "needs `address` and `database`"),
        ("address: 'localhost:5000'", "", "address: only with `kind: openlogreplicator`"),
        ("kind: openlogreplicator, address: localhost, database: DB", "", "is not host:port"),
        (f"{STREAM}, streams: [{{thread: 1, address: 'a:1'}}]", "", "give `address` or `streams`, not both"),
        (f"{RAC}, {{thread: 1, address: 'b:2'}}]", "", "thread 1 is listed twice"),
        (f"{RAC}, {{thread: 2, address: 'a:1'}}]", "", "address a:1 is listed twice"),
        (f"{RAC}, {{thread: 2, address: b}}]", "", "is not host:port"),
        (f"{STREAM}, dictionary: redo", "", "`dictionary` is LogMiner's"),
        (STREAM, "large_objects: reread", "reads values again"),
        (STREAM, "unsupported_columns: reread", "reads values again"),
    ],
)
def test_what_a_stream_cannot_do_is_refused_in_the_file(source: str, more: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        parse(source, more)
    assert said in str(refused.value)
