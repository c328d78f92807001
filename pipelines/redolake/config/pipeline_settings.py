"""The settings of one pipeline as the file has them, and what must fit together among them."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from redolake.config.airflow_settings import AirflowSettings
from redolake.config.keep import KeepSettings, OptimizeSettings
from redolake.config.ledger import LedgerSettings, is_local
from redolake.config.limits import BatchLimits, Retry, RunwayLimits, WindowLimits
from redolake.config.mapping import KeySource
from redolake.config.proof_settings import VerifySettings
from redolake.config.shared_settings import SharedSettings
from redolake.config.source import SourceSettings
from redolake.config.spark import SparkSettings
from redolake.config.tables import Match, Table, is_match
from redolake.config.union_views import UnionView, checked_names
from redolake.host.filesystem import CREATES_ONCE, protocol_of
from redolake.host.paths import unfit_place
from redolake.values.table import TableId


class PipelineSettings(SharedSettings):
    name: str = ""
    source: SourceSettings
    landing: str = Field(description="folder or URL (s3://, abfss://, gs://) for landed redo")
    lake: str = Field(description="folder or URL for the Delta tables")
    ledger: LedgerSettings = LedgerSettings()
    schedule: str | None = Field("*/5 * * * *", description="cron, `every 30s`, @continuous, or null for manual runs")
    verify_schedule: str | None = Field(None, description="cron or preset for `<name>_verify`, or null for manual runs")
    maintain_schedule: str | None = Field(None, description="cron or preset for `<name>_maintain`, or null for manual runs")
    window: WindowLimits = WindowLimits()
    batch: BatchLimits = BatchLimits()
    runway: RunwayLimits = RunwayLimits()
    spark: SparkSettings = SparkSettings()
    airflow: AirflowSettings = AirflowSettings()
    retry: Retry = Retry()
    parallel_sessions: int = Field(
        4,
        ge=1,
        le=64,
        description="sessions that read from Oracle side by side: slices that are mined, or tables of a snapshot",
    )
    wait_max_minutes: float = Field(
        30,
        gt=0,
        description="how long a run waits for a log that is due; then it fails with LogOverdue, and the next run waits",
    )
    wait_max_pause_seconds: float = Field(
        30, gt=0, description="longest pause between two checks while waiting for a log; they grow from 1 s"
    )
    lease_wait_minutes: float = Field(
        60, ge=0, description="how long a step waits while another run writes the same tables, before it fails with LeaseHeld"
    )
    show_row_data: bool = Field(
        False, description="let errors and logs contain the redo text of rows that cannot be decoded, beside their keys"
    )
    keep: KeepSettings = KeepSettings()
    optimize: OptimizeSettings = OptimizeSettings()
    verify: VerifySettings = VerifySettings()
    masked_in_landing: Literal["clear", "refuse"] = Field(
        "clear",
        description="the landing has the clear text of masked columns, as the redo does: allow that (`clear`), or "
        "`refuse` masks unless `landing_key` encrypts it",
    )
    landing_key: KeySource | None = Field(
        None,
        description="encrypt the landing's files of rows (Parquet modular encryption): `connection` (an Airflow "
        "connection's password) or `variable` has the key",
    )
    old_landing_keys: list[KeySource] = Field(
        default_factory=list, description="where the keys are of files that were encrypted before `landing_key` was changed"
    )
    new_tables: Literal["announce", "capture"] = Field(
        "announce",
        description="a later table that a pattern matches: name it in `status` and the log, or capture it too, from "
        "its own snapshot on",
    )
    union_views: Annotated[dict[str, UnionView], AfterValidator(checked_names)] = Field(
        default_factory=dict,
        description="views over tables with the same columns, such as shards, by `schema.name`; `redolake views` writes them",
    )
    allowed_folders: list[str] = Field(
        default_factory=list,
        description="folders or URLs below which a form or an option may name a folder to write to (`--folder`, "
        "`--to`; the lake too), or with logs to read (`--logs`)",
    )
    tables: list[Table] = Field(default_factory=list)
    matches: list[Match] = Field(default_factory=list)  # the patterns and exclusions of `tables`, in their order

    @model_validator(mode="before")
    @classmethod
    def patterns_apart(cls, value: object) -> object:
        if not isinstance(value, dict) or not isinstance(value.get("tables"), list):
            return value
        if value.get("matches"):
            raise ValueError("`matches` is no setting: write patterns into `tables`")
        entries = value["tables"]
        single, several = ([e for e in entries if is_match(e) is wanted] for wanted in (False, True))
        return {**value, "tables": single, **({"matches": several} if several else {})}

    @model_validator(mode="after")
    def captures_some(self) -> Self:
        if not self.tables and all(match.excludes for match in self.matches):
            raise ValueError("`tables` is empty: list at least one table or pattern")
        return self

    @model_validator(mode="after")
    def stream_has_what_tables_need(self) -> Self:
        """Refuse what is not proved to work with OpenLogReplicator."""
        if not self.source.is_stream:
            return self
        if self.source.connection is None and self.verify_schedule is not None:
            raise ValueError("`verify_schedule` needs `connection` below `source`: tables are compared with Oracle's rows")
        all_settings: tuple[SharedSettings, ...] = (self, *self.tables, *self.matches)
        if any(one.large_objects in ("reread", "redo") or one.unsupported_columns == "reread" for one in all_settings):
            raise ValueError(
                "with `kind: openlogreplicator`, neither `large_objects` nor `unsupported_columns` reads values again"
            )
        return self

    @model_validator(mode="after")
    def tables_are_distinct(self) -> Self:
        seen: set[TableId] = set()
        for table in self.tables:
            if table.id in seen:
                raise ValueError(f"{table.id} is listed twice in `tables`")
            seen.add(table.id)
        names = [table.in_oracle for table in self.tables]
        twice = sorted({str(name) for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"{', '.join(twice)} is the name of two tables: one of them was renamed, so give it `renamed_to`")
        return self

    @field_validator("allowed_folders")
    @classmethod
    def are_places(cls, value: list[str]) -> list[str]:
        return [cls.is_one_place_for_all(place) for place in value]

    @field_validator("landing", "lake")
    @classmethod
    def is_one_place_for_all(cls, value: str) -> str:
        """Refuse what this process, Spark and a worker of Airflow would not all read as the same folder."""
        if (why := unfit_place(value)) is not None:
            raise ValueError(f"{value} {why}")
        return value

    @field_validator("landing")
    @classmethod
    def landing_keeps_two_writers_apart(cls, value: str) -> str:
        """Refuse a file system on which two writers can both create one file: each would take the same place in the chain."""
        if protocol_of(value) not in CREATES_ONCE:
            raise ValueError(
                f"{value}: of two writers of one file there, both can succeed; use a folder (for HDFS a mount of it), s3://, "
                "gs:// or abfss://"
            )
        return value

    @model_validator(mode="after")
    def ledger_is_where_the_landing_is(self) -> Self:
        """Refuse the default ledger beside a landing that several hosts reach: each host would make a SQLite file of its own,
        with its own leases, so that two hosts could write one table at once."""
        if not (is_local(self.landing) or self.ledger.url or self.ledger.connection):
            raise ValueError(
                f"`landing` is {self.landing}, which several hosts can reach, and the ledger would be a SQLite file on each "
                "host: set `ledger.connection` or `ledger.url` to a PostgreSQL database"
            )
        return self
