"""The receiver of OpenLogReplicator's stream, apart from its socket: lengths, answers, the order of messages, settings."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redolake.errors import RedolakeError, ReplicatorRefused, ReplicatorUnavailable, StreamLost
from redolake.source.olr import Anchor, Selection, Sequencer, needed_configuration, settings_findings
from redolake.source.olr.client import Address, Connection
from redolake.source.olr.messages import Checkpoint, Message, read_message
from redolake.source.olr.wire import UNKNOWN_SCN, AnswerCode, Frames, RequestCode, read_answer, request
from redolake.values.table import TableId
from redolake.values.table_pattern import TablePattern
from standin.olr.protocol import Answer, RedoRequest, Request, framed, read_request, write_answer


@given(st.lists(st.tuples(st.binary(max_size=40), st.booleans()), max_size=8), st.data())
def test_messages_come_out_whole_however_the_stream_is_cut(bodies: list[tuple[bytes, bool]], data: st.DataObject) -> None:
    stream = b"".join(framed(body, long=long) for body, long in bodies)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=10)))
    frames, found = Frames(), list[bytes]()
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        frames.add(stream[start:end])
        found += frames
    assert found == [body for body, _ in bodies]


def test_a_length_above_the_limit_is_refused_before_memory_is_taken() -> None:
    frames = Frames(largest=100)
    frames.add(struct.pack("<IQ", 0xFFFFFFFF, 1 << 40))
    with pytest.raises(ReplicatorRefused, match="1,099,511,627,776 bytes"):
        list(frames)


def test_requests_and_answers_are_those_that_the_other_side_reads_and_writes() -> None:
    sent = request(RequestCode.START, "DB", scn=2**63 + 5, seq=0, c_scn=1, c_idx=0)
    assert read_request(sent[4:]) == RedoRequest(Request.START, "DB", scn=2**63 + 5, seq=0, c_scn=1, c_idx=0)
    assert read_request(request(RequestCode.INFO, "DB")[4:]) == RedoRequest(Request.INFO, "DB")
    assert read_answer(write_answer(Answer.REPLICATE, 7, UNKNOWN_SCN)).c_scn is None
    found = read_answer(write_answer(Answer.REPLICATE, 0, 9))
    assert (found.code, found.scn, found.c_scn) == (AnswerCode.REPLICATE, 0, 9)
    with pytest.raises(ReplicatorRefused, match="none of OpenLogReplicator"):
        read_answer(b"HTTP/1.1 400 Bad Request")


HEAD = {"scn": 1, "b_scn": 10, "e_scn": 20, "e_tm": 1_700_000_000 * 10**9, "c_scn": 20, "c_idx": 0, "xid": "1.2.3", "db": "PDB"}
CHANGE = {"op": "c", "schema": {"owner": "SHOP", "table": "T", "obj": 5}, "num": 0, "rid": "AAA", "after": {"ID": 1}}


def body(payload: Any = CHANGE, **head: Any) -> bytes:
    given_ = {name: value for name, value in {**HEAD, **head}.items() if value is not None}
    return json.dumps({**given_, "payload": payload if isinstance(payload, list) else [payload]}).encode()


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (body([CHANGE, CHANGE]), '"message": 2'),
        (body(e_scn=None), '"scn-type": 14'),
        (body(b_scn=None), '"scn-type": 14'),
        (body(e_tm=None), '"timestamp-type": 8'),
        (body(e_tm=None, e_tms="2026"), '"timestamp-metadata": 0'),
        (body(xid=None, xidn=5), '"xid": 1'),
        (body(xid="0100020003000000"), '"xid": 1'),
        (body(db=None), '"db": 3'),
        (body({**CHANGE, "num": None} | {}), None),
        (body({name: value for name, value in CHANGE.items() if name != "num"}), '"message": 2'),
        (body({name: value for name, value in CHANGE.items() if name != "rid"}), '"rid": 1'),
        (body({**CHANGE, "schema": {"owner": "SHOP", "table": "T"}}), '"schema": 4'),
    ],
)
def test_a_message_without_what_proves_it_names_the_setting(message: bytes, said: str | None) -> None:
    if said is None:
        assert isinstance(read_message(message, "PDB"), Message)
        return
    with pytest.raises(ReplicatorRefused) as refused:
        read_message(message, "PDB")
    assert said in refused.value.cure


def test_a_message_of_another_database_and_one_that_is_no_json_are_refused() -> None:
    with pytest.raises(ReplicatorRefused, match="reads PDB, and this pipeline's container is OTHER"):
        read_message(body(), "OTHER")
    with pytest.raises(ReplicatorRefused, match="no JSON"):
        read_message(b"\x08\x05", "PDB")
    with pytest.raises(ReplicatorRefused, match="not known: 'merge'"):
        read_message(body({**CHANGE, "op": "merge"}), "PDB")


CHECKPOINT = {"op": "chkpt", "seq": 7, "offset": 512}
ROGUE = {
    "nesting": b'{"payload":' + b"[" * 200_000,
    "nested values": b'{"c_scn":1,"c_idx":2,"payload":[{"op":"c","after":'
    + b'{"a":' * 100_000
    + b"1"
    + b"}" * 100_000
    + b"}]}",
    "no UTF-8": b'{"c_scn": "\xff"}',
    "a list": b"[]",
    "a number": b"5",
    "null": b"null",
    "an answer of HTTP": b"HTTP/1.1 400 Bad Request",
    "nothing": b"",
    "no payload": b'{"c_scn":1,"c_idx":2}',
    "an empty payload": body([]),
    "a payload of a text": b'{"c_scn":1,"c_idx":2,"payload":"x"}',
    "a payload of texts": body(["x"]),
    "no operation": body({"x": 1}),
    "an operation of a list": body({"op": ["c"]}),
    "an operation of 10,000 characters": body({**CHANGE, "op": "x" * 10_000}),
    "an SCN of text": body(c_scn="x"),
    "an SCN of 1e400": body().replace(b'"c_scn": ', b'"c_scn": 1e400, "was": '),
    "an SCN of NaN": body().replace(b'"c_scn": ', b'"c_scn": NaN, "was": '),
    "an SCN of 5,000 digits": body().replace(b'"c_scn": ', b'"c_scn": ' + b"9" * 5000 + b', "was": '),
    "a negative SCN": body(c_scn=-1),
    "an SCN above 64 bits": body(e_scn=2**64),
    "a begin of text": body(b_scn="abc"),
    "a truth as SCN": body(e_scn=True),
    "a checkpoint without a log": body({"op": "chkpt", "offset": 1}),
    "a checkpoint with a text as log": body({**CHECKPOINT, "seq": "seven"}),
    "a checkpoint with a log of null": body({**CHECKPOINT, "seq": None}),
    "a checkpoint with an offset of a list": body({**CHECKPOINT, "offset": [1]}),
    "a checkpoint with a time out of range": body(CHECKPOINT, tm=10**40),
    "an xid of no digits": body(xid="0xzz.1.2"),
    "an xid of 10,000 digits": body(xid="0x" + "f" * 10_000 + ".1.2"),
    "an xid of words": body(xid="a.b.c"),
    "an xid of other digits": body(xid="\u0661.2.3"),
    "a list as xid": body(xid=[1, 2, 3]),
    "a time out of range": body(e_tm=10**30),
    "a time before the year 1": body(e_tm=-(10**30)),
    "a text as schema": body({**CHANGE, "schema": "SHOP"}),
    "null as schema": body({**CHANGE, "schema": None}),
    "a list as table": body({**CHANGE, "schema": {**CHANGE["schema"], "table": ["T"]}}),
    "a text as object": body({**CHANGE, "schema": {**CHANGE["schema"], "obj": "5"}}),
    "a text as number": body({**CHANGE, "num": "1"}),
    "an object as ROWID": body({**CHANGE, "rid": {}}),
    "a list as user": body(usr=[1]),
    "a text as thread": body(rth="1"),
    "a text as new values": body({**CHANGE, "after": "x"}),
    "a list as old values": body({**CHANGE, "op": "u", "before": []}),
    "half a surrogate pair as table": body({**CHANGE, "schema": {**CHANGE["schema"], "table": "\ud800"}}),
    "an object as statement": body({"op": "ddl", "sql": {}}),
}


@pytest.mark.parametrize("message", ROGUE.values(), ids=ROGUE)
def test_a_rogue_message_ends_typed_with_its_place_and_is_no_lost_redo(message: bytes) -> None:
    with pytest.raises(RedolakeError) as refused:
        read_message(message, "PDB", "message 5 of db:5000")

    assert isinstance(refused.value, ReplicatorRefused)
    assert refused.value.cure
    assert len(str(refused.value)) < 1000
    if "is no JSON" in str(refused.value) or "is none of" in str(refused.value):
        assert "message 5 of db:5000" in str(refused.value)


def test_numbers_of_columns_may_be_of_any_size() -> None:
    text = body({**CHANGE, "after": {"ID": 1}}).replace(
        b'"ID": 1', b'"ID": 1e400, "N": 1.5e-9, "M": 99999999999999999999999999'
    )
    read = read_message(text, "PDB")
    assert isinstance(read, Message)
    assert "1e400" in read.text


def test_an_answer_that_comes_byte_by_byte_ends_in_time() -> None:
    mine, its = socket.socketpair()
    stopped = threading.Event()

    def trickle() -> None:
        its.recv(1000)
        its.sendall(struct.pack("<I", 1000))
        with suppress(OSError):
            while not stopped.wait(0.01):
                its.sendall(b"\0")

    sender = threading.Thread(target=trickle)
    sender.start()
    mine.settimeout(0.2)
    with mine, its:
        with pytest.raises(ReplicatorUnavailable, match="has not answered INFO within"):
            Connection(mine, Address("db", 5000, "DB"), None, 0.2).info()
        stopped.set()
        sender.join()


def test_both_forms_of_a_transaction_id_are_that_of_logminer() -> None:
    read = [read_message(body(xid=xid), "PDB") for xid in ("2.18.16738", "0x0002.012.00004162")]
    assert {one.xid for one in read if isinstance(one, Message)} == {"2.18.16738"}


class Stream:
    """Messages of one thread, numbered as OpenLogReplicator numbers them."""

    def __init__(self) -> None:
        self.messages: list[Message | Checkpoint] = []
        self._scn, self._idx, self._offset = -1, 0, 0

    def _position(self, scn: int) -> tuple[int, int]:
        self._idx = self._idx + 1 if scn == self._scn else 0
        self._scn = scn
        return scn, self._idx

    def transaction(self, commit_scn: int, changes: int = 1, group: int | None = None, begin: int = 1) -> Stream:
        for number, kind in enumerate(["begin", *["c"] * changes, "commit"], -1):
            read = read_message(body(CHANGE if kind == "c" else {"op": kind}, e_scn=commit_scn, b_scn=begin), "PDB")
            assert isinstance(read, Message)
            c_scn, c_idx = self._position(commit_scn - 1 if group is None else group)
            values = {name: getattr(read, name) for name in Message.__slots__}
            values |= {"c_scn": c_scn, "c_idx": c_idx, "number": number if kind == "c" else None, "xid": f"1.1.{commit_scn}"}
            self.messages.append(Message(**values))
        return self

    def checkpoint(self, scn: int) -> Stream:
        self._offset += 512
        self.messages.append(Checkpoint(*self._position(scn), 7, self._offset, None))
        return self


def feed(sequencer: Sequencer, messages: Iterable[Message | Checkpoint]) -> list[Message]:
    kept: list[Message] = []
    for message in messages:
        if isinstance(message, Checkpoint):
            sequencer.take_checkpoint(message, len(kept))
        elif sequencer.take(message):
            kept.append(message)
    return kept


def test_a_window_ends_at_a_checkpoint_that_a_later_one_proves() -> None:
    stream = Stream().checkpoint(9).transaction(11).checkpoint(12).transaction(15).checkpoint(16)
    sequencer = Sequencer(5, None)
    feed(sequencer, stream.messages)
    assert sequencer.cut is not None
    assert (sequencer.cut.end, sequencer.cut.rows) == (12, 3)
    assert (sequencer.cut.anchor.c_scn, sequencer.cut.anchor.confirm_scn) == (12, 9)


@pytest.mark.parametrize("anchor", [None, Anchor(3, 7, 512)])
def test_transactions_without_end_and_no_checkpoint_name_the_flag(
    monkeypatch: pytest.MonkeyPatch, anchor: Anchor | None
) -> None:
    monkeypatch.setattr("redolake.source.olr.sequence.MOST_COMMITS", 3)
    sequencer, stream = Sequencer(5, anchor), Stream()
    for scn in range(11, 15):
        stream.transaction(scn)
    feed(sequencer, stream.messages[:9])
    assert sequencer.lacks_checkpoints
    with pytest.raises(ReplicatorRefused, match="no checkpoints") as refused:
        feed(sequencer, stream.messages[9:])
    assert "0x1000" in refused.value.cure


def test_no_window_ends_where_a_commit_of_the_next_group_has_the_same_scn() -> None:
    stream = Stream().checkpoint(9).transaction(12, group=11).checkpoint(11).transaction(12, group=12).checkpoint(12)
    sequencer = Sequencer(5, None)
    feed(sequencer, stream.messages)
    assert sequencer.cut is not None
    assert sequencer.cut.end == 9
    feed(sequencer, stream.messages[:0])


def test_a_commit_below_the_windows_start_stops() -> None:
    anchor = Anchor(12, 7, 512)
    with pytest.raises(StreamLost, match="committed at SCN 11, and everything below SCN 12 had come"):
        feed(Sequencer(12, anchor), Stream().checkpoint(12).transaction(11, group=13).messages)


@pytest.mark.parametrize(("sequence", "said"), [(9, "logs between them were left out"), (6, "left out"), (7, "offset 5")])
def test_a_log_that_was_left_out_is_noticed(sequence: int, said: str) -> None:
    sequencer = Sequencer(5, None)
    sequencer.take_checkpoint(Checkpoint(9, 0, 7, 512, None), 0)
    with pytest.raises(StreamLost, match=said):
        sequencer.take_checkpoint(Checkpoint(10, 0, sequence, 5, None), 0)
    sequencer.take_checkpoint(Checkpoint(11, 0, 8, 5, None), 0)


def test_numbers_begin_at_1_or_at_0_and_not_at_both() -> None:
    """A 1.9.0 that was built and run on published archived logs begins at 1 with each SCN."""
    sequencer = Sequencer(10, None)
    for scn in (11, 13, 15):
        sequencer.take_checkpoint(Checkpoint(scn, 1, 7, 512 * scn, None), 0)
    assert sequencer.cut is not None
    with pytest.raises(StreamLost, match="some are missing"):
        sequencer.take_checkpoint(Checkpoint(17, 0, 7, 512 * 17, None), 0)


LOGS = {6: (1, 5), 7: (5, 100), 8: (100, 200), 9: (200, None)}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (Checkpoint(30, 0, 8, 512, None), r"SCN 30 names log 8, which has the SCNs \[100, 200\)"),
        (Checkpoint(201, 0, 8, 512, None), r"SCN 201 names log 8"),
        (Checkpoint(250, 0, 9, 512, None), "begins in log 9, and SCN 10 is in log 7"),
        (Checkpoint(99, 0, 8, 512, None), None),  # a group of redo may have the SCN below its first change
        (Checkpoint(100, 0, 7, 512, None), None),
        (Checkpoint(300, 0, 11, 512, None), "begins in log 11"),
    ],
)
def test_checkpoints_are_held_against_the_logs_of_the_control_file(found: Checkpoint, said: str | None) -> None:
    sequencer = Sequencer(10, None, LOGS)
    if said is None:
        sequencer.take_checkpoint(found, 0)
    else:
        with pytest.raises(StreamLost, match=said):
            sequencer.take_checkpoint(found, 0)


def test_what_was_landed_is_dropped_up_to_the_anchor_wherever_it_begins() -> None:
    stream = Stream().checkpoint(9).transaction(11, 3).checkpoint(12).transaction(15).checkpoint(16)
    whole = stream.messages
    anchor = next(m for m in whole if isinstance(m, Checkpoint) and m.c_scn == 12)
    for start in range(whole.index(anchor) + 1):
        kept = feed(Sequencer(12, Anchor(12, anchor.sequence, anchor.offset)), whole[start:])
        assert [m.commit_scn for m in kept] == [15, 15, 15]
    with pytest.raises(StreamLost, match="begins after the end of the last window"):
        feed(Sequencer(12, Anchor(12, anchor.sequence, anchor.offset)), whole[whole.index(anchor) + 1 :])


@settings(max_examples=80)
@given(st.lists(st.integers(0, 3), min_size=4, max_size=14), st.integers(0, 30), st.booleans())
def test_a_window_that_ends_before_the_stream_leaves_each_later_commit_to_the_next_one(
    shape: list[int], lower: int, has_anchor: bool
) -> None:
    """Another redo thread's stream is less far. Whatever end it allows, each commit is in one window."""
    stream, scn = Stream().checkpoint(9), 10
    for transactions in shape:
        for _ in range(transactions):
            scn += 2
            stream.transaction(scn)
        scn += 1
        stream.checkpoint(scn)
    stream.checkpoint(scn + 5).checkpoint(scn + 6)
    first = stream.messages[0]
    assert isinstance(first, Checkpoint)
    start, anchor, found = 10, Anchor(first.c_scn, first.sequence, first.offset) if has_anchor else None, list[int]()
    while start < scn + 5:
        sequencer, kept = Sequencer(start, anchor), list[Message]()
        cut = None
        for message in stream.messages:
            if isinstance(message, Checkpoint):
                sequencer.take_checkpoint(message, len(kept))
            elif sequencer.take(message):
                kept.append(message)
        assert sequencer.cut is not None
        end = min(sequencer.cut.end, start + 1 + lower)
        cut = sequencer.cut_at(end)
        assert cut is not None
        found += [one.commit_scn for one in kept[: cut.rows] if one.kind == "commit" and one.commit_scn < end]
        start, anchor = end, cut.anchor
    commits = [one.commit_scn for one in stream.messages if isinstance(one, Message) and one.kind == "commit"]
    assert found == commits


