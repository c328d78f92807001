"""Golden pairs: redo SQL in, decoded changes out, in tests/golden/redo/*.txt.

A case is a line `== title`, the statement, a line `->`, and what it says; `[status 2]` in the title sets STATUS.
"""

import re
from decimal import Decimal
from pathlib import Path

import pytest

from redolake.decode.changes import decode_changes
from tests.unit.decode.redo_text import redo_batch, table

GOLDEN = Path(__file__).parents[2] / "golden" / "redo"
TABLE = table(ID="NUMBER(10,2)", NAME="VARCHAR2", CODE="CHAR", DAY="DATE", AT="TIMESTAMP", TOKEN="RAW", RATE="NUMBER")
CODES = {"insert": 1, "delete": 2, "update": 3}


def cases():
    for path in sorted(GOLDEN.glob("*.txt")):
        for title, sql, said in re.findall(r"^== (.*?)\n(.*?)\n->\n(.*?)\n*(?=^== |\Z)", path.read_text(), re.M | re.S):
            yield pytest.param(title, sql, said, id=f"{path.stem}: {title}")


def shown(row):
    """Return a decoded row as lines, without the columns that are null."""
    if row["error"]:
        return f"error: {row['error']}"
    lines = []
    for word, letter in (("before", "o"), ("after", "n")):
        for column in TABLE.columns:
            value = row[f"{letter}{column.id}"]
            if value is not None:
                text = repr(value) if isinstance(value, str | bytes) else f"{value:f}" if isinstance(value, Decimal) else value
                lines.append(f"{word} {column.name}: {text}")
    for word in ("assigned", "missing"):
        if row[word]:
            lines.append(f"{word}: " + ", ".join(TABLE.column(i).name for i in row[word]))
    if row["unknown"]:
        lines.append("unknown: " + ", ".join(row["unknown"]))
    return "\n".join(lines)


@pytest.mark.parametrize(("title", "sql", "said"), list(cases()))
def test_redo_decodes_to_the_golden_outcome(title, sql, said):
    status = re.search(r"\[status (\d+)\]", title)
    batch = redo_batch((CODES.get(sql[:6], 0), sql, int(status[1]) if status else 0))

    (row,) = decode_changes(batch, TABLE, {}).to_pylist()

    assert shown(row) == said


def test_there_are_golden_files():
    assert len(list(cases())) > 30
