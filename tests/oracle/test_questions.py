"""Questions of docs/verified-on.md, answered by the database at hand; `make verified-on` collects the answers."""

from __future__ import annotations

import pytest

from tests.oracle.conftest import Database
from tests.oracle.questions import NOT_TRIED, QUESTIONS, Question

pytestmark = pytest.mark.oracle


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_the_answer_is_one_under_which_redolake_is_right(
    database: Database, question: Question, record_property: pytest.FixtureRequest, request: pytest.FixtureRequest
) -> None:
    if question.breaks:
        request.getfixturevalue("breakable")
    answer = question.answer(database)
    record_property("question", question.beginning)
    record_property("answer", answer)

    assert question.accepts(answer), answer
    assert database.is_real or not answer.startswith(NOT_TRIED) or question.beginning in NOT_ON_THE_STANDIN


# It has no PL/SQL variables, valid-time periods and V$CONTROLFILE_RECORD_SECTION, and MAX_STRING_SIZE = STANDARD here.
NOT_ON_THE_STANDIN = (
    "Does the driver refuse every such date when it fetches Arrow",
    "What does TO_CHAR show for stored bytes that are no date",
    "How does LogMiner write such a date in SQL_REDO",
    "What are HIDDEN_COLUMN, VIRTUAL_COLUMN and USER_GENERATED of ORABCTAB_ columns",
    "Does LogMiner show a row with an extended string as UNSUPPORTED",
    "Are the records of V$LOG_HISTORY reused strictly oldest first",
    "For how long after a DDL is AS OF SCN refused with ORA-01466",
)
