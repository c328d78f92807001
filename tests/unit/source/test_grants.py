"""The grants script contains exactly the privileges that the statements need."""

from __future__ import annotations

import re

from pipelines.source.grants import missing_grants
from pipelines.statements import setup_text, statements

USER = "c##redolake"


def test_the_grants_script_matches_the_statements() -> None:
    needed = {grant for s in statements().values() for grant in missing_grants(s.sql, USER).split("; ") if grant}
    script = setup_text("grants")
    granted = {line for line in re.findall(r"^(GRANT .*? TO c##redolake)\b", script, re.MULTILINE) if " ON SYS." in line}

    assert granted == {grant for grant in needed if " ON SYS." in grant}
    assert needed - granted == {f"GRANT LOGMINING TO {USER}"}
    assert f"GRANT LOGMINING TO {USER} CONTAINER = ALL;" in script
