"""The settings of one captured table, or of all tables that a pattern matches."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Self

from pydantic import Field, field_validator, model_validator

from redolake.config.mapping import ColumnSetting, MaskSetting, TableShape, mask_for, of_column
from redolake.config.on_error import refuse_unsound
from redolake.config.shared_settings import SharedSettings
from redolake.config.values import ColumnNames, Key, Patterns
from redolake.host.paths import segment, unfit_target
from redolake.values.lake_rules import MERGING_RULES
from redolake.values.table import ColumnChoice, KeyPolicy, TableId
from redolake.values.table_pattern import TablePattern, is_pattern


class TableSettings(TableShape, SharedSettings):
    """The settings of one captured table, or of all tables that a pattern matches."""

    key: Key = Field(
        "primary",
        description="how rows are identified: `primary` (the primary key); the columns of a valid unique index, e.g. "
        "`[CODE, DAY]` (rows with a NULL there by all their columns); `rowid` (in Delta `_rowid`); "
        "`append` for a table that only gets INSERTs",
    )
    cluster_by: ColumnNames = Field((), description="columns of Delta's liquid clustering, by their names in Oracle")
    partition_by: ColumnNames = Field(
        (), description="columns to partition the Delta table by, by their names in Oracle; a change needs a new snapshot"
    )
    exclude_columns: Patterns = Field(
        (), description="columns to leave out, also those added later; `*` and `?` stand for any characters"
    )
    include_columns: Patterns = Field((), description="the only columns to capture, beside the key; default: all")

    @field_validator("columns")
    @classmethod
    def scale_fits(cls, value: dict[str, ColumnSetting]) -> dict[str, ColumnSetting]:
        for name, rule in value.items():
            if isinstance(rule, int) and not 0 <= rule <= 38:
                raise ValueError(f"{name}: a scale must be between 0 and 38")
        return value

    @model_validator(mode="after")
    def one_layout(self) -> Self:
        if self.cluster_by and self.partition_by:
            raise ValueError("give cluster_by or partition_by, not both: Delta clusters no partitioned table")
        return self

    @model_validator(mode="after")
    def history_is_possible(self) -> Self:
        """Refuse a history of what is not known at each change; doctor does where only the dictionary shows it."""
        if self.history == "none":
            return self
        again = [n for n in ("large_objects", "unsupported_columns") if getattr(self, n) in ("reread", "redo")]
        if again:
            raise ValueError(f"`history` needs the values of each change, and with `{again[0]}` some are not known: leave such "
                             "columns out (`exclude`), or do without `history`")  # fmt: skip
        if self.history == "scd2" and self.key == "append":
            raise ValueError("`history: scd2` has versions of rows, and `key: append` names none: use `history: changes`")
        return self

    @model_validator(mode="after")
    def quarantine_is_sound(self) -> Self:
        refuse_unsound(self.on_error, self.key, (self.large_objects, self.unsupported_columns))
        return self

    @model_validator(mode="after")
    def key_is_kept(self) -> Self:
        """Refuse to leave out a declared key; preflight does for a primary key, which only the dictionary shows."""
        choice = ColumnChoice(self.exclude_columns)
        gone = [name for name in self.key_policy.columns if choice.names(name)]
        for name in ("large_objects", "unsupported_columns"):
            if getattr(self, name) == "reread" and self.key == "append":
                raise ValueError(f"`{name}: reread` needs a key that finds a row again, and append is none")
        if self.large_objects == "redo" and self.key in ("append", "rowid"):
            raise ValueError(
                f"`large_objects: redo` needs a key that the redo of a large object contains, and {self.key} is none"
            )
        if gone:
            raise ValueError(f"`exclude_columns` names {', '.join(gone)}, which is part of the `key`: rows need their key")
        return self

    @model_validator(mode="after")
    def values_are_kept(self) -> Self:
        """Refuse a rule that makes one value of two where rows are found by the value; doctor does for a primary key."""
        for setting in ("key", "partition_by", "cluster_by"):
            names = self.key_policy.columns if setting == "key" else getattr(self, setting)
            for name in names:
                if (rule := of_column(self.rules, name)) in MERGING_RULES:
                    why = f"has the rule `{rule}`, after which two values may be one, and `{setting}` names it"
                    raise ValueError(f"{name} {why}: declare `string` or `binary`, or remove the rule")
        self.refuse_merged_keys(self.masks)
        return self

    def refuse_merged_keys(self, masks: Mapping[str, MaskSetting]) -> None:
        """Raise ValueError for a column of a declared key whose values in the lake would not keep two keys apart."""
        for name in self.key_policy.columns:
            what, shaped = f"{name} is part of the `key`, and two keys", self.shaped.get(name)
            if (mask := mask_for(masks, name)) not in (None, "hash"):
                raise ValueError(f"{what} become one by `mask: {mask}`: use `hash` for it")
            if shaped is not None and shaped.expression is not None and not shaped.injective:
                cure = "if no two can, say `injective: true` beside it; else add a column instead (`add`)"
                raise ValueError(f"{what} may become one by `{shaped.expression}`: {cure}")

    @property
    def key_policy(self) -> KeyPolicy:
        return KeyPolicy(self.key) if isinstance(self.key, str) else KeyPolicy("columns", self.key)


def default_path(table: TableId) -> str:
    """Return the folder of a table without `target`; its name cannot lead out of its owner's folder."""
    return "/".join(segment(name.lower()) for name in (table.owner, table.name))


