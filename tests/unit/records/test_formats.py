"""No field of a record changes without a new format number."""

from __future__ import annotations

import dataclasses
import hashlib
from dataclasses import replace
from typing import Any, get_args, get_type_hints

import pytest

from redolake.ledger import Loss, tables
from redolake.records.codec import format_of, noun_of
from tests.unit.records.samples import IN_LEDGER, MANIFEST, RECORDS


def dataclasses_of(kind: Any) -> dict[str, str]:
    """Return the fields of all dataclasses that make up a record, by their names."""
    found: dict[str, str] = {}

    def visit(part: Any) -> None:
        if dataclasses.is_dataclass(part) and part.__name__ not in found:  # type: ignore[union-attr]
            found[part.__name__] = " ".join(field.name for field in dataclasses.fields(part))  # type: ignore[union-attr]
            for inner in get_type_hints(part).values():
                visit(inner)
        for inner in get_args(part):
            visit(inner)

    visit(kind)
    return found


def digest(kind: type[Any]) -> str:
    lines = "".join(f"{name}: {fields}\n" for name, fields in sorted(dataclasses_of(kind).items()))
    return hashlib.sha256(lines.encode()).hexdigest()[:12]


# --- Where this fails: raise the record"s FORMAT, then write the new number and digest here.
FORMATS = {
    "attempt": (1, "9b0864141343"),
    "batch spec": (18, "d1942ff7b51a"),
    "batch result": (11, "05986d6deb64"),
    "nobody listed": (1, "a3a9e7304ee1"),
    "snapshot spec": (9, "bcbd48a45e84"),
    "snapshot result": (2, "9e9bd8b4ce3c"),
    "window manifest": (2, "ad55e744423f"),
    "window plan": (2, "44f70573fb25"),
    "slice record": (2, "81e066c0a180"),
    "declared gap": (1, "92067c3f0b0d"),
    "closed table": (1, "dc102316cbec"),
    "dropped transaction": (1, "c703c92435f8"),
    "approval": (1, "d0f7d0e99746"),
    "split transactions": (2, "ad4165361509"),
    "dictionary reading": (1, "fa7eed304049"),
    "captured tables": (1, "3d27d28e7d96"),
    "dictionary content": (1, "232f9dd46983"),
    "dictionary table": (1, "b1fe952f8fdb"),
    "table version": (2, "97723899c74e"),
    "first position": (2, "e35d293455b5"),
    "snapshot manifest": (4, "c055a05611ce"),
    "chunk plan": (3, "9bff5601549c"),
    "chunk manifest": (1, "037113fd664a"),
    "chunk scn": (1, "b57fbc383ded"),
    "snapshot pause": (1, "f05ac7a47f86"),
    "snapshot given up": (1, "1fd4fdc551cf"),
    "snapshot begun": (1, "07b0cca61c7d"),
    "redo needed from": (2, "fd4bf89a96d3"),
    "single quotes": (1, "fcbe4ee48618"),
    "lake mark": (1, "bc80837601ab"),
    "landing key": (1, "15eddd67d1ef"),
    "pruned": (2, "f179766af531"),
    "table proof": (6, "eae35dd5b990"),
    "hashing begun": (1, "0cfbdc23078c"),
    "hashed chunk": (2, "a6bff361195e"),
    "found rows": (1, "76dfdb5830cf"),
    "batch prepared": (1, "7b5cb26fde5e"),
    "maintenance spec": (3, "3217e5c65ee4"),
    "maintenance result": (3, "047dcb3f5b5d"),
    "job failure": (1, "7f9956e55e46"),
    "source fact": (2, "0c3b52ed319a"),
    "failure fact": (1, "891abfc615d5"),
    "plan fact": (1, "8ab4f61e0523"),
    "streams fact": (2, "fa46ee44d532"),
    "settings fact": (1, "b9814da73495"),
    "redo fact": (1, "b31dda0f917a"),
    "runway fact": (1, "27d08b475a0b"),
    "choices fact": (1, "079de12041e4"),
    "proof fact": (6, "1bacbfc28de0"),
    "quarantine fact": (1, "323660a56d08"),
    "history fact": (1, "111e9b8f644c"),
    "snapshot fact": (5, "423f15607b59"),
    "lost position": (1, "341d69a8cbb7"),
    "missing log report": (1, "5d5221bcbf8a"),
}


@pytest.mark.parametrize("kind", [type(record) for record in (*RECORDS, *IN_LEDGER)], ids=noun_of)
def test_the_fields_of_a_record_are_those_of_its_format(kind: type[Any]) -> None:
    assert (format_of(kind), digest(kind)) == FORMATS[noun_of(kind)], dataclasses_of(kind)


# Bodies in the ledger that have no number of their own: its version is theirs. A change needs a migration.
UNNUMBERED = {"0001": {Loss: "error step position missing since"}}


def test_bodies_without_a_number_change_only_with_the_version_of_the_ledger() -> None:
    found = {kind: " ".join(field.name for field in dataclasses.fields(kind)) for kind in UNNUMBERED[tables.VERSION]}
    assert found == UNNUMBERED[tables.VERSION]


def test_who_ran_a_ddl_is_no_part_of_a_windows_identity() -> None:
    """LogMiner knows the user only where it has read the START of the transaction, so another attempt may not know it."""
    named = replace(MANIFEST, ddl=tuple(replace(row, username="ANN") for row in MANIFEST.ddl))

    assert named.identity() == MANIFEST.identity()
    assert named.identity() != replace(named, ddl=()).identity()
