"""The set-up script contains exactly the privileges that the statements need."""

from __future__ import annotations

import re

from redolake.host.statements import statements
from redolake.source.grants import missing_grants
from redolake.source.setup_sql import Flavour, SetupChoices, setup_sql

USER = "c##redolake"


def test_the_set_up_script_grants_what_the_statements_need() -> None:
    needed = {grant for s in statements().values() for grant in missing_grants(s.sql, USER).split("; ") if grant}
    script, of_primary = (setup_sql(SetupChoices(Flavour.cdb, USER, primary=primary)) for primary in (False, True))
    granted = {
        line for line in re.findall(r"^(GRANT .*? TO c##redolake)\b", script + of_primary, re.MULTILINE) if " ON SYS." in line
    }

    assert granted == {grant for grant in needed if " ON SYS." in grant}
    assert needed - granted == {f"GRANT LOGMINING TO {USER}"}
    assert f"GRANT CREATE SESSION, LOGMINING, SET CONTAINER TO {USER} CONTAINER = ALL;" in script


def test_the_user_of_the_primary_may_read_open_transactions_and_scns_alone() -> None:
    script = setup_sql(SetupChoices(Flavour.cdb, USER, primary=True))
    granted = [line for line in script.splitlines() if line.startswith(("GRANT", "ALTER"))]

    assert granted == [
        "ALTER SESSION SET CONTAINER = CDB$ROOT;",
        "GRANT CREATE SESSION TO c##redolake CONTAINER = ALL;",
        "ALTER USER c##redolake SET CONTAINER_DATA = ALL CONTAINER = CURRENT;",
        "GRANT SELECT ON SYS.GV_$DATABASE TO c##redolake CONTAINER = ALL;",
        "GRANT SELECT ON SYS.GV_$TRANSACTION TO c##redolake CONTAINER = ALL;",
        "GRANT SELECT ON SYS.CDB_2PC_PENDING TO c##redolake CONTAINER = ALL;",
        "GRANT SELECT ON SYS.V_$PDBS TO c##redolake CONTAINER = ALL;",
    ]
