"""The settings of one pipeline, and which of them count for each of its tables."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from pipelines.config.airflow_settings import AirflowSettings
from pipelines.config.keep import KeepSettings, OptimizeSettings
from pipelines.config.mapping import KeySource, ShapeSettings
from pipelines.config.on_error import OnError, QuarantineLimit
from pipelines.config.proof_settings import VerifySettings
from pipelines.config.resnapshot import ResnapshotLimits
from pipelines.config.snapshot import SnapshotSettings
from pipelines.config.tables import Match, OnDdl, Table, TableSettings, is_match
from pipelines.config.union_views import UnionView, checked_names
from pipelines.config.values import Bytes, InvalidText, Properties, Settings, UnsupportedColumns
from pipelines.host.filesystem import CREATES_ONCE, protocol_of
from pipelines.host.paths import find_crowded, segment, unfit_place
from pipelines.host.spark_settings import AS_WRITTEN, EXACT, default_property
from pipelines.values.ddl_policies import DdlPolicies
from pipelines.values.history import FOLDER, HistoryKind
from pipelines.values.mapping import SecretName
from pipelines.values.quarantine import FOLDER as QUARANTINE
from pipelines.values.table import NOT_RENAMED, ColumnChoice, LargeObjects, Renamed, TableId
from pipelines.values.target_options import Deletes, MetadataName, Names, Readers, TargetOptions, why_refused


def host_and_port(value: str) -> str:
    host, _, port = value.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError(f"{value!r} is not host:port")
    return value


class RedoStream(Settings):
    thread: int = Field(ge=1, description="the redo thread whose logs this OpenLogReplicator reads")
    address: Annotated[str, AfterValidator(host_and_port)] = Field(description="`host:port` of its network writer")


class SourceSettings(Settings):
    kind: Literal["logminer", "openlogreplicator"] = Field(
        "logminer",
        description="who reads the redo: `logminer` in the database, or an `openlogreplicator` that runs beside it and sends "
        "committed transactions; Oracle is still read for snapshots, the dictionary and `verify`",
    )
    address: str | None = Field(None, description="`host:port` of OpenLogReplicator's network writer")
    streams: list[RedoStream] = Field(
        default_factory=list,
        description="RAC: an OpenLogReplicator per redo thread, each with `thread` and `address`, instead of one `address`",
    )
    database: str | None = Field(None, description="`name` and `alias` of the source in OpenLogReplicator.json")
    silent_seconds: float = Field(
        60, gt=0, description="how long OpenLogReplicator may send nothing, not even checkpoints, before it counts as gone"
    )
    connection: str | None = Field(
        None,
        validate_default=True,
        description="Airflow connection id; outside Airflow, AIRFLOW_CONN_<ID> is read. With `openlogreplicator` it may be "
        "left out once a window has landed: what only the database proves is then said, and proved when it is named again",
    )
    container: str | None = Field(None, description="PDB that owns the tables; omit for a non-CDB")
    dictionary: Literal["online", "redo"] = Field(
        "online",
        description="where LogMiner takes names from: the `online` catalogue, or a dictionary that DBMS_LOGMNR_D.BUILD has "
        "written into the `redo`: each session then reads all redo since the last BUILD",
    )
    fetch_rows: int = Field(10_000, ge=100, le=1_000_000, description="rows per Arrow batch from the driver")
    call_timeout_seconds: int = Field(1800, ge=1, description="longest single round trip to the database")

    @field_validator("address")
    @classmethod
    def address_has_a_port(cls, value: str | None) -> str | None:
        return None if value is None else host_and_port(value)

    @field_validator("connection")
    @classmethod
    def database_is_asked(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is None and info.data.get("kind") == "logminer":
            raise PydanticCustomError("missing", "LogMiner runs in the database")
        if value is None and info.data.get("streams"):
            raise ValueError("with several streams it is needed: tables are compared with the dictionary at each window")
        return value

    @field_validator("streams")
    @classmethod
    def streams_differ(cls, value: list[RedoStream]) -> list[RedoStream]:
        for name in ("thread", "address"):
            given = [getattr(one, name) for one in value]
            twice = next((one for one in given if given.count(one) > 1), None)
            if twice is not None:
                raise ValueError(f"{name} {twice} is listed twice: each redo thread has an OpenLogReplicator of its own")
        return value

    @model_validator(mode="after")
    def stream_is_complete(self) -> SourceSettings:
        given = [name for name in ("address", "streams", "database") if getattr(self, name)]
        if self.kind == "logminer" and given:
            raise ValueError(f"{', '.join(given)}: only with `kind: openlogreplicator`")
        if self.address and self.streams:
            raise ValueError("give `address` or `streams`, not both")
        if self.kind == "openlogreplicator" and len(given) < 2:
            raise ValueError("`kind: openlogreplicator` needs `address` and `database`, or `streams` and `database`")
        if self.kind == "openlogreplicator" and self.dictionary != "online":
            raise ValueError("`dictionary` is LogMiner's: OpenLogReplicator has a dictionary of its own")
        return self

    @property
    def is_stream(self) -> bool:
        """Return whether committed transactions are received, and no logs are mined."""
        return self.kind == "openlogreplicator"


class WindowLimits(Settings):
    max_bytes: Bytes = Field(2 * 2**30, description="redo per window, all threads together; a window has at least one log")
    slice_bytes: Bytes = Field(512 * 2**20, description="redo per LogMiner session; a session has at least one log")


class BatchLimits(Settings):
    max_rows: int = Field(
        10_000_000,
        ge=1,
        description="a batch ends with the window in which its change rows reach this number, so that a long backlog becomes "
        "visible in parts; the catch-up of a resumed table is always one batch",
    )


class RunwayLimits(Settings):
    warn_below_hours: float = Field(12, ge=0, description="warn when needed logs may be deleted within this many hours")
    warn_below_bytes: Bytes | None = Field(None, description="the same in bytes of redo, all redo threads together")


class LedgerSettings(Settings):
    url: str | None = Field(None, repr=False, description="SQLAlchemy URL; default: a SQLite file in a local landing folder")
    connection: str | None = Field(None, description="Airflow connection id of a PostgreSQL database")

    @model_validator(mode="after")
    def one_of_both(self) -> LedgerSettings:
        if self.url and self.connection:
            raise ValueError("give url or connection, not both")
        if self.url and re.match(r"sqlite(\+\w+)?:///(?!/)", self.url):
            raise ValueError(
                f"{self.url} is not absolute: each process would make a ledger below its own working folder; "
                "write sqlite:////path/file.db"
            )
        return self


class SparkSettings(Settings):
    mode: Literal["submit", "connect"] = Field(
        "submit", description="`submit`: spark-submit per batch; `connect`: a running Spark Connect server"
    )
    connection: str = Field("spark_default", description="Airflow connection id of the cluster or the Connect server")
    master: str = Field("local[2]", description="for `redolake run` and `verify` in one process")
    conf: dict[str, str] = Field(
        default_factory=dict,
        repr=False,
        description=f"more Spark settings, passed on unchanged; not {' or '.join(AS_WRITTEN)}, nor what would change values",
    )
    parallel_tables: int = Field(
        2,
        ge=1,
        le=64,
        description="tables of a batch that are merged side by side; more of them help where the driver has more cores",
    )

    @field_validator("conf")
    @classmethod
    def names_are_read_as_written(cls, value: dict[str, str]) -> dict[str, str]:
        for name in AS_WRITTEN.keys() & value.keys():
            if value[name].strip().lower() != AS_WRITTEN[name]:
                raise ValueError(
                    f"{name} stays {AS_WRITTEN[name]}: with it, names and DEFAULTs of the source could read the environment of "
                    "Spark's driver, or end their own text"
                )
        return value

    @field_validator("conf")
    @classmethod
    def values_stay_as_they_are(cls, value: dict[str, str]) -> dict[str, str]:
        for name in sorted(value):
            if name in EXACT and value[name].strip().lower() != EXACT[name].lower():
                raise ValueError(f"{name} stays {EXACT[name]}: otherwise Spark would change values, or leave out rows")
            given = default_property(name)
            if given is not None and (reason := why_refused(given)) is not None:
                raise ValueError(f"{name}: new tables do not get {given}: {reason}")
        return value


class Retry(Settings):
    attempts: int = Field(5, ge=1, le=100, description="attempts of a step that fails with a transient error")
    initial_seconds: float = Field(1.0, gt=0, description="first pause between attempts; each further one is twice as long")
    max_seconds: float = Field(60.0, gt=0, description="longest pause between attempts")


def is_local(location: str) -> bool:
    """Return whether a folder of the settings is a path of this host, as opposed to a URL such as s3://bucket/folder."""
    return "://" not in location or location.startswith("file://")


