"""The stand-in's OpenLogReplicator: its protocol, its messages option by option, and published output of a real one."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from standin.olr.options import Behaviour, Configuration, Format
from standin.olr.protocol import NONE, Answer, Request, framed, read_request, take_frame
from standin.olr.server import OlrServer
from standin.serve import StandIn, standin
from tests.published.olr_messages import published_messages
from tests.published.scenarios import SCENARIOS

FLAGS = 0x1020


@dataclass
class Client:
    """A receiver by hand: it knows the bytes, and nothing of the product."""

    connection: socket.socket
    buffer: bytearray = field(default_factory=bytearray)

    def ask(self, *fields: tuple[int, int | str]) -> dict[int, int]:
        body = b""
        for number, value in fields:
            octets = value.encode() if isinstance(value, str) else b""
            body += varint(number << 3 | (2 if isinstance(value, str) else 0))
            body += varint(len(octets)) + octets if isinstance(value, str) else varint(value)
        self.connection.sendall(struct.pack("<I", len(body)) + body)
        return {} if dict(fields)[1] == Request.CONFIRM else answer(self.frame())

    def frame(self) -> bytes:
        while (body := take_frame(self.buffer)) is None:
            piece = self.connection.recv(65536)
            assert piece, "the stand-in has closed the connection"
            self.buffer += piece
        return body

    def until(self, wanted: str) -> list[dict[str, Any]]:
        """Return the messages up to the first whose payload has this text."""
        found: list[dict[str, Any]] = []
        while not found or wanted not in json.dumps(found[-1]["payload"]):
            found.append(json.loads(self.frame(), parse_float=str))
        return found


def varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def answer(body: bytes) -> dict[int, int]:
    """Return the numbers of an answer by field; a request has the same form."""
    found, at = {1: 0}, 0
    while at < len(body):
        number, at = body[at] >> 3, at + 1
        value = shift = 0
        while True:
            value, more, at, shift = value | (body[at] & 0x7F) << shift, body[at] & 0x80, at + 1, shift + 7
            if not more:
                break
        found[number] = value
    return found


@contextmanager
def served(*, flags: int = FLAGS, behaviour: Behaviour | None = None, **form: int) -> Iterator[tuple[StandIn, OlrServer]]:
    with standin(background=False) as oracle:
        server = OlrServer(oracle.database, Configuration("DB", Format(**form), flags), behaviour)
        try:
            yield oracle, server
        finally:
            server.close()


@contextmanager
def connected(server: OlrServer) -> Iterator[Client]:
    host, port = server.address.split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        yield Client(connection)


def run(oracle: StandIn, *statements: str) -> None:
    with oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        connection.commit()


PARTS = (
    "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20), price NUMBER(9,2))",
    "ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
)


def test_the_handshake_is_that_of_the_protocol() -> None:
    with served() as (oracle, server), connected(server) as client:
        assert client.ask((1, Request.INFO), (2, "OTHER")) == {1: Answer.INVALID_DATABASE}
        assert client.ask((1, Request.INFO), (2, "DB")) == {1: Answer.READY}
        assert client.ask((1, Request.START), (2, "DB")) == {1: Answer.INVALID_COMMAND}
        assert client.ask((1, Request.START), (2, "DB"), (3, 10)) == {1: Answer.FAILED_START}
        now = oracle.database.clock.scn
        assert client.ask((1, Request.START), (2, "DB"), (3, now)) == {1: Answer.REPLICATE, 2: now, 10: NONE}
        run(oracle, *PARTS)
        assert client.until("chkpt")[-1]["c_scn"] > now


def test_a_transaction_comes_whole_and_numbered_at_its_commit_and_a_rollback_never() -> None:
    with served(column=2, rid=1, scn_type=14, db=3, redo_thread=1, message=2, xid=1, schema=4) as (oracle, server):
        run(oracle, *PARTS, "INSERT INTO parts VALUES (1, 'A', 1.5)")
        with connected(server) as client:
            client.ask((1, Request.START), (2, "DB"), (3, oracle.database.clock.scn))
            with oracle.connect("SHOP") as other, other.cursor() as cursor:
                cursor.execute("INSERT INTO parts VALUES (2, 'gone', NULL)")
                other.rollback()
                cursor.execute("UPDATE parts SET price = .05 WHERE id = 1")
                cursor.execute("SAVEPOINT a")
                cursor.execute("INSERT INTO parts VALUES (3, 'undone', NULL)")
                cursor.execute("ROLLBACK TO a")
                cursor.execute("INSERT INTO parts VALUES (4, NULL, NULL)")
                other.commit()
            found = [m for m in client.until('"commit"') if m["payload"][0]["op"] != "chkpt"]

    assert [m["payload"][0]["op"] for m in found] == ["begin", "u", "c", "commit"]
    assert [m["c_idx"] for m in found] == list(range(found[0]["c_idx"], found[0]["c_idx"] + 4))
    assert len({(m["c_scn"], m["b_scn"], m["e_scn"], m["xid"], m["rth"]) for m in found}) == 1
    assert found[0]["b_scn"] < found[1]["scn"] < found[2]["scn"] < found[3]["e_scn"] == found[3]["scn"]
    update, insert = found[1]["payload"][0], found[2]["payload"][0]
    assert update["before"] == {"ID": 1, "PLACE": "A", "PRICE": "1.5"}
    assert update["after"] == {"ID": 1, "PLACE": "A", "PRICE": "0.05"}
    assert insert["after"] == {"ID": 4, "PLACE": None, "PRICE": None}
    assert (update["num"], insert["num"], update["schema"]["table"], found[1]["db"]) == (0, 1, "PARTS", "FREEPDB1")


def test_what_is_not_confirmed_comes_again_and_what_is_confirmed_does_not() -> None:
    with served() as (oracle, server):
        run(oracle, *PARTS)
        with connected(server) as client:
            client.ask((1, Request.START), (2, "DB"), (3, oracle.database.clock.scn))
            run(oracle, "INSERT INTO parts VALUES (1, 'first', 1)")
            first = client.until("chkpt")[-1]
            run(oracle, "INSERT INTO parts VALUES (2, 'second', 1)")
            client.until("second")
        with connected(server) as client:
            assert client.ask((1, Request.INFO), (2, "DB"))[1] == Answer.REPLICATE
            client.ask((1, Request.CONTINUE), (2, "DB"), (8, 1), (9, 0))
            assert '"first"' in json.dumps(client.until("second"))
            client.ask((1, Request.CONFIRM), (2, "DB"), (8, first["c_scn"]), (9, first["c_idx"]))
            run(oracle, "INSERT INTO parts VALUES (3, 'third', 1)")
            client.until("third")
        with connected(server) as client:
            client.ask((1, Request.CONTINUE), (2, "DB"), (8, 1), (9, 0))
            assert '"first"' not in json.dumps(client.until("third"))
        server.restart()
        with connected(server) as client:
            assert client.ask((1, Request.INFO), (2, "DB"))[2] == first["c_scn"]
            client.ask((1, Request.CONTINUE), (2, "DB"), (8, 1), (9, 0))
            again = json.dumps(client.until("third"))
            assert '"second"' in again
            assert '"first"' not in again


def test_numbers_by_begin_drop_a_transaction_that_was_open_at_the_clients_position() -> None:
    """OpenLogReplicator's issue 330: a client that continues from a delivered position loses what began before it."""
    with served(behaviour=Behaviour(c_scn="begin")) as (oracle, server), oracle.connect("SHOP") as slow:
        run(oracle, *PARTS)
        with connected(server) as client:
            client.ask((1, Request.START), (2, "DB"), (3, oracle.database.clock.scn))
            slow.cursor().execute("INSERT INTO parts VALUES (1, 'slow', 1)")
            run(oracle, "INSERT INTO parts VALUES (2, 'quick', 1)")
            quick = client.until('"commit"')[-1]
        slow.commit()
        run(oracle, "INSERT INTO parts VALUES (3, 'last', 1)")
        for position, seen in (((quick["c_scn"], quick["c_idx"]), False), ((1, 0), True)):
            with connected(server) as client:
                client.ask((1, Request.CONTINUE), (2, "DB"), (8, position[0]), (9, position[1]))
                assert ('"slow"' in json.dumps(client.until('"last"'))) is seen


