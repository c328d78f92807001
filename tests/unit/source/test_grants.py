"""What a DBA is asked to grant is what the statements read, no less and no more."""

from __future__ import annotations

import re

from pipelines.source.grants import missing_grants
from pipelines.statements import setup_text, statements

USER = "c##redolake"


def test_the_grants_are_those_that_the_statements_need() -> None:
    needed = {grant for s in statements().values() for grant in missing_grants(s.sql, USER).split("; ") if grant}
    script = setup_text("grants")
    granted = {line for line in re.findall(r"^(GRANT .*? TO c##redolake)\b", script, re.MULTILINE) if " ON SYS." in line}

    assert granted == {grant for grant in needed if " ON SYS." in grant}
    assert needed - granted == {f"GRANT LOGMINING TO {USER}"}
    assert f"GRANT LOGMINING TO {USER} CONTAINER = ALL;" in script