class Pipeline(ShapeSettings):
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
        description="how long a run waits for a log that is due before it fails with LogOverdue; the next run keeps waiting",
    )
    wait_max_pause_seconds: float = Field(
        30, gt=0, description="longest pause between two checks while waiting for a log; they grow from 1 s"
    )
    lease_wait_minutes: float = Field(
        60, ge=0, description="how long a step waits while another run writes the same tables, before it fails with LeaseHeld"
    )
    show_row_data: bool = Field(
        False, description="let errors and logs contain the redo text of rows that cannot be decoded, not only their keys"
    )
    on_ddl: OnDdl = OnDdl()
    on_error: OnError = OnError()
    resnapshot: ResnapshotLimits = ResnapshotLimits()
    keep: KeepSettings = KeepSettings()
    optimize: OptimizeSettings = OptimizeSettings()
    snapshot: SnapshotSettings = SnapshotSettings()
    verify: VerifySettings = VerifySettings()
    unsupported_columns: UnsupportedColumns = Field(
        "refuse",
        description="tables with a column of a type that the redo does not show: `refuse` them, `exclude` the column, or "
        "`reread` each changed row whole from the table (XMLTYPE, JSON, LONG, LONG RAW, VECTOR, BOOLEAN, UROWID, object types, "
        "VARRAY)",
    )
    readers: Readers = Field(
        "spark",
        description="`spark`: a Delta feature is enabled when a table first needs it (deletion vectors for MERGE into a large "
        "table, column mapping for a renamed or dropped column, type widening for a wider type); `any`: none of these, so "
        "that delta-rs, Polars and others open the table, and such a change writes the table again",
    )
    large_objects: LargeObjects = Field(
        "refuse",
        description="CLOB, NCLOB and BLOB columns: `refuse` their tables, `reread` their values from the table after each "
        "change, assemble them from the `redo` alone, XMLTYPE too, or `exclude` the columns",
    )
    invalid_text: InvalidText = Field(
        "hold",
        description="text with bytes that are no characters of its character set, as old clients store it: `hold` the table; "
        "`replace` them (surrogate pairs of CESU-8 by the character that they mean, others by U+FFFD); or store the columns as "
        "`binary`, VARCHAR2 and CHAR only. It is not for columns of the key, nor for those with a rule of their own",
    )
    column_names: Names = Field("as_is", description="column names in the lake: as in Oracle, or in lower case")
    metadata_columns: tuple[MetadataName, ...] = Field(
        ("_commit_scn",),
        description="Redolake's columns, after all others: of the transaction that changed the row last `_commit_scn`, "
        "`_commit_time` (the database's clock), `_xid` and `_redo_thread`, and `_op` (load, insert, update, delete)",
    )
    deletes: Deletes = Field(
        "remove", description="deleted rows: `remove` them from the lake, or `mark` them in the column `_deleted`"
    )
    history: HistoryKind = Field(
        "none",
        description="a second Delta table below `lake`, in `_history`, with every change of each row, before and after: "
        "`changes`; `scd2` promises versions of rows with their validity as well, which `redolake views` makes of it",
    )
    change_data_feed: bool = Field(False, description="Delta's change data feed")
    properties: Properties = Field(default_factory=dict, description="more table properties of Delta")
    mask_key: KeySource | None = Field(
        None, description="where the key of `hash` masks is: `connection` (an Airflow connection's password) or `variable`"
    )
    masked_in_landing: Literal["clear", "refuse"] = Field(
        "clear",
        description="the clear text of masked columns is in the landing, as the redo has it: `clear` allows that; `refuse` "
        "refuses masks unless `landing_key` encrypts the landing",
    )
    landing_key: KeySource | None = Field(
        None,
        description="encrypt the landing's files of rows (Parquet modular encryption) with a key: `connection` (an Airflow "
        "connection's password) or `variable`",
    )
    old_landing_keys: list[KeySource] = Field(
        default_factory=list, description="where the keys are of files that were encrypted before `landing_key` was changed"
    )
    new_tables: Literal["announce", "capture"] = Field(
        "announce",
        description="a table that a pattern matches and that was created later: name it in `status` and in the log, or "
        "capture it too, from its own snapshot on",
    )
    union_views: Annotated[dict[str, UnionView], AfterValidator(checked_names)] = Field(
        default_factory=dict,
        description="views over several tables with the same columns, such as the shards of one table, by `schema.name`; "
        "`redolake views` writes them",
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
    def captures_some(self) -> Pipeline:
        if not self.tables and all(match.excludes for match in self.matches):
            raise ValueError("`tables` is empty: list at least one table or pattern")
        return self

    @model_validator(mode="after")
    def stream_has_what_tables_need(self) -> Pipeline:
        """Refuse what is not proved to work with OpenLogReplicator."""
        if not self.source.is_stream:
            return self
        if self.source.connection is None and self.verify_schedule is not None:
            raise ValueError("`verify_schedule` needs `connection` below `source`: tables are compared with Oracle's rows")
        settings: list[tuple[str | None, str | None]] = [(self.large_objects, self.unsupported_columns)]
        settings += [(table.large_objects, table.unsupported_columns) for table in self.tables]
        settings += [(match.large_objects, match.unsupported_columns) for match in self.matches]
        if any(objects in ("reread", "redo") or other == "reread" for objects, other in settings):
            raise ValueError(
                "with `kind: openlogreplicator`, neither `large_objects` nor `unsupported_columns` reads values again"
            )
        return self

    @model_validator(mode="after")
    def tables_are_distinct(self) -> Pipeline:
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

    @model_validator(mode="after")
    def union_views_have_tables(self) -> Self:
        for name, view in self.union_views.items():
            if absent := [str(table) for table in view.named if table not in self.by_id and self.match_of(table) is None]:
                raise ValueError(f"`union_views`: {name} names {', '.join(absent)}, which is no table of the pipeline")
        return self

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
    def ledger_is_where_the_landing_is(self) -> Pipeline:
        """Refuse the default ledger beside a landing that several hosts reach: each host would make a SQLite file of its own,
        with its own leases, so that two hosts could write one table at once."""
        if not (is_local(self.landing) or self.ledger.url or self.ledger.connection):
            raise ValueError(
                f"`landing` is {self.landing}, which several hosts can reach, and the ledger would be a SQLite file on each "
                "host: set `ledger.connection` or `ledger.url` to a PostgreSQL database"
            )
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
    def key_connections(self) -> tuple[str, ...]:
        """The connections with keys of masks and of the landing."""
        of_masks = (self.mask_key, *(entry.mask_key for entry in self.entries))
        named = (one.connection for one in (*of_masks, self.landing_key, *self.old_landing_keys) if one is not None)
        return tuple(dict.fromkeys(name for name in named if name is not None))

    @property
    def landing_secret(self) -> SecretName | None:
        """Where the key of the landing's files is; None where they are in clear text."""
        key = self.landing_key
        return None if key is None else SecretName(key.connection, key.variable)

    @property
    def entries(self) -> list[TableSettings]:
        """The entries of `tables`, patterns too."""
        return [*self.tables, *self.matches]

    @property
    def patterns(self) -> list[Match]:
        return [match for match in self.matches if not match.excludes]

    @property
    def settings_hash(self) -> str:
        """Return a hash that two hosts share if their files say the same. The ledger is left out, for Airflow puts the URL
        of its connection in; so are the tables that a pattern has matched."""
        body = self.model_dump(mode="json", exclude={"ledger", "tables"})
        own = [table.model_dump(mode="json") for table in self.tables if not self.is_of_pattern(table)]
        return hashlib.sha256(json.dumps([body, own], sort_keys=True).encode()).hexdigest()[:16]

    def with_matched(self, tables: Iterable[TableId], renamed: Renamed = NOT_RENAMED) -> Self:
        """Return the pipeline with these tables in `tables` as well, as far as a pattern matches them. `renamed` has the names
        in Oracle of those that have another one there."""
        found = {table: self.match_of(table) for table in sorted(tables) if table not in self.by_id}
        more = [match.table(table, renamed.get(table)) for table, match in found.items() if match is not None]
        return self.model_copy(update={"tables": [*self.tables, *more]})

    def ddl_policies(self, table: TableId) -> DdlPolicies:
        """Return the table's own policies, completed by the pipeline's; the pipeline's alone for a table that is not listed."""
        own = self.table(table).on_ddl.model_dump(exclude_unset=True) if self.lists(table) else {}
        policies = {**self.on_ddl.model_dump(), **own}
        return DdlPolicies(**policies, renamed_to=self.renamed.get(table))

    @property
    def renamed(self) -> Mapping[TableId, TableId]:
        """The names in Oracle of the tables that have another one than their entry."""
        return {table.id: table.in_oracle for table in self.tables if table.in_oracle != table.id}

    def error_policies(self, table: TableId) -> OnError:
        """Return the table's own policies, completed by the pipeline's."""
        own = self.table(table).on_error
        limit = {**self.on_error.at_most.model_dump(), **own.at_most.model_dump(exclude_unset=True)}
        policies = {**self.on_error.model_dump(), **own.model_dump(exclude_unset=True)}
        return OnError(**{**policies, "at_most": QuarantineLimit(**limit)})

    def quarantine_path(self, table: TableId) -> str:
        """Return where the table's quarantine is, beside the tables of the lake."""
        return f"{self.lake.rstrip('/')}/{QUARANTINE}/{segment(self.table(table).path.replace('/', '.'), keep='.')}"

    def resnapshot_limits(self, table: TableId) -> ResnapshotLimits:
        """Return the table's own limits, completed by the pipeline's."""
        own = self.table(table).resnapshot.model_dump(exclude_unset=True)
        return ResnapshotLimits(**{**self.resnapshot.model_dump(), **own})

    def snapshot_settings(self, table: TableId) -> SnapshotSettings:
        """Return the table's own settings, completed by the pipeline's."""
        own = self.table(table).snapshot.model_dump(exclude_unset=True)
        return SnapshotSettings(**{**self.snapshot.model_dump(), **own})

    @property
    def may_resnapshot(self) -> bool:
        """Return whether `on_ddl` lets some table be snapshotted again by itself."""
        settings = (self.on_ddl, *(entry.on_ddl for entry in (*self.tables, *self.matches)))
        return any("resnapshot" in on.model_dump().values() for on in settings)

    def choice(self, table: TableId) -> ColumnChoice:
        """Return which of the table's columns are left out."""
        own = self.table(table)
        has_no_key = own.key == "append" or (own.key == "rowid" and self.large_objects == "redo")
        large_objects = own.large_objects or ("refuse" if has_no_key else self.large_objects)
        unsupported = self.unsupported_columns
        if own.key == "append" and unsupported == "reread":
            unsupported = "refuse"
        return ColumnChoice(own.exclude_columns, own.include_columns, own.unsupported_columns or unsupported, large_objects)

    def invalid_text_of(self, table: TableId) -> InvalidText:
        return self.table(table).invalid_text or self.invalid_text

    @property
    def landing_folder(self) -> str:
        """The folder of this pipeline; `land/layout.py` names what is in it."""
        return f"{self.landing.rstrip('/')}/{self.name}"

    def target(self, table: TableId) -> str:
        return f"{self.lake.rstrip('/')}/{self.table(table).path}"

    def history_kind(self, table: TableId) -> HistoryKind:
        return self.table(table).history or self.history

    def history_target(self, table: TableId) -> str | None:
        """Return the folder of the table's history; None for a table without one."""
        if self.history_kind(table) == "none":
            return None
        return f"{self.lake.rstrip('/')}/{FOLDER}/{self.table(table).path}"

    def target_options(self, table: TableId) -> TargetOptions:
        own = self.table(table)
        feed = self.change_data_feed if own.change_data_feed is None else own.change_data_feed
        properties = {**self.properties, **own.properties, **({"delta.enableChangeDataFeed": "true"} if feed else {})}
        return TargetOptions(
            readers=own.readers or self.readers,
            column_names=own.column_names or self.column_names,
            metadata_columns=self.metadata_columns if own.metadata_columns is None else own.metadata_columns,
            deletes=own.deletes or self.deletes,
            properties=tuple(properties.items()),
            cluster_by=own.cluster_by,
            partition_by=own.partition_by,
        )

    def shape(self, table: TableId) -> TableSettings:
        """Return the table's settings; `rename`, `add` and `mask` completed by the pipeline's."""
        own = self.table(table)
        both = {name: {**getattr(self, name), **getattr(own, name)} for name in ("rename", "add", "mask")}
        return own.model_copy(update={**both, "mask_key": own.mask_key or self.mask_key})

    @property
    def ledger_url(self) -> str:
        """The SQLAlchemy URL; without `url` and `connection`, a SQLite file in the landing folder, which is local."""
        if self.ledger.url:
            return self.ledger.url
        # `unfit_place` refuses what would need quotes, which SQLAlchemy 2.0 takes for the path's own and 2.1 does not.
        return f"sqlite:///{self.landing.removeprefix('file://').rstrip('/')}/redolake-ledger.db"


class Configuration(Settings):
    pipelines: dict[str, Pipeline] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def take_name_from_key(cls, value: Any) -> Any:
        if isinstance(value, dict) and isinstance(value.get("pipelines"), dict):
            for name, body in value["pipelines"].items():
                if isinstance(body, dict) and body.setdefault("name", name) != name:
                    raise ValueError(f"{name}: `name` says {body['name']!r}; remove it, the key is the pipeline's name")
        return value

    @field_validator("pipelines")
    @classmethod
    def names_fit_dag_ids(cls, value: dict[str, Pipeline]) -> dict[str, Pipeline]:
        for name in value:
            if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,99}", name):
                raise ValueError(f"{name!r}: a pipeline's name must begin with a letter and contain only letters, digits and _")
        return value

    @model_validator(mode="after")
    def targets_are_separate(self) -> Configuration:
        """Refuse a folder inside another's: VACUUM removes files below the folder that its table does not own. Tables of
        patterns are not known yet."""
        folders = [(p.landing_folder, f"the landing of {p.name}") for p in self.pipelines.values()]
        folders += [(p.target(t.id), f"{p.name}: {t.id}") for p in self.pipelines.values() for t in p.tables]
        places = {of: folder for folder, of in folders}
        for inner, outer in find_crowded(folders).items():
            raise ValueError(f"{places[inner]} would be written by {outer} and {inner}; give each its own folder; "
                             "`union_views` makes several tables one for readers")  # fmt: skip
        return self
