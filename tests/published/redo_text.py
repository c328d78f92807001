"""Reads LogMiner's statements as the published files have them: names and values as text, NULL as None."""

from __future__ import annotations

import re

Values = dict[str, str | None]

_TOKEN = re.compile(
    r"""'(?P<text>(?:[^']|'')*)' | "(?P<name>[^"]+)" | (?P<word>[A-Za-z_]+) | (?P<sign>[(),=;.]) | \s+""", re.VERBOSE
)
_CONVERSIONS = frozenset({"TO_DATE", "TO_TIMESTAMP", "TO_TIMESTAMP_TZ", "TO_DSINTERVAL", "TO_YMINTERVAL", "HEXTORAW"})


def read(sql: str) -> tuple[str, Values | None, Values | None]:
    """Return the operation, the values of WHERE and those of VALUES or SET."""
    reader = _Reader(sql)
    operation = reader.word().upper()
    if operation == "INSERT":
        return operation, None, reader.inserted()
    after = reader.assigned(until="WHERE") if operation == "UPDATE" else None
    return operation, reader.located(), after


class _Reader:
    def __init__(self, sql: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        at = 0
        while at < len(sql):
            found = _TOKEN.match(sql, at)
            assert found is not None, f"not understood: {sql[at : at + 60]}"
            at = found.end()
            if found.lastgroup:
                text = found[found.lastgroup]
                self._tokens.append((found.lastgroup, text.replace("''", "'") if found.lastgroup == "text" else text))
        self._at = 0

    def word(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1][1]

    def _next(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def inserted(self) -> Values:
        while self._next() != "(":
            self.word()
        names = self._list()
        assert self.word().upper() == "VALUES"
        return dict(zip((str(name) for name in names), self._list(), strict=True))

    def _list(self) -> list[str | None]:
        found = []
        while self.word() != ")":  # past the bracket, or a comma
            found.append(self._value())
            if self._next() == ")":
                self.word()
                break
        return found

    def assigned(self, until: str) -> Values:
        while self._next().upper() != "SET":
            self.word()
        found: Values = {}
        while self._next().upper() not in (until, ";", ""):
            self.word()  # SET, or a comma
            name = self.word()
            assert self.word() == "="
            found[name] = self._value()
        return found

    def located(self) -> Values:
        while self._next().upper() != "WHERE":
            self.word()
        found: Values = {}
        while self._next() not in (";", ""):
            self.word()  # WHERE, or AND
            name, sign = self.word(), self.word()
            found[name] = self._value() if sign == "=" else None
            if sign != "=":
                assert (sign.upper(), self.word().upper()) == ("IS", "NULL")
        return found

    def _value(self) -> str | None:
        kind, value = self._tokens[self._at]
        self._at += 1
        if kind != "word":
            return value
        if value.upper() == "NULL":
            return None
        assert self.word() == "("
        inner = "" if self._next() == ")" else self.word()
        while self.word() != ")":  # past the format
            pass
        return inner if value.upper() in _CONVERSIONS else f"{value}({inner})"
