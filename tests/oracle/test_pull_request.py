"""The report of a run, as the text of a pull request: made here from the stand-in's answers."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.oracle.pull_request import PAGE, Outcome, Report, Run, answers, pull_request, questions_of, read_json, read_tests
from tests.oracle.questions import QUESTIONS

ROOT = Path(__file__).parents[2]
PAGE_TEXT = PAGE.read_text()
ASKED = ("quotes", "sets_to_null")
SELFTEST = {
    "redolake": "0.1.0",
    "oracle": "23.9.0.25.07",
    "answers": [
        {"table": "RLT_ZONES", "question": "?", "outcome": "proved", "detail": "equal"},
        {"table": "RLT_TEXTS", "question": "?", "outcome": "held", "detail": "DecodeError: a | b"},
    ],
}
EQUAL = {"table": "SHOP.ORDERS", "source_rows": 7, "delta_rows": 7, "differing_cells": 0}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Two questions, asked by pytest as `make test-oracle` does."""
    file = tmp_path_factory.mktemp("report") / "tests.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-m", "oracle", "tests/oracle/test_questions.py"]
    done = subprocess.run(
        [*command, "-k", " or ".join(ASKED), f"--junitxml={file}"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    return read_tests(file)


def test_an_answer_stands_beside_its_question(report: Report) -> None:
    text = pull_request(PAGE_TEXT, Run(report, None, None))

    (row,) = (line for line in text.splitlines() if line.startswith("| Does SET CONTAINER accept a name in double quotes?"))
    assert row.endswith("| no error |")
    assert 'set "A" = NULL where "ID" = \'1\'' in text
    assert "* Does BUILD switch the log by itself?" in text.partition("## Not asked")[2]


def test_the_stand_ins_answers_are_never_taken_for_oracles(report: Report) -> None:
    assert not report.is_real
    text = pull_request(PAGE_TEXT, Run(report, SELFTEST, None))
    assert "verified on the stand-in" in text
    assert "they verify nothing" in text

    real = pull_request(PAGE_TEXT, Run(replace(report, is_real=True), SELFTEST, None, "gvenzl/oracle-free:23-slim"))
    assert real.startswith(f"# docs: verified on Oracle {report.version} (gvenzl/oracle-free:23-slim)\n")
    assert "stand-in for" not in real


def test_totals_failures_and_reasons_are_in_the_text(report: Report) -> None:
    failed = Outcome("test_something", "failed", "it was held", {"question": QUESTIONS[0].beginning, "answer": "ORA-600"})
    skipped = Outcome("test_outage", "skipped", "REDOLAKE_ORACLE_MAY_BREAK=1 is not set", {})
    run = Run(Report("23.9", True, [failed, skipped]), SELFTEST, {"tables": [EQUAL, {**EQUAL, "delta_rows": 6}]})

    text = pull_request(PAGE_TEXT, run)

    assert "tests: 1 failed, 1 skipped; self-test: 1 proved, 1 held; demo: 2 tables, DIFFERENT" in text
    assert "* failed: `test_something`: it was held" in text
    assert "REDOLAKE_ORACLE_MAY_BREAK=1 is not set" in text
    assert "| ORA-600 **(not expected)** |" in text
    assert "RLT_TEXTS: held, DecodeError: a \\| b |" in text
    assert "| Oracle 23.9 | 0.1.0 | 1 failed, 1 skipped | 1 proved, 1 held | 2 tables, DIFFERENT |" in text


def test_a_command_that_left_no_report_is_no_success(tmp_path: Path) -> None:
    broken = tmp_path / "selftest.json"
    broken.write_text("")

    text = pull_request(PAGE_TEXT, Run(None, read_json(broken), read_json(tmp_path / "none.json")))

    assert "tests: no report; self-test: no report; demo: no report" in text
    assert json.dumps(EQUAL) not in text


def test_each_question_that_is_asked_is_on_the_page_once() -> None:
    found = questions_of(PAGE_TEXT)

    assert len(found) > 60
    named = {question.beginning: [text for text in found if text.startswith(question.beginning)] for question in QUESTIONS}
    assert {beginning: texts for beginning, texts in named.items() if len(texts) != 1} == {}


def test_a_question_that_others_have_answered_is_not_open() -> None:
    open_ones = questions_of(
        "## Open\n| Is it? | maybe |\n## Answered by others\n| Was it? | yes |\n## Open\n* **Will it?** Look.\n"
    )

    assert set(open_ones) == {"Is it?", "Will it?"}


def test_a_question_that_names_a_case_of_the_self_test_is_answered_by_it() -> None:
    run = Run(None, SELFTEST, None)

    answered = [text for entry in questions_of(PAGE_TEXT).values() for text in answers(entry, run)]

    assert "RLT_ZONES: proved, equal" in answered


@pytest.mark.parametrize(
    ("beginning", "wrong"),
    [
        ("Does a statement parsed in one container fail in another", "ORA-00600"),
        ("Can a row have an SCN outside", "1 of 98 rows in 2 logs"),
        ("Is FLASHBACK checked for tables in an EXISTS", "no error"),
        ("Do V$LOG_HISTORY and V$ARCHIVED_LOG agree", "2 of 4 logs differ"),
    ],
)
def test_an_answer_under_which_redolake_is_wrong_is_not_accepted(beginning: str, wrong: str) -> None:
    (question,) = (question for question in QUESTIONS if question.beginning.startswith(beginning))

    assert not question.accepts(wrong)
