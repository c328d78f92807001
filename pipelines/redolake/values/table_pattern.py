"""Patterns of table names, such as SHOP.* or SHOP.ORDER_?. `*` stands for any characters, `?` for one; a part between slashes
is a regular expression, as in SHOP./ORDERS_(?P<year>\\d{4})/."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from redolake.values.table import TableId, upper_name

WILDCARD = re.compile(r"[*?]")
PART = r'"[^"]+"|/[^/]+/|[^".\s]+'
NAMED_GROUP = re.compile(r"\(\?P<\w+>")
# What Python, Oracle and C++ read as the same expression, once groups have no names; in brackets a backslash is none.
COMMON = re.compile(r"(?:[A-Za-z0-9_#|()*+?.{},^-]|\\[dw$.]|\[\^?[A-Za-z0-9_#$-]+\])*")


@dataclass(frozen=True)
class NamePattern:
    """One part of a pattern. A part in double quotes is a name, in which `*` and `?` are plain characters. A regular expression
    is compared with the whole name, as the dictionary spells it."""

    text: str
    is_literal: bool
    is_regex: bool = False

    @property
    def expression(self) -> str:
        """Return the pattern as a regular expression without names of groups."""
        if self.is_literal:
            return re.escape(self.text)
        if self.is_regex:
            return NAMED_GROUP.sub("(", self.text)
        return "".join({"*": ".*", "?": "."}.get(c, re.escape(c)) for c in self.text)

    @property
    def is_common(self) -> bool:
        """Return whether Oracle can compare names with it: a regular expression may mean something else there."""
        if not self.is_regex:
            return True
        plain = self.expression.replace("(?:", "(")
        return not re.search(r"\(\?|\{,|[*+?}]\+", plain) and COMMON.fullmatch(plain) is not None

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        if self.is_literal:
            return re.compile(re.escape(self.text))
        if self.is_regex:
            return re.compile(self.text, re.DOTALL)
        return re.compile("".join({"*": "(.*)", "?": "(.)"}.get(c, re.escape(c)) for c in self.text), re.DOTALL)

    @property
    def groups(self) -> int:
        return self._regex.groups

    @property
    def names(self) -> tuple[str, ...]:
        """The names of groups."""
        return tuple(self._regex.groupindex)

    def matches(self, name: str) -> bool:
        return self._regex.fullmatch(name) is not None

    def wildcards(self, name: str) -> tuple[str, ...]:
        """Return what the wildcards or groups stand for in a name that matches."""
        found = self._regex.fullmatch(name)
        return () if found is None else tuple(group or "" for group in found.groups())

    def named(self, name: str) -> dict[str, str]:
        found = self._regex.fullmatch(name)
        return {} if found is None else {group: text or "" for group, text in found.groupdict().items()}


@dataclass(frozen=True)
class TablePattern:
    owner: NamePattern
    name: NamePattern

    @classmethod
    def parse(cls, text: str) -> TablePattern:
        """Read `owner.name`; a part that is neither in double quotes nor between slashes becomes upper case. Raises
        ValueError."""
        parts = re.fullmatch(rf"\s*({PART})\.({PART})\s*", text)
        if parts is None:
            raise ValueError(f"not OWNER.PATTERN: {text!r}")
        return cls(*map(_part, parts.groups()))

    def matches(self, table: TableId) -> bool:
        return self.owner.matches(table.owner) and self.name.matches(table.name)

    @property
    def groups(self) -> int:
        """How many wildcards and groups there are."""
        return self.owner.groups + self.name.groups

    @property
    def group_names(self) -> tuple[str, ...]:
        return (*self.owner.names, *self.name.names)

    def texts(self, table: TableId) -> dict[str, str]:
        """Return what the wildcards and groups stand for in a table that matches, by number, the owner's first, and by name."""
        found = (*self.owner.wildcards(table.owner), *self.name.wildcards(table.name))
        named = {**self.owner.named(table.owner), **self.name.named(table.name)}
        return {**{str(number): text for number, text in enumerate(found, 1)}, **named}


def _part(text: str) -> NamePattern:
    if text.startswith('"'):
        return NamePattern(text[1:-1], is_literal=True)
    if text.startswith("/") and text.endswith("/") and len(text) > 2:
        try:
            re.compile(text[1:-1])
        except re.error as error:
            raise ValueError(f"{text} is no regular expression: {error}") from None
        return NamePattern(text[1:-1], is_literal=False, is_regex=True)
    return NamePattern(upper_name(text), is_literal=not WILDCARD.search(text))


def is_pattern(text: str) -> bool:
    """Return whether an entry of `tables` is no single name: it has a wildcard, or a slash, outside of double quotes."""
    return re.search(r"[*?/]", re.sub(r'"[^"]*"', "", text)) is not None
