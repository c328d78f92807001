"""Golden pairs of DDL: `-- title`, the statement, and its outcome on lines that begin with `--> `.

`python tests/unit/schema/ddl_golden.py` writes the outcomes; read the difference before you commit it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from redolake.errors import SchemaConflict
from redolake.records.windows import DdlRow
from redolake.schema.ddl import Effect, effect_of
from redolake.values.scn import Scn
from redolake.values.table import Column, OracleType, TableId, TableVersion

FOLDER = Path(__file__).parents[2] / "golden" / "ddl"

ORDERS = TableVersion(
    table=TableId("SHOP", "ORDERS"),
    from_scn=Scn(100),
    object_id=7000,
    data_object_id=7001,
    columns=(
        Column(1, "ID", OracleType("NUMBER", precision=10, scale=0), 1, nullable=False),
        Column(2, "CUSTOMER", OracleType("VARCHAR2", length=40), 2),
        Column(3, "AMOUNT", OracleType("NUMBER", precision=12, scale=2), 3),
        Column(4, "Mixed Case", OracleType("DATE"), 4),
    ),
    key=(1,),
    next_column_id=5,
    key_constraint="ORDERS_PK",
)


@dataclass(frozen=True, slots=True)
class Case:
    title: str
    sql: str
    outcome: str


def row(sql: str, scn: int = 200, rs_id: str = " 0x000001.00000002.0010 ", ssn: int = 0) -> DdlRow:
    return DdlRow(scn, 1, rs_id, ssn, "SHOP", "ORDERS", 7000, sql, "USER DDL")


def read_cases(file: Path) -> list[Case]:
    cases = []
    for block in file.read_text().strip().split("\n\n"):
        title, *lines = block.split("\n")
        sql = "\n".join(line for line in lines if not line.startswith("-->"))
        outcome = "\n".join(line.removeprefix("-->").strip() for line in lines if line.startswith("-->"))
        cases.append(Case(title.removeprefix("-- "), sql, outcome))
    return cases


def outcome_of(sql: str) -> str:
    """Return the steps, then the columns afterwards as segment id, name and our id."""
    try:
        effect = effect_of(row(sql), ORDERS)
    except SchemaConflict as error:
        return "refused: " + error.what.removesuffix(": " + " ".join(sql.split()))
    if effect == Effect(ORDERS):
        return "unchanged"
    lines = []
    for step in effect.steps:
        column = step.column
        if step.kind in ("comment", "comment_table"):
            lines.append(f"{step.kind} {'' if step.kind == 'comment_table' else step.column.name + ' '}{step.comment!r}")
            continue
        if step.kind in ("truncate", "renumber"):
            lines.append(step.kind)
            continue
        null = "" if column.nullable else " not null"
        default = "" if step.default is None else f" default {step.default!r}"
        lines.append(f"{step.kind.removesuffix('_column')} {column.name} {column.type}{null}{default}")
    placed = [(c.segment_id, _placed(c)) for c in effect.version.columns]
    placed += [(c.segment_id, f"<{c.kind}>") for c in effect.version.ignored if c.segment_id]
    placed += [(99, f"<virtual> {c.name}") for c in effect.version.ignored if not c.segment_id]
    if effect.version.columns == ORDERS.columns and effect.version.ignored == ORDERS.ignored:
        key = effect.version.key_constraint
        return "\n".join([*lines, *([f"key constraint {key}"] if key != ORDERS.key_constraint else [])])
    columns = ", ".join(what if at == 99 else f"{at} {what}" for at, what in sorted(placed))
    return "\n".join([*lines, f"columns {columns}; next id {effect.version.next_column_id}"])


def _placed(column: Column) -> str:
    """Return name and id, and what differs from the column before."""
    before = next((c for c in ORDERS.columns if c.id == column.id), column)
    null = "" if before.nullable == column.nullable else " null" if column.nullable else " not null"
    type_ = "" if before.type == column.type else f" {column.type}"
    return f"{column.name}{type_}{null} (id {column.id})"


def write_outcomes() -> None:
    for file in sorted(FOLDER.glob("*.sql")):
        blocks = []
        for case in read_cases(file):
            outcome = "\n".join(f"--> {line}" for line in outcome_of(case.sql).split("\n"))
            blocks.append(f"-- {case.title}\n{case.sql}\n{outcome}\n")
        file.write_text("\n".join(blocks))


if __name__ == "__main__":
    write_outcomes()
