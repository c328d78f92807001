"""A question of docs/verified-on.md: how it is asked, and the answers under which Redolake is right."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import oracledb

from tests.oracle.conftest import Database

NOT_TRIED = "not tried: "


@dataclass(frozen=True, slots=True)
class Question:
    beginning: str
    ask: Callable[[Database], str]
    accepted: str = ".+"
    breaks: bool = False

    @property
    def name(self) -> str:
        return re.sub(r"\W+", "_", self.beginning.lower()).strip("_")[:50]

    def answer(self, database: Database) -> str:
        """Return what the database answers, or its reason why it cannot be asked."""
        try:
            return self.ask(database)
        except oracledb.DatabaseError as error:
            return NOT_TRIED + str(error).splitlines()[0]

    def accepts(self, answer: str) -> bool:
        return answer.startswith(NOT_TRIED) or re.fullmatch(self.accepted, answer, re.DOTALL) is not None


QUESTIONS: list[Question] = []


def asks(beginning: str, accepted: str = ".+", *, breaks: bool = False) -> Callable[[Callable[[Database], str]], Any]:
    def add(ask: Callable[[Database], str]) -> Callable[[Database], str]:
        QUESTIONS.append(Question(beginning, ask, accepted, breaks))
        return ask

    return add