class Table(TableSettings):
    """One captured table; a bare `OWNER.NAME` in the list is the same as `table: OWNER.NAME`."""

    table: str = Field(description="OWNER.NAME, upper case unless in double quotes")
    target: str | None = Field(
        None,
        description="path below `lake`; default: owner/name in lower case, where `~` and two hexadecimal digits stand "
        "for characters but letters, digits, `_`, `$`, `#`, `-` and blanks",
    )
    renamed_to: str | None = Field(
        None, description="OWNER.NAME in Oracle, after a RENAME; the entry, its history and its Delta table keep the first name"
    )

    @model_validator(mode="before")
    @classmethod
    def bare_name(cls, value: object) -> object:
        return {"table": value} if isinstance(value, str) else value

    @field_validator("table", "renamed_to")
    @classmethod
    def two_parts(cls, value: str | None) -> str | None:
        if value is not None:
            TableId.parse(value)
        return value

    @field_validator("target")
    @classmethod
    def below_the_lake(cls, value: str | None) -> str | None:
        if value is not None and (why := unfit_target(value)) is not None:
            raise ValueError(f"{value} {why}")
        return value

    @property
    def in_oracle(self) -> TableId:
        """The table's name in Oracle."""
        return self.id if self.renamed_to is None else TableId.parse(self.renamed_to)

    @cached_property
    def id(self) -> TableId:
        return TableId.parse(self.table)

    @property
    def path(self) -> str:
        """The folder below the lake."""
        return self.target or default_path(self.id)


class Match(TableSettings):
    """Tables by pattern. A bare `SHOP.*` in the list is the same as `match: SHOP.*`; `!SHOP.TMP_*` excludes what it matches."""

    match: str = Field(
        description="OWNER.PATTERN with `*` for any characters and `?` for one; a part between slashes is a regular "
        "expression of the whole name, e.g. `SHOP./ORDERS_(?P<year>\\d{4})/`; `!` in front excludes"
    )
    target: str | None = Field(
        None,
        description="path below `lake` of each matched table, with `{owner}` and `{table}` for its names in lower case, and "
        "`{1}`, `{2}` and so on for what the wildcards or groups stand for, or a group's name, e.g. `crm/{table}`",
    )

    @model_validator(mode="before")
    @classmethod
    def bare_pattern(cls, value: object) -> object:
        return {"match": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def parses(self) -> Match:
        if self.excludes and self.model_fields_set != {"match"}:
            raise ValueError(f"{self.match} excludes tables, so it takes no other settings")
        if self.pattern.owner.text in ("*", "?") or (self.pattern.owner.is_regex and self.pattern.owner.matches("SYS")):
            raise ValueError(f"{self.match} names no owner: the tables of Oracle's own users would match too")
        if taken := sorted({"owner", "table"} & set(self.pattern.group_names)):
            raise ValueError(f"{self.match}: a group cannot be called {' or '.join(taken)}, which is the table's own")
        if self.target is not None:
            check_template(self.target, self.pattern)
        return self

    @property
    def excludes(self) -> bool:
        return self.match.startswith("!")

    @cached_property
    def pattern(self) -> TablePattern:
        return TablePattern.parse(self.match.removeprefix("!"))

    def table(self, table: TableId, in_oracle: TableId | None = None) -> Table:
        """Return a matched table with the pattern's settings; `in_oracle` is the name that it was renamed to."""
        settings = {name: getattr(self, name) for name in self.model_fields_set - {"match", "target"}}
        target = None if self.target is None else fill_template(self.target, self.pattern, table)
        renamed = None if in_oracle is None else str(in_oracle)
        return Table(table=str(table), renamed_to=renamed, target=target, **settings)


PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


def check_template(target: str, pattern: TablePattern) -> None:
    """Raise ValueError for a template whose folders would not be below the lake, or that has an unknown placeholder."""
    known = names_in(pattern)
    for name in PLACEHOLDER.findall(target):
        if name not in known:
            raise ValueError(f"{target}: {{{name}}} is unknown; write {', '.join(f'{{{one}}}' for one in known)}")
    if not set(PLACEHOLDER.findall(target)) - {"owner"}:
        raise ValueError(f"{target}: all matched tables would have one folder; write {{table}} into it")
    if (why := unfit_target(PLACEHOLDER.sub("x", target))) is not None:
        raise ValueError(f"{target} {why}")


def fill_template(target: str, pattern: TablePattern, table: TableId) -> str:
    """Return the folder of a table that matches; its name cannot lead out of the folder in which it stands."""
    names = names_of(pattern, table)
    return PLACEHOLDER.sub(lambda found: segment(names[found[1]].lower()), target)


def names_in(pattern: TablePattern) -> list[str]:
    """Return what may stand between braces in a template."""
    return ["owner", "table", *map(str, range(1, pattern.groups + 1)), *pattern.group_names]


def names_of(pattern: TablePattern, table: TableId) -> dict[str, str]:
    """Return what a template's placeholders stand for in a table that matches."""
    return {"owner": table.owner, "table": table.name, **pattern.texts(table)}


def is_match(entry: object) -> bool:
    """Return whether an entry of `tables` is a pattern or an exclusion."""
    if isinstance(entry, dict):
        return "match" in entry
    return isinstance(entry, str) and (entry.startswith("!") or is_pattern(entry))