@pytest.mark.parametrize("long", [False, True])
def test_a_message_is_found_wherever_its_bytes_are_cut(long: bool) -> None:
    bodies = [b"", b"x", b"y" * 300]
    data, buffer, found = b"".join(framed(body, long=long) for body in bodies), bytearray(), []
    for byte in data:
        buffer.append(byte)
        while (body := take_frame(buffer)) is not None:
            found.append(body)
    assert found == bodies


def test_a_request_with_an_unknown_field_or_a_cut_end_is_read_or_refused() -> None:
    assert read_request(b"\x08\x02\x12\x02DB\x40\x05\x48\x07\x50\x01").c_idx == 7
    with pytest.raises(ValueError, match="cut short"):
        read_request(b"\x08")


AS_PUBLISHED = {"scn": 1, "timestamp": 7, "timestamp_metadata": 7, "xid": 1}
NOT_COMPARED = {
    "boolean-type",  # an OpenLogReplicator of that time wrote ? for them
    "lob-operations",  # the stand-in's redo has them in records of their own
    "wide-rows",  # so have texts beyond 4000 bytes
}


@pytest.mark.parametrize("name", sorted(set(published_messages()) - NOT_COMPARED))
def test_the_messages_are_those_of_a_real_one_on_a_real_oracle(name: str) -> None:
    scenario = SCENARIOS[name]
    with standin(background=False, null_updates="all", young_columns="null", threads=2) as oracle:
        configuration = Configuration("DB", Format(**AS_PUBLISHED), 0x1000)
        run(oracle, *scenario.ddl)
        server = OlrServer(oracle.database, configuration)
        try:
            with connected(server) as client:
                client.ask((1, Request.START), (2, "DB"), (3, oracle.database.clock.scn))
                with oracle.connect("SHOP", instance_name="FREE1") as connection, connection.cursor() as cursor:
                    for statement in scenario.work:
                        if statement == "switch":
                            oracle.database.switch_log()
                        else:
                            cursor.execute(statement)
                run(oracle, "CREATE TABLE last (id NUMBER)", "INSERT INTO last VALUES (1)")
                found = client.until('"LAST"')
        finally:
            server.close()
    assert payloads(found) == published_messages()[name]


def payloads(messages: list[dict[str, Any]]) -> list[list[Any]]:
    """Return the operation, table and images of each message, but for checkpoints and the last table."""
    found = [m["payload"][0] for m in messages]
    rows = [[p["op"], p.get("schema", {}).get("table"), p.get("before"), p.get("after")] for p in found if p["op"] != "chkpt"]
    return rows[:-2]
