"""Derive the next table versions from the DDL in the redo, up to the first unsupported statement."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from redolake.config.on_ddl import DEFAULT_POLICIES, DdlPolicies
from redolake.errors import SchemaConflict
from redolake.records.batches.spec import ColumnChange
from redolake.records.windows import DdlRow
from redolake.schema.ddl import Effect, effect_of
from redolake.schema.ddl_statement import ReadingAfter, Refused, all_supported, refusal
from redolake.schema.mapped import follow_mapping
from redolake.values.ddl_policies import IGNORE, SNAPSHOT_ONLY
from redolake.values.scn import Scn
from redolake.values.table import TableVersion

Choice = tuple[str, str]  # a policy and its value, or IGNORE
Approved = Callable[[DdlRow], Choice | None]


def none_approved(_row: DdlRow) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Hold:
    """The table stops before `scn`, for the reason in `error`."""

    scn: Scn
    error: SchemaConflict


@dataclass(frozen=True, slots=True)
class Derived:
    """`versions` are the given ones and the new ones after them; `steps` lead from the last given one to the last.

    `statements` are those that made the new versions, by the versions' SCNs.
    """

    versions: tuple[TableVersion, ...]
    steps: tuple[ColumnChange, ...]
    hold: Hold | None = None
    statements: Mapping[int, str] = field(default_factory=dict)


def derive(
    versions: Sequence[TableVersion],
    rows: Sequence[DdlRow],
    reading_after: ReadingAfter | None = None,
    policies: DdlPolicies = DEFAULT_POLICIES,
    refused: Refused = all_supported,
    object_ids: Collection[int] = (),
    approved: Approved = none_approved,
) -> Derived:
    """Follow the DDL `rows` of one table, starting from the last of its `versions`.

    Rows at or below that version's SCN are already in it. The same versions and rows therefore always give the same steps:
    a repeated batch starts again from the versions before its own range (`versions_before`). `reading_after` returns the first
    dictionary reading after an SCN: it shows the hidden columns that a statement added, which its text does not. `refused`
    says which types are not supported, for a table that leaves out such columns. Rows of other objects than `object_ids` count
    if they have the name that the table had in Oracle then. `approved` returns what people have chosen for one statement.
    """
    known = versions[-1].from_scn
    chain, steps, statements = list(versions), list[ColumnChange](), dict[int, str]()
    for row in sorted(rows, key=_order):
        name = chain[-1].in_oracle
        if row.scn <= known or not (row.object_id in object_ids or (row.owner, row.table) == (name.owner, name.name)):
            continue
        try:
            choice = approved(row)
            if choice is not None and choice[1] == IGNORE:
                effect = ignore(row, chain[-1])
            else:
                effect = effect_of(row, chain[-1], reading_after, policies_with(policies, choice), refused)
                effect = follow_mapping(row, chain[-1], effect)
        except SchemaConflict as error:
            return Derived(tuple(chain), tuple(steps), Hold(Scn(row.scn), error), statements)
        steps += effect.steps
        if effect.version == chain[-1]:
            continue
        after = effect.version.since(Scn(row.scn))
        statements[row.scn] = f"{statements[row.scn]}\n{row.sql}" if row.scn in statements else row.sql
        if chain[-1].from_scn == row.scn:  # two statements at one SCN make one version
            chain[-1] = after
        else:
            chain.append(after)
    return Derived(tuple(chain), tuple(steps), statements=statements)


def policies_with(policies: DdlPolicies, choice: Choice | None) -> DdlPolicies:
    """Return the policies for one statement."""
    return policies if choice is None else DdlPolicies(**{**dict(policies), **dict([choice])})


def ignore(row: DdlRow, version: TableVersion) -> Effect:
    """Return the effect of a statement that a person has found to change neither columns, key nor rows. It may have moved rows,
    so redo before and after it is applied apart. Raises SchemaConflict where that is not enough: ROWID is the key."""
    if version.key_kind == "rowid":
        raise refusal(row, version.table, "it may have given rows new ROWIDs, and ROWID is the key", answers=SNAPSHOT_ONLY)
    return Effect(version, (ColumnChange(row.scn, "renumber", version.columns[0]),))


def _order(row: DdlRow) -> tuple[int, int, str, int]:
    return (row.scn, row.thread, row.rs_id, row.ssn)
