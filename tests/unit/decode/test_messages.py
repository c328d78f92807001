"""OpenLogReplicator's messages, decoded into the same values as redo statements; what is not exact is an error of its row."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redolake.decode.changes import decode_changes
from redolake.decode.choice import decoder_of
from redolake.values.delivery import PLAIN
from tests.unit.decode.redo_text import redo_batch, table

DELETE, UPDATE = 2, 3


def message(op: str, owner: str | None = "S", **images: Any) -> str:
    schema = {**({} if owner is None else {"owner": owner}), "table": "T" if owner else "OBJ_7", "obj": 7}
    return json.dumps({"scn": 1, "payload": [{"op": op, "schema": schema, **images}]})


def decoded(*rows: tuple[int, str], version: Any = None, types: Any = None) -> list[dict[str, Any]]:
    chosen = version or table(ID="NUMBER(10,2)", NAME="VARCHAR2", BORN="DATE")
    return decode_changes(redo_batch(*rows), chosen, types or {}).to_pylist()


def text(value: str) -> str:
    return value.encode().hex()


def test_images_are_those_of_the_statement_with_what_is_set_and_what_is_missing() -> None:
    born = "2026-02-03 04:05:06.000000000"
    insert, update, delete = decoded(
        (1, message("c", after={"ID": 1.5, "NAME": text("Ä'b"), "BORN": born})),
        (UPDATE, message("u", before={"ID": 1}, after={"NAME": None, "ID": 1})),
        (DELETE, message("d", before={"ID": 2, "NAME": text("x"), "BORN": None})),
    )
    assert (str(insert["n11"]), insert["n12"], str(insert["n13"])) == ("1.50", "Ä'b", "2026-02-03 04:05:06")
    assert (update["missing"], update["assigned"]) == ([12, 13], [11, 12])
    assert (str(update["o11"]), update["n12"]) == ("1.00", None)
    assert (str(delete["o11"]), delete["o12"], delete["o13"], delete["missing"]) == ("2.00", "x", None, None)
    assert {row["error"] for row in (insert, update, delete)} == {None}


def test_numbers_keep_all_their_digits() -> None:
    nines = "9" * 38
    row = message("c", after={"ID": 0}).replace('"ID": 0', f'"ID": -{nines}.25')
    (found,) = decoded((1, row), version=table(ID="NUMBER"), types={11: "string"})
    assert found["n11"] == f"-{nines}.25"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            message("c", after={"ID": "?", "NAME": None, "BORN": None}),
            "column ID: OpenLogReplicator could not decode the value",
        ),
        (message("c", after={"ID": 1, "NAME": "?", "BORN": None}), "column NAME: OpenLogReplicator could not decode"),
        (message("c", after={"ID": "1", "NAME": None, "BORN": None}), "column ID: the value is no number"),
        (message("c", after={"ID": 1, "NAME": "plain", "BORN": None}), "needs `char: 2`"),
        (message("c", after={"ID": 1, "NAME": None, "BORN": 1770091506000000000}), "needs `timestamp: 12`"),
        (message("c", after={"ID": 1, "NAME": None, "BORN": "-0044-03-15 00:00:00.000000000"}), "is before Christ"),
        (message("c", after={"ID": 1, "NAME": None, "BORN": "1500-03-01 00:00:00.000000000"}), "may be 29 February"),
        (message("c", after={"ID": 1, "BORN": None}), "the INSERT lacks column NAME: OpenLogReplicator needs `column: 2`"),
        (message("c", owner=None, after={"COL_0": "c102"}), "has no definition of the table: it writes OBJ_7"),
    ],
)
def test_a_value_in_another_form_is_an_error_of_its_row_alone(row: str, said: str) -> None:
    good = message("c", after={"ID": 1, "NAME": None, "BORN": None})
    bad, other = decoded((1, row), (1, good))
    assert said in bad["error"]
    assert (other["error"], str(other["n11"])) == (None, "1.00")


def test_a_boolean_is_one_or_zero_and_an_address_its_text() -> None:
    version = table(ID="NUMBER(10,2)", ON="BOOLEAN", PLACE="UROWID")
    place = "AAAR3sAAEAAAACXAAA"
    on, off, none, wrong = decoded(
        (1, message("c", after={"ID": 1, "ON": 1, "PLACE": place})),
        (1, message("c", after={"ID": 1, "ON": 0, "PLACE": None})),
        (1, message("c", after={"ID": 1, "ON": None, "PLACE": None})),
        (1, message("c", after={"ID": 1, "ON": 2, "PLACE": None})),
        version=version,
    )
    assert [(row["n12"], row["n13"]) for row in (on, off, none)] == [(True, place), (False, None), (None, None)]
    assert "column ON: the value is neither 1 nor 0" in wrong["error"]
    assert (
        "wrote a question mark"
        in decoded((1, message("c", after={"ID": 1, "ON": 1, "PLACE": "?"})), version=version)[0]["error"]
    )


def test_a_column_that_nobody_knows_is_named() -> None:
    (found,) = decoded((1, message("c", after={"ID": 1, "NAME": None, "BORN": None, "LATER": 5})))
    assert found["unknown"] == ["LATER"]


def test_rows_of_both_sources_in_one_batch_keep_their_order() -> None:
    sql = 'insert into "S"."T"("ID","NAME","BORN") values (\'{}\',\'s\',NULL);'
    rows = [(1, sql.format(n) if n % 3 else message("c", after={"ID": n, "NAME": text("m"), "BORN": None})) for n in range(9)]
    found = decoded(*rows)
    assert [int(row["n11"]) for row in found] == list(range(9))
    assert "".join(row["n12"] for row in found) == "mssmssmss"


def test_compiled_loops_never_get_a_message() -> None:
    batch = redo_batch((1, message("c", after={"ID": 1})), (1, 'insert into "S"."T"("ID") values (\'1\');'))
    assert decoder_of(batch.column("sql_redo"), PLAIN) is decode_changes


SCHEMA = {"owner": "S", "table": "T"}
MALFORMED = {
    "no new values": {"op": "c", "schema": SCHEMA},
    "a text as new values": {"op": "c", "schema": SCHEMA, "after": "x"},
    "a list as new values": {"op": "c", "schema": SCHEMA, "after": [1]},
    "null as old values": {"op": "d", "schema": SCHEMA, "before": None},
    "an update without old values": {"op": "u", "schema": SCHEMA, "after": {"ID": 1}},
    "an update without new values": {"op": "u", "schema": SCHEMA, "before": {"ID": 1}},
    "a text as schema": {"op": "c", "schema": "S", "after": {"ID": 1}},
    "a number as table": {"op": "c", "schema": {"owner": "S", "table": 5}, "after": {"ID": 1}},
    "a list as owner": {"op": "c", "schema": {"owner": ["S"], "table": "T"}, "after": {"ID": 1}},
    "a list as operation": {"op": ["c"], "schema": SCHEMA, "after": {"ID": 1}},
    "an object as value": {"op": "c", "schema": SCHEMA, "after": {"ID": {}, "NAME": None, "BORN": None}},
    "half a surrogate pair": {"op": "c", "schema": SCHEMA, "after": {"ID": 1, "NAME": None, "BORN": None, "\ud800": 1}},
    "half a pair as a table": {"op": "c", "schema": {"owner": "S", "table": "\udfff"}, "after": {"ID": 1}},
}


@pytest.mark.parametrize("payload", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_message_is_an_error_of_its_row_alone(payload: dict[str, Any]) -> None:
    good = message("c", after={"ID": 1, "NAME": None, "BORN": None})
    before, found, after = decoded((1, good), (1, json.dumps({"payload": [payload]})), (1, good))

    assert found["error"]
    assert (before["error"], after["error"]) == (None, None)


def test_a_message_that_is_nested_too_deep_is_an_error_of_its_row() -> None:
    (found,) = decoded((1, '{"payload":[' + '{"a":' * 200_000))
    assert "is none" in found["error"]