def test_a_commit_behind_what_has_landed_too_is_a_loss() -> None:
    stream = Stream().checkpoint(9).transaction(20).checkpoint(21).transaction(15, group=22).checkpoint(23)
    messages = stream.messages
    anchor, until = messages[0], messages[4]
    assert isinstance(anchor, Checkpoint)
    assert isinstance(until, Checkpoint)
    landed = Anchor(anchor.c_scn, anchor.sequence, anchor.offset, None, None, until.sequence, until.offset)
    with pytest.raises(StreamLost, match="committed at SCN 15, and everything below SCN 18 had come"):
        feed(Sequencer(18, landed), messages)


@pytest.mark.parametrize(
    ("last", "following", "is_whole"),
    [
        (Checkpoint(99, 1, 7, 512, None), None, True),
        (Checkpoint(98, 1, 7, 512, None), None, False),
        (Checkpoint(50, 1, 7, 512, None, ends_log=True), 100, True),
        (Checkpoint(50, 1, 7, 512, None, ends_log=True), None, True),
        (Checkpoint(50, 1, 7, 512, None, ends_log=True), 60, False),
    ],
)
def test_a_closed_thread_has_come_whole_at_its_end_or_with_its_last_log(
    last: Checkpoint, following: int | None, is_whole: bool
) -> None:
    sequencer = Sequencer(10, None)
    sequencer.take_checkpoint(last, 0)
    assert (sequencer.end_of_thread(100, following) is not None) is is_whole


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(1, 4), st.booleans()), min_size=1, max_size=6), st.data())
def test_one_message_that_is_missing_is_noticed(shape: list[tuple[int, bool]], data: st.DataObject) -> None:
    """By the numbers of up to 1.9, and of 2.0."""
    stream, scn, by_begin = Stream().checkpoint(9), 10, data.draw(st.booleans())
    for changes, ends_group in shape:
        scn += 2
        stream.transaction(scn, changes, group=5 if by_begin else None, begin=5)
        if ends_group:
            stream.checkpoint(scn)
    stream.checkpoint(scn + 1)
    stream.checkpoint(scn + 2)
    whole = stream.messages
    feed(Sequencer(5, None), whole)
    lost = data.draw(st.sampled_from([n for n, m in enumerate(whole) if isinstance(m, Message)]))
    with pytest.raises(StreamLost):
        feed(Sequencer(5, None), [*whole[:lost], *whole[lost + 1 :]])


