"""The set-up script contains exactly the privileges that the statements need."""

from __future__ import annotations

import re

from redolake.host.statements import statements
from redolake.source.grants import missing_grants
from redolake.source.setup_sql import Flavour, SetupChoices, setup_sql

USER = "c##redolake"


def test_the_set_up_script_grants_what_the_statements_need() -> None:
    needed = {grant for s in statements().values() for grant in missing_grants(s.sql, USER).split("; ") if grant}
    script = setup_sql(SetupChoices(Flavour.cdb, USER))
    granted = {line for line in re.findall(r"^(GRANT .*? TO c##redolake)\b", script, re.MULTILINE) if " ON SYS." in line}

    assert granted == {grant for grant in needed if " ON SYS." in grant}
    assert needed - granted == {f"GRANT LOGMINING TO {USER}"}
    assert f"GRANT CREATE SESSION, LOGMINING, SET CONTAINER TO {USER} CONTAINER = ALL;" in script
