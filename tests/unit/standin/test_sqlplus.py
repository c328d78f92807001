"""The script reader does what SQL*Plus is documented to do, also where that surprises."""

from __future__ import annotations

import pytest

from standin.interface import OraError
from standin.sqlplus import Transcript, Waits, run_script


def run(text: str, *answers: str, refused: str = "nothing") -> Transcript:
    def execute(sql: str) -> None:
        if refused in sql:
            raise OraError(942, "table or view does not exist")

    return run_script(text, execute, answers)


def test_a_variable_in_a_comment_is_asked_for() -> None:
    done = run("-- &password is prompted for\nSELECT 1 FROM dual;", "secret")

    assert done.questions == ["Enter value for password: "]


def test_a_remark_is_not_searched_for_variables() -> None:
    assert run("REM &password\nSELECT 1 FROM dual;").statements == ["SELECT 1 FROM dual"]


def test_an_ampersand_before_a_blank_is_no_variable() -> None:
    assert run("SELECT 'salt & pepper' FROM dual;").questions == []


def test_a_question_that_nobody_answers_waits() -> None:
    with pytest.raises(Waits, match="Enter value for owner"):
        run("GRANT SELECT ON &owner..t TO u;")


@pytest.mark.parametrize(
    ("script", "asked"),
    [("SELECT &a, &a FROM dual;", 2), ("SELECT &&a, &a FROM dual;", 1), ("DEFINE a = 7\nSELECT &a, &a;", 0)],
)
def test_only_a_defined_variable_is_asked_for_once(script: str, asked: int) -> None:
    done = run(script, "7", "7")

    assert len(done.questions) == asked
    assert done.statements[-1].startswith("SELECT 7, 7")


def test_a_point_ends_the_name_of_a_variable() -> None:
    assert run("GRANT SELECT ON &owner..t TO u;", "shop").statements == ["GRANT SELECT ON shop.t TO u"]


@pytest.mark.parametrize(
    ("head", "shown"),
    [
        ("", True),
        ("SET VERIFY OFF\n", True),
        ("SET VERIFY OFF\nACCEPT password PROMPT 'Password: '\n", True),
        ("ACCEPT password PROMPT 'Password: ' HIDE\n", True),
        ("SET VERIFY OFF\nACCEPT password CHAR PROMPT 'Password: ' HIDE\n", False),
    ],
    ids=["prompt and old/new", "prompt", "accepted in clear", "old/new", "hidden"],
)
def test_a_password_is_shown_unless_it_is_hidden_and_not_verified(head: str, shown: bool) -> None:
    done = run(head + 'CREATE USER u IDENTIFIED BY "&password";', "tiger")

    assert done.statements == ['CREATE USER u IDENTIFIED BY "tiger"']
    assert ("tiger" in done.text) is shown


def test_define_off_leaves_ampersands_alone() -> None:
    assert run('SET DEFINE OFF\nGRANT SELECT ON "A&B" TO u;').statements == ['GRANT SELECT ON "A&B" TO u']


def test_an_error_is_passed_over_unless_the_script_says_otherwise() -> None:
    script = "GRANT a TO u;\nGRANT b TO u;\n"

    assert (run(script, refused=" a ").statements, run(script, refused=" a ").failed) == (
        ["GRANT a TO u", "GRANT b TO u"],
        False,
    )
    stopped = run("WHENEVER SQLERROR EXIT FAILURE\n" + script, refused=" a ")
    assert (stopped.statements, stopped.failed) == (["GRANT a TO u"], True)
    assert "ORA-00942" in stopped.text


def test_errors_can_be_passed_over_for_one_statement() -> None:
    script = "WHENEVER SQLERROR EXIT\nWHENEVER SQLERROR CONTINUE\nGRANT a TO u;\nWHENEVER SQLERROR EXIT FAILURE\nGRANT b TO u;"

    assert run(script, refused=" a ").failed is False
    assert run(script, refused=" b ").failed is True


def test_a_blank_line_ends_a_statement_without_running_it() -> None:
    assert run("GRANT a\n\nTO u;").statements == ["TO u"]


def test_a_hyphen_at_the_end_of_a_line_continues_it() -> None:
    done = run("INSERT INTO t VALUES (1-\n, 'virtually -- or-\nflat');\n-- a rule ----\nGRANT a TO u;")

    assert done.statements == ["INSERT INTO t VALUES (1 , 'virtually -- or flat')", "GRANT a TO u"]


def test_a_block_ends_with_a_slash() -> None:
    done = run("BEGIN\n  one;\n\n  two;\nEND;\n/\nCOMMIT;")

    assert done.statements == ["BEGIN\n  one;\n\n  two;\nEND;", "COMMIT"]


def test_execute_runs_a_block() -> None:
    assert run("EXEC pack.proc(1);").statements == ["BEGIN pack.proc(1); END;"]


def test_text_after_the_semicolon_is_part_of_the_statement() -> None:
    assert run("COMMIT; -- done\nGRANT a TO u;").statements == ["COMMIT; -- done\nGRANT a TO u"]


def test_exit_leaves_the_rest_out() -> None:
    assert run("GRANT a TO u;\nEXIT\nGRANT b TO u;").statements == ["GRANT a TO u"]
