"""Patterns of table names, such as SHOP.* or SHOP.ORDER_?. `*` stands for any characters, `?` for one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from pipelines.values.table import TableId, upper_name

WILDCARD = re.compile(r"[*?]")


@dataclass(frozen=True)
class NamePattern:
    """One part of a pattern. A part in double quotes is a name, in which `*` and `?` are plain characters."""

    text: str
    is_literal: bool

    @property
    def expression(self) -> str:
        """Return the pattern as a regular expression."""
        if self.is_literal:
            return re.escape(self.text)
        return "".join({"*": ".*", "?": "."}.get(c, re.escape(c)) for c in self.text)

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        if self.is_literal:
            return re.compile(re.escape(self.text))
        return re.compile("".join({"*": "(.*)", "?": "(.)"}.get(c, re.escape(c)) for c in self.text), re.DOTALL)

    def matches(self, name: str) -> bool:
        return self._regex.fullmatch(name) is not None

    def wildcards(self, name: str) -> tuple[str, ...]:
        """Return what the wildcards stand for in a name that matches."""
        found = self._regex.fullmatch(name)
        return () if found is None else tuple(found.groups())


@dataclass(frozen=True)
class TablePattern:
    owner: NamePattern
    name: NamePattern

    @classmethod
    def parse(cls, text: str) -> TablePattern:
        """Read `owner.name`; a part that is not in double quotes becomes upper case. Raises ValueError."""
        parts = re.fullmatch(r'\s*("[^"]+"|[^".\s]+)\.("[^"]+"|[^".\s]+)\s*', text)
        if parts is None:
            raise ValueError(f"not OWNER.PATTERN: {text!r}")
        return cls(*map(_part, parts.groups()))

    def matches(self, table: TableId) -> bool:
        return self.owner.matches(table.owner) and self.name.matches(table.name)

    def wildcards(self, table: TableId) -> tuple[str, ...]:
        """Return what the wildcards stand for in a table that matches, the owner's first."""
        return (*self.owner.wildcards(table.owner), *self.name.wildcards(table.name))


def _part(text: str) -> NamePattern:
    if text.startswith('"'):
        return NamePattern(text[1:-1], is_literal=True)
    return NamePattern(upper_name(text), is_literal=not WILDCARD.search(text))


def is_pattern(text: str) -> bool:
    """Return whether an entry of `tables` is no single name: it has a wildcard outside of double quotes."""
    return WILDCARD.search(re.sub(r'"[^"]*"', "", text)) is not None