def test_a_transaction_in_two_parts_is_one_and_others_are_left_out() -> None:
    parts = Stream().transaction(11, 2).transaction(11, 1).transaction(13, 1)
    messages = [m for m in parts.messages if isinstance(m, Message)]
    selection = Selection({5}, frozenset())
    kept = [k for m in messages for k in selection.take(m)]
    kept += selection.end()
    assert [m.kind for m in kept] == ["begin", "c", "c", "c", "commit", "begin", "c", "commit"]
    assert [k for m in messages for k in Selection({6}, {("SHOP", "OTHER")}).take(m)] == []


def test_the_printed_configuration_has_no_finding_and_each_other_value_has_one() -> None:
    tables, patterns = [TableId("SHOP", "A$B")], [TablePattern.parse("SHOP.ORDER_*")]
    good = needed_configuration("DB", "127.0.0.1:5000", tables, patterns)
    assert list(settings_findings(good, "DB")) == []
    assert good["source"][0]["filter"]["table"] == [
        {"owner": "SHOP", "table": r"A\$B"},
        {"owner": "SHOP", "table": "ORDER_.*"},
    ]
    for name, value in good["source"][0]["format"].items():
        other = json.loads(json.dumps(good))
        other["source"][0]["format"][name] = "protobuf" if name == "type" else value + 1
        assert [f.subject for f in settings_findings(other, "DB")] == [f"format.{name}"]
    for flags, count in ((0, 4), (0x10E0 | 0x10, 1), (0x10E0 | 0x8002, 2)):
        other = json.loads(json.dumps(good))
        other["source"][0]["flags"] = flags
        assert len(list(settings_findings(other, "DB"))) == count
    assert [f.what for f in settings_findings(good, "OTHER")] == ["no source has the alias OTHER"]
    good["target"][0]["writer"]["uri"] = "0.0.0.0:5000"
    assert [f.severity for f in settings_findings(good, "DB")] == ["warning"]
