"""The script reader does what SQL*Plus is documented to do, also where that surprises."""

from __future__ import annotations

from collections.abc import Callable, Iterator

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


def with_files(main: str, *answers: str, **files: str) -> Transcript:
    """Run a script beside others, whose names have __ for a slash and no .sql."""
    paths = {name.replace("__", "/") + ".sql": text for name, text in files.items()}
    return run_script(main, lambda sql: None, answers, read=paths.get)


def test_a_script_is_looked_for_beside_the_installer_or_beside_the_script_that_calls_it() -> None:
    files = {"parts__all": "@@one\n@one.sql\nSTART two\n", "parts__one": "in parts;\n", "one": "beside;\n", "two": "started;\n"}

    assert with_files("@parts/all\nlast;\n", **files).statements == ["in parts", "beside", "started", "last"]


def test_a_folder_that_a_script_names_counts_from_the_script_that_calls_it() -> None:
    files = {"a__b__main": "@@../c/part\n", "a__c__part": "found;\n"}

    assert with_files("@@a/b/main", **files).statements == ["found"]


def test_arguments_of_a_script_are_its_numbered_variables() -> None:
    called = "DEFINE tbs = &2\nCREATE USER &1 DEFAULT TABLESPACE &tbs..x;\n"

    assert with_files("@make hr 'my users'", make=called).statements == ["CREATE USER hr DEFAULT TABLESPACE my users.x"]


def test_an_argument_that_is_not_given_is_asked_for() -> None:
    done = with_files("DEFINE pass = &1\nSELECT '&pass' FROM dual;", "secret")

    assert (done.questions, done.statements) == (["Enter value for 1: "], ["SELECT 'secret' FROM dual"])


def test_a_script_that_is_not_there_is_an_error_and_the_rest_runs() -> None:
    done = with_files("@missing\nlast;")

    assert (done.errors, done.statements) == (['SP2-0310: unable to open file "missing.sql"'], ["last"])


def test_an_exit_in_a_called_script_ends_the_installer() -> None:
    assert with_files("@part\nlast;", part="first;\nEXIT\nnever;").statements == ["first"]


def test_what_a_called_script_leaves_unfinished_does_not_run() -> None:
    assert with_files("@part\nlast;", part="SELECT 1\n").statements == ["last"]


def test_a_default_answers_a_question_and_may_be_a_variable() -> None:
    done = run("DEFINE d = users\nACCEPT tbs PROMPT 'Tablespace [&d]: ' DEFAULT '&d'\nSELECT '&tbs' FROM dual;", "")

    assert (done.questions, done.statements) == (["Tablespace [users]: "], ["SELECT 'users' FROM dual"])


def test_a_column_of_a_query_becomes_a_variable() -> None:
    class Answer:
        description = (("PROPERTY_VALUE", str),)

        def __iter__(self) -> Iterator[tuple[str]]:
            return iter([("USERS",)])

    done = run_script("COLUMN property_value NEW_VALUE tbs NOPRINT\nSELECT p;\nSELECT '&tbs';", lambda sql: Answer())

    assert done.statements[-1] == "SELECT 'USERS'"


def test_connect_goes_on_as_another_user() -> None:
    ran: list[tuple[str, str]] = []

    def connect(user: str, password: str) -> Callable[[str], object]:
        return lambda sql: ran.append((f"{user}/{password}", sql))

    script = 'DEFINE at = db\none;\nCONNECT oe/"Se/cret"@&at\ntwo;\nconn sys/x@&at AS SYSDBA;\nthree;\n'
    run_script(script, connect("pm", "p"), connect=connect)

    assert ran == [("pm/p", "one"), ("oe/Se/cret", "two"), ("sys/x", "three")]


@pytest.mark.parametrize(
    "line", ["SPOOL made.log", "spool off", "HOST ls", "SHOW ERRORS", "show errors;", "CLEAR SCREEN", "SET SERVEROUTPUT ON"]
)
def test_a_command_for_the_screen_or_the_machine_is_no_statement(line: str) -> None:
    assert run(f"{line}\nSELECT 1 FROM dual;").statements == ["SELECT 1 FROM dual"]


@pytest.mark.parametrize("comment", ["/* a; */", "/* a\n   b;\n*/"])
def test_a_comment_before_a_statement_is_no_statement(comment: str) -> None:
    assert run(f"{comment}\nSELECT 1 FROM dual;").statements == ["SELECT 1 FROM dual"]


def test_a_comment_without_a_blank_after_its_start_runs_the_last_statement_again() -> None:
    assert run("one;\n/*****\n  a;\n*****/\ntwo;").statements == ["one", "one", "two"]


def test_another_character_may_stand_for_the_ampersand() -> None:
    assert run("SET DEFINE ^\nDEFINE a = 7\nSELECT '&a^a';").statements == ["SELECT '&a7'"]


@pytest.mark.parametrize("head", ["CREATE OR REPLACE EDITIONABLE TRIGGER t", "CREATE NONEDITIONABLE PACKAGE p"])
def test_a_unit_with_an_edition_ends_with_a_slash(head: str) -> None:
    assert run(f"{head}\nBEGIN x; END;\n/\n").statements == [f"{head}\nBEGIN x; END;"]
