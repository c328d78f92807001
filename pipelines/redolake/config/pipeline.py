"""One pipeline: which of its settings count for each of its tables, and where they are."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import cached_property
from typing import Any, Self, TypeVar

from pydantic import model_validator

from redolake.config.mapping import column_name
from redolake.config.on_ddl import DdlPolicies
from redolake.config.pipeline_settings import PipelineSettings
from redolake.config.shared_settings import SharedSettings, setting_of
from redolake.config.tables import Match, Table, TableSettings
from redolake.host.paths import segment
from redolake.values.history import FOLDER
from redolake.values.lake_rules import CHANGE_FEED
from redolake.values.mapping import SecretName
from redolake.values.quarantine import FOLDER as QUARANTINE
from redolake.values.table import NOT_RENAMED, ColumnChoice, Renamed, TableId
from redolake.values.target_options import TargetOptions

Entry = TypeVar("Entry", bound=TableSettings)


class Pipeline(PipelineSettings):
    @model_validator(mode="after")
    def union_views_have_tables(self) -> Self:
        for name, view in self.union_views.items():
            if absent := [str(table) for table in view.named if table not in self.by_id and self.match_of(table) is None]:
                raise ValueError(f"`union_views`: {name} names {', '.join(absent)}, which is no table of the pipeline")
        return self

    @model_validator(mode="after")
    def masks_keep_keys_apart(self) -> Self:
        for own in self.entries:
            own.refuse_merged_keys(self.complete(own).masks)
        return self

    @cached_property
    def by_id(self) -> Mapping[TableId, Table]:
        return {table.id: table for table in self.tables}

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Copy, without the cached properties, which may differ in the copy."""
        copied = super().model_copy(update=update, deep=deep)
        copied.__dict__.pop("by_id", None)
        return copied

    def table(self, table: TableId) -> Table:
        """Return the table's settings. A name in `tables` comes before all patterns; of these the first that matches counts.
        Raises KeyError."""
        if table not in self.by_id and (match := self.match_of(table)) is not None:
            return match.table(table)
        return self.by_id[table]

    def lists(self, table: TableId) -> bool:
        """Return whether the table has settings, by its name or by a pattern."""
        return table in self.by_id or self.match_of(table) is not None

    def match_of(self, table: TableId) -> Match | None:
        """Return the first pattern that matches; None for a table that an exclusion matches, wherever it stands."""
        found = [match for match in self.matches if match.pattern.matches(table)]
        return None if any(match.excludes for match in found) else next(iter(found), None)

    def is_of_pattern(self, table: Table) -> bool:
        """Return whether a table has exactly the settings that a pattern gives it."""
        match = self.match_of(table.id)
        return match is not None and match.table(table.id, self.renamed.get(table.id)) == table

    @property
    def has_masks(self) -> bool:
        return any(one.mask for one in (self, *self.entries))

    @property
    def secrets(self) -> list[tuple[str, SecretName]]:
        """The places of all keys, each with its setting."""
        given = [("mask_key", self.mask_key), *(("mask_key", entry.mask_key) for entry in self.entries)]
        given += [("landing_key", self.landing_key), *(("old_landing_keys", key) for key in self.old_landing_keys)]
        return list(
            dict.fromkeys((setting, SecretName(one.connection, one.variable)) for setting, one in given if one is not None)
        )

    @property
    def key_connections(self) -> tuple[str, ...]:
        """The connections with keys of masks and of the landing."""
        return tuple(dict.fromkeys(secret.connection for _, secret in self.secrets if secret.connection is not None))

    @property
    def landing_secret(self) -> SecretName | None:
        """Where the key of the landing's files is; None where they are in clear text."""
        key = self.landing_key
        return None if key is None else SecretName(key.connection, key.variable)

    @property
    def entries(self) -> list[Table | Match]:
        """The entries of `tables`, patterns too."""
        return [*self.tables, *self.matches]

    @property
    def patterns(self) -> list[Match]:
        return [match for match in self.matches if not match.excludes]

    @property
    def settings_hash(self) -> str:
        """Return a hash that two hosts share if their files say the same. The ledger is left out, for Airflow puts the URL
        of its connection in; so are the tables that a pattern has matched."""
        body = self.model_dump(mode="json", exclude={"ledger", "tables", "matches"})
        entries = (*(table for table in self.tables if not self.is_of_pattern(table)), *self.matches)
        own = [self.complete(entry).model_dump(mode="json") for entry in entries]
        return hashlib.sha256(json.dumps([body, own], sort_keys=True).encode()).hexdigest()[:16]

    def with_matched(self, tables: Iterable[TableId], renamed: Renamed = NOT_RENAMED) -> Self:
        """Return the pipeline with these tables in `tables` as well, as far as a pattern matches them. `renamed` has the names
        in Oracle of those that have another one there."""
        found = {table: self.match_of(table) for table in sorted(tables) if table not in self.by_id}
        more = [match.table(table, renamed.get(table)) for table, match in found.items() if match is not None]
        return self.model_copy(update={"tables": [*self.tables, *more]})

    def ddl_policies(self, table: TableId) -> DdlPolicies:
        """Return the table's own policies, completed by the pipeline's; the pipeline's alone for a table that is not listed."""
        on_ddl = self.settings(table).on_ddl if self.lists(table) else self.on_ddl
        return DdlPolicies(**on_ddl.model_dump(), renamed_to=self.renamed.get(table))

    @property
    def renamed(self) -> Mapping[TableId, TableId]:
        """The names in Oracle of the tables that have another one than their entry."""
        return {table.id: table.in_oracle for table in self.tables if table.in_oracle != table.id}

    def quarantine_path(self, table: TableId, beside: str | None = None) -> str:
        """Return where the table's quarantine is, beside the tables of the lake, or beside copies in a folder."""
        name = segment(self.table(table).path.replace("/", "."), keep=".")
        return f"{(beside or self.lake).rstrip('/')}/{QUARANTINE}/{name}"

    @property
    def may_resnapshot(self) -> bool:
        """Return whether `on_ddl` lets some table be snapshotted again by itself."""
        settings = (self.on_ddl, *(entry.on_ddl for entry in self.entries))
        return any("resnapshot" in on.model_dump().values() for on in settings)

    def choice(self, table: TableId) -> ColumnChoice:
        """Return which of the table's columns are left out."""
        own = self.table(table)
        settings = self.complete(own)
        large_objects, unsupported = settings.large_objects, settings.unsupported_columns
        has_no_key = settings.key == "append" or (settings.key == "rowid" and large_objects == "redo")
        if has_no_key and "large_objects" not in own.model_fields_set:
            large_objects = "refuse"
        if settings.key == "append" and unsupported == "reread":
            unsupported = "refuse"
        return ColumnChoice(settings.exclude_columns, settings.include_columns, unsupported, large_objects)

    @property
    def landing_folder(self) -> str:
        """The folder of this pipeline; `land/layout.py` names what is in it."""
        return f"{self.landing.rstrip('/')}/{self.name}"

    def target(self, table: TableId) -> str:
        return f"{self.lake.rstrip('/')}/{self.table(table).path}"

    def history_target(self, table: TableId) -> str | None:
        """Return the folder of the table's history; None for a table without one."""
        if self.settings(table).history == "none":
            return None
        return f"{self.lake.rstrip('/')}/{FOLDER}/{self.table(table).path}"

    def target_options(self, table: TableId) -> TargetOptions:
        settings = self.settings(table)
        chosen: dict[str, Any] = {option.name: getattr(settings, option.name) for option in fields(TargetOptions)}
        properties = {**settings.properties, **(dict([CHANGE_FEED]) if settings.change_data_feed else {})}
        return TargetOptions(**{**chosen, "properties": tuple(properties.items())})

    def settings(self, table: TableId) -> Table:
        """Return the table's settings, completed by the pipeline's. Raises KeyError."""
        return self.complete(self.table(table))

    def complete(self, own: Entry) -> Entry:
        """Return an entry of `tables` with the pipeline's settings for what it does not say."""
        shared = {name: setting_of(own, self, name) for name in SharedSettings.model_fields}
        masks = own.masks
        others = {name: mask for name, mask in self.mask.items() if column_name(name) not in masks}
        return own.model_copy(update={**shared, "mask": {**own.mask, **others}})  # of masks the first pattern counts

    @property
    def ledger_url(self) -> str:
        """The SQLAlchemy URL; without `url` and `connection`, a SQLite file in the landing folder, which is local."""
        if self.ledger.url:
            return self.ledger.url
        # `unfit_place` refuses what would need quotes, which SQLAlchemy 2.0 takes for the path's own and 2.1 does not.
        return f"sqlite:///{self.landing.removeprefix('file://').rstrip('/')}/redolake-ledger.db"
