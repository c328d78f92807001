"""Which tables are due for a comparison, and which rows a repair reads again."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from redolake.context import Run
from redolake.errors import ConfigurationError, Terminal
from redolake.land import layout
from redolake.ledger import TableEntry
from redolake.reconcile.prunable import old_proofs
from redolake.records.proofs import FoundRow, FoundRows, TableProof
from redolake.source.buckets import HashedColumn, Hashing
from redolake.steps.proof.found_rows import hash_conditions, key_conditions
from redolake.steps.proof.repair import rows_of_proofs
from redolake.steps.proof.verify import choose_due
from redolake.values.canonical import HashPlan
from redolake.values.scn import Scn
from redolake.values.table import Column, OracleType, TableId, TableVersion

AT = datetime(2026, 3, 1, tzinfo=UTC)
OLD, YOUNG, NEVER = TableId("SHOP", "OLD"), TableId("SHOP", "YOUNG"), TableId("SHOP", "NEVER")
ENTRY = TableEntry(OLD, "live", Scn(5), snapshot_scn=Scn(100), complete_to_scn=Scn(400), resetlogs_id=2)
PROOF = TableProof("SHOP.OLD", "p1", "2026-03-01", 300, 2, 7, source_rows=10, delta_rows=10, differing_cells=1, found=1)
ROW = FoundRow("differing", "5F", ("1",))


def rows(name: str) -> FoundRows:
    return FoundRows("SHOP.OLD", name, (1,), (ROW,))


def test_tables_never_compared_come_first_and_those_compared_lately_not_at_all() -> None:
    proved = {OLD: AT - timedelta(days=9), YOUNG: AT - timedelta(days=6)}

    assert choose_due([YOUNG, OLD, NEVER], proved, AT, timedelta(days=7)) == [NEVER, OLD]
    with pytest.raises(ConfigurationError, match=r"verify\.every"):
        choose_due([OLD], proved, AT, None)


def test_a_repair_takes_what_the_whole_comparison_and_later_samples_have_found() -> None:
    sample = replace(PROOF, name="p2", share=0.01, delta_version=9)

    chosen = rows_of_proofs(ENTRY, [sample, PROOF], rows)

    assert (chosen.rows, chosen.covers, chosen.cause) == ((ROW,), 7, "comparison p2, p1")


@pytest.mark.parametrize(
    ("proofs", "what"),
    [
        ([], "was not compared yet"),
        ([replace(PROOF, scn=50)], "was loaded again"),
        ([replace(PROOF, resetlogs_id=1)], "was loaded again"),
        ([replace(PROOF, differing_cells=0)], "found no row that differs"),
        ([replace(PROOF, names_all=False)], "more rows differ than are named"),
    ],
)
def test_a_repair_says_why_it_has_no_rows(proofs: list[TableProof], what: str) -> None:
    with pytest.raises(Terminal, match=what):
        rows_of_proofs(ENTRY, proofs, rows)


@pytest.mark.parametrize("left", [None, FoundRows("SHOP.OLD", "p1", (1,), ()), FoundRows("SHOP.OLD", "p1", (1,), (ROW,))])
def test_a_repair_takes_no_part_of_what_a_comparison_has_found_for_the_whole(left: FoundRows | None) -> None:
    """An equal repair ends what the comparison has said: the other rows would be forgotten."""
    proof = replace(PROOF, differing_cells=0, missing_rows=2, found=2)

    with pytest.raises(Terminal, match="comparison p1 found are not in the landing") as refused:
        rows_of_proofs(ENTRY, [proof], lambda name: left)
    assert "`redolake verify SHOP.OLD`" in refused.value.cure


def version(type_: OracleType) -> TableVersion:
    return TableVersion(OLD, Scn(5), 7, 8, (Column(1, "ID", type_, 1, False),), (1,), 2)


def test_rows_are_read_by_their_keys_where_oracle_can_be_given_them() -> None:
    number, plan = OracleType("NUMBER", precision=9, scale=0), HashPlan(((1, "number"),), ((1, "number"),), (), 32)

    (found,) = key_conditions(version(number), plan, [ROW, replace(ROW, hash="5E", key=("-2",))])

    assert found.condition == '("ID" = :k0_0) OR ("ID" = :k1_0)'
    assert sorted(map(str, found.binds.values())) == ["-2", "1"]


@pytest.mark.parametrize("key", [(None,), (), ("no number",)], ids=["NULL", "a row without a key", "no value of Oracle"])
def test_other_rows_are_found_by_their_hash(key: tuple[str | None, ...]) -> None:
    number, plan = OracleType("NUMBER", precision=9, scale=0), HashPlan(((1, "number"),), ((1, "number"),), (), 32)
    column = HashedColumn("ID", "number")

    assert key_conditions(version(number), plan, [replace(ROW, key=key)]) == ()
    (found,) = hash_conditions(Hashing((column,), (column,), 32), [replace(ROW, key=key)])
    assert found.condition.endswith("1, 32) IN ('5F')")


def test_old_results_are_pruned_up_to_the_newest_comparison_of_all_rows(context: Run) -> None:
    proofs, old = context.landing.proofs, datetime.now(UTC) - timedelta(days=99)
    names = [layout.proof_name(old + timedelta(days=n), "a") for n in range(4)]
    for name, share in zip(names, (1.0, 0.01, 1.0, 0.01), strict=True):
        proofs.write_proof(OLD, replace(PROOF, name=name, share=share), replace(rows(name), proof=name))

    gone = list(old_proofs(context, datetime.now(UTC) - timedelta(days=90)))

    assert sorted(gone) == sorted(f"proofs/SHOP.OLD/{name}{end}" for name in names[:2] for end in (".json", "-rows.json"))
    assert list(old_proofs(context, datetime.now(UTC) - timedelta(days=200))) == []
