"""When a session's DML runs in parallel: ALTER SESSION .. PARALLEL DML and the PARALLEL hint."""

from __future__ import annotations

import re
from dataclasses import dataclass

_HINT = re.compile(r"/\*\+[^*]*?\bPARALLEL\b\s*(?:\(\s*(?:\w+[\s,]+)?(?P<degree>\d+)?[^)]*\))?[^*]*\*/", re.I)
_DEFAULT_DEGREE = 4


@dataclass(slots=True)
class ParallelSetting:
    """The state of ALTER SESSION ENABLE, DISABLE or FORCE PARALLEL DML [PARALLEL n]."""

    is_enabled: bool = False
    forced: int = 0

    def alter(self, word: str, degree: int | None) -> None:
        self.is_enabled = word != "DISABLE"
        self.forced = (degree or _DEFAULT_DEGREE) if word == "FORCE" else 0

    def degree_of(self, text: str) -> int:
        """Return the degree of parallelism of a statement; 0 when it runs serially."""
        if not self.is_enabled:
            return 0
        hint = _HINT.search(text)
        return int(hint["degree"] or _DEFAULT_DEGREE) if hint is not None else self.forced
