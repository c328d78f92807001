"""Views over several tables of the lake that have the same columns, such as the shards of one table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator

from redolake.config.mapping import LakeName
from redolake.config.tables import PLACEHOLDER, is_match, names_in, names_of
from redolake.config.values import Settings
from redolake.values.table import TableId
from redolake.values.table_pattern import TablePattern

VIEW_NAME = re.compile(r"[a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*")


def as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


class UnionView(Settings):
    """One view over several tables: UNION ALL, with a column that says which table a row is of."""

    tables: Annotated[tuple[str, ...], BeforeValidator(as_list)] = Field(
        min_length=1, description="names of captured tables, or patterns as in `tables`: those captured tables that match"
    )
    discriminator: LakeName = Field(
        description="the column that says which table a row is of; the view's key with the tables' key"
    )
    value: str = Field(
        "{owner}.{table}",
        description="what is in it: a text with `{owner}` and `{table}`, and for patterns `{1}`, `{2}` and so on, or the "
        "name of a group, as in `target`",
    )

    @model_validator(mode="after")
    def parses(self) -> Self:
        for text in self.tables:
            if text.startswith("!"):
                raise ValueError(f"{text}: a view has no exclusions; name the tables, or write a narrower pattern")
            known = names_in(pattern_of(text))
            for name in PLACEHOLDER.findall(self.value):
                if name not in known:
                    listed = ", ".join(f"{{{one}}}" for one in known)
                    raise ValueError(f"{self.value}: {{{name}}} is unknown for {text}; write {listed}")
        return self

    @property
    def named(self) -> tuple[TableId, ...]:
        """The tables that are named, not matched."""
        return tuple(TableId.parse(text) for text in self.tables if not is_match(text))

    def values(self, captured: Iterable[TableId]) -> Mapping[TableId, str]:
        """Return the tables that are meant, and what the discriminator is of each. The first entry that matches counts."""
        found = dict[TableId, str]()
        for table in captured:
            pattern = next((one for one in map(pattern_of, self.tables) if one.matches(table)), None)
            if pattern is not None:
                texts = names_of(pattern, table)
                found[table] = PLACEHOLDER.sub(lambda at, texts=texts: texts[at[1]], self.value)  # type: ignore[misc]
        return found


def pattern_of(text: str) -> TablePattern:
    """Return the pattern of an entry; a single name is one that matches itself."""
    return TablePattern.parse(text)


def checked_names(views: Mapping[str, UnionView]) -> Mapping[str, UnionView]:
    for name in views:
        if not VIEW_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a view: write schema.name, in lower case")
    return views
