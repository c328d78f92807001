"""Named SQL: names are unique, comments are separated, statement texts are unchanged."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from redolake.host.statements import split, statement, statements

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "pipelines" / "redolake"


def test_every_statement_is_used_and_every_used_one_exists():
    used = set()
    for folder in ("source", "mine", "steps"):
        for path in (PACKAGE / folder).rglob("*.py"):
            used |= set(re.findall(r'"([a-z_]+)"', path.read_text()))

    assert set(statements()) <= used


def test_a_select_ends_without_a_semicolon_and_a_block_with_one():
    for one in statements().values():
        assert one.sql.endswith("END;") == one.sql.startswith("BEGIN")
        assert one.sql.endswith(";") == one.sql.startswith("BEGIN")


def test_only_transactions_and_scns_are_read_from_every_instance():
    text = " ".join(one.sql for one in statements().values()).lower()

    assert set(re.findall(r"gv\$\w+", text)) == {"gv$transaction", "gv$database"}


def test_comments_are_kept_apart_from_the_statement():
    (one,) = split("-- name: a\n-- Why so.\nSELECT 1\n  FROM dual\n", "x.sql")

    assert (one.why, one.sql) == ("Why so.", "SELECT 1\n  FROM dual")


def test_an_empty_statement_is_refused():
    with pytest.raises(ValueError, match="is empty"):
        split("-- name: a\n-- Why so.\n", "x.sql")


def test_an_unknown_name_raises_key_error():
    with pytest.raises(KeyError):
        statement("no_such_statement")


def test_every_read_as_of_an_scn_binds_it_as_scn_for_which_a_standby_is_waited():
    """`Source` waits until a standby has applied the SCN of that name: `verify`, `repair`, `fill-columns`, `mend`, chunks and
    values that are read again all read so."""
    texts = [
        path.read_text()
        for folder in (PACKAGE / "source", PACKAGE / "steps", ROOT / "sql")
        for path in folder.rglob("*.*")
        if path.suffix in (".py", ".sql")
    ]
    found = [text for text in re.findall(r"FROM [^\n]* AS OF \w+ \S+", "\n".join(texts))]

    assert len(found) >= 5
    assert [text for text in found if not re.search(r" AS OF SCN :scn\b", text)] == []
