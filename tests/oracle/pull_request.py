"""The text of a pull request for docs/verified-on.md, made of what `pytest -m oracle`, `redolake selftest` and the demo leave.

`python -m tests.oracle.pull_request TESTS.xml SELFTEST.json DEMO.json` prints it. A file that is not there is named as missing.
In GitHub Actions the text is the summary of the run as well.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

PAGE = Path(__file__).parents[2] / "docs" / "verified-on.md"
ANSWERED = re.compile(r"^## Answered .*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
CASE = re.compile(r"\bRLT_[A-Z_]+\b")
# A test that answers a question by its outcome.
TEST_OF = {
    "Do the scripts of sql/setup run in SQL*Plus": "test_doctor_names_each_grant_of_the_set_up_script_that_is_missing",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """`outcome` is passed, failed or skipped; `why` is the reason of the last two."""

    name: str
    outcome: str
    why: str
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Run:
    """What a run on one database has left: the reports of the tests, the self-test and the demo, each None if it is missing.

    `image` is the container that the database ran in.
    """

    tests: Report | None
    selftest: Mapping[str, Any] | None
    demo: Mapping[str, Any] | None
    image: str = ""

    @property
    def database(self) -> str:
        version = self.tests.version if self.tests else (self.selftest or {}).get("oracle", "of unknown version")
        where = f" ({self.image})" if self.image else ""
        return f"Oracle {version}{where}" if self.is_real else f"the stand-in for Oracle {version}"

    @property
    def is_real(self) -> bool:
        return self.tests is not None and self.tests.is_real


@dataclass(frozen=True, slots=True)
class Report:
    version: str
    is_real: bool
    tests: Sequence[Outcome]


def read_tests(file: Path) -> Report:
    """Read a JUnit report of pytest."""
    report = ElementTree.parse(file)
    suite = {entry.get("name"): entry.get("value", "") for entry in report.iterfind("testsuite/properties/property")}
    tests = [as_test(case) for case in report.iter("testcase")]
    return Report(suite.get("database", "of unknown version"), suite.get("is_real") == "True", tests)


def as_test(case: ElementTree.Element) -> Outcome:
    properties = {entry.get("name", ""): entry.get("value", "") for entry in case.iter("property")}
    for kind, outcome in (("failure", "failed"), ("error", "failed"), ("skipped", "skipped")):
        if (found := case.find(kind)) is not None:
            return Outcome(case.get("name", ""), outcome, found.get("message", "").splitlines()[0], properties)
    return Outcome(case.get("name", ""), "passed", "", properties)


def questions_of(page: str) -> dict[str, str]:
    """Return each open question of the page in one line, with the whole entry it stands in."""
    open_ones = ANSWERED.sub("", page)
    bullets = re.findall(r"^\* \*\*(.+?)\*\*(.*?)(?=^\* |^$|\Z)", open_ones, re.MULTILINE | re.DOTALL)
    lines = [line.strip("| ").split(" | ", 1) for line in open_ones.splitlines() if line.startswith("| ")]
    entries = [*bullets, *(tuple(line) for line in lines if len(line) == 2 and line[0] != "Question")]
    return {" ".join(question.split()): " ".join((question + rest).split()) for question, rest in entries}


def answers(entry: str, run: Run) -> Iterator[str]:
    """Yield what the run says of a question: its probes' answers, the self-test's cases that the entry names, and tests."""
    for test in run.tests.tests if run.tests else ():
        if entry.startswith(test.properties.get("question", "\0")):
            yield test.properties["answer"] + ("" if test.outcome == "passed" else " **(not expected)**")
        for beginning, name in TEST_OF.items():
            if entry.startswith(beginning) and test.name.partition("[")[0] == name:
                yield f"{name}: {test.outcome}"
    cases = set(CASE.findall(entry))
    for answer in (run.selftest or {}).get("answers", ()):
        if answer["table"] in cases:
            yield f"{answer['table']}: {answer['outcome']}, {answer['detail']}"


def pull_request(page: str, run: Run) -> str:
    found = {question: list(answers(entry, run)) for question, entry in questions_of(page).items()}
    answered = [(question, "\n".join(texts)) for question, texts in found.items() if texts]
    return "\n".join(
        [
            f"# docs: verified on {run.database}",
            "",
            *(
                []
                if run.is_real
                else ["**The stand-in gave these answers: they verify nothing, and show only what a report looks like.**", ""]
            ),
            *(f"* {line}" for line in outcomes(run)),
            "",
            "## A line for docs/verified-on.md",
            "",
            "| Database | Redolake | Tests | Self-test | Demo |",
            "|---|---|---|---|---|",
            f"| {' | '.join(line_of(run))} |",
            "",
            "## Answers",
            "",
            "Close a question on the page only if the answer decides it; the stand-in then keeps one reading of it.",
            "",
            "| Question | Answer |",
            "|---|---|",
            *(f"| {cell(question)} | {cell(text)} |" for question, text in answered),
            "",
            "## Not asked",
            "",
            *(f"* {question}" for question, texts in found.items() if not texts),
            "",
        ]
    )


def line_of(run: Run) -> list[str]:
    return [run.database, run.selftest["redolake"] if run.selftest else "?", tests_of(run), selftest_of(run), demo_of(run)]


def tests_of(run: Run) -> str:
    if run.tests is None:
        return "no report"
    counts = Counter(test.outcome for test in run.tests.tests)
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in ("passed", "failed", "skipped") if counts[outcome])


def selftest_of(run: Run) -> str:
    if run.selftest is None:
        return "no report"
    counts = Counter(answer["outcome"] for answer in run.selftest["answers"])
    return ", ".join(f"{number} {outcome}" for outcome, number in counts.items())


def demo_of(run: Run) -> str:
    if run.demo is None:
        return "no report"
    tables = run.demo["tables"]
    equal = all(t["source_rows"] == t["delta_rows"] and not t["differing_cells"] for t in tables) and tables
    return f"{len(tables)} tables, {'equal' if equal else 'DIFFERENT'}"


def outcomes(run: Run) -> Iterator[str]:
    """Yield the totals, each test that did not pass, and each answer of the self-test that is not "proved"."""
    yield f"tests: {tests_of(run)}; self-test: {selftest_of(run)}; demo: {demo_of(run)}"
    for test in run.tests.tests if run.tests else ():
        if test.outcome != "passed":
            yield f"{test.outcome}: `{test.name}`: {test.why}"
    for answer in (run.selftest or {}).get("answers", ()):
        if answer["outcome"] != "proved":
            yield f"self-test, {answer['table']}: {answer['outcome']}: {answer['detail']}"


def cell(text: str) -> str:
    """Return the text as one cell of a Markdown table."""
    return text.replace("|", "\\|").replace("\n", "<br>")


def read_json(file: Path) -> Mapping[str, Any] | None:
    """Return the content of a report; None if its command ended before it wrote one."""
    try:
        return dict(json.loads(file.read_text()))
    except (FileNotFoundError, ValueError):
        return None


def main(tests: str, selftest: str, demo: str) -> None:
    found = read_tests(Path(tests)) if Path(tests).exists() else None
    image = os.environ.get("REDOLAKE_ORACLE_IMAGE", "")
    text = pull_request(PAGE.read_text(), Run(found, read_json(Path(selftest)), read_json(Path(demo)), image))
    sys.stdout.write(text)
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(summary).open("a") as file:
            file.write(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
