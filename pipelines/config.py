"""The settings of `pipelines.yml`: parsed and checked completely, all findings at once, before anything starts.

The file contains no secrets: `source.connection` and `ledger.connection` name Airflow connections (or their environment
variables), and `${NAME}` in any text is replaced from the environment.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Mapping
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from pipelines.config_findings import findings_of_errors
from pipelines.ddl_policies import DdlPolicies
from pipelines.errors import ConfigurationError, Finding
from pipelines.table import ColumnChoice, KeyPolicy, LargeObjects, TableId, upper_name
from pipelines.table_pattern import TablePattern, is_pattern
from pipelines.target_options import Deletes, MetadataName, Names, Readers, TargetOptions

CONFIG_VARIABLE = "REDOLAKE_CONFIG"
DEFAULT_FILE = "pipelines.yml"
UNITS = {"": 1, "B": 1, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "KB": 10**3, "MB": 10**6, "GB": 10**9}


def parse_bytes(value: object) -> object:
    """Return the bytes of a size such as `512MiB` or `1 GB`; pass other values on to the model's own check."""
    if isinstance(value, str):
        match = re.fullmatch(r"(\d+)\s*([KMG]?i?B?)", value.strip(), re.IGNORECASE)
        if match is None or match[2].upper() not in UNITS:
            raise ValueError("not a size: write 512MiB, 1GiB or a number of bytes")
        return int(match[1]) * UNITS[match[2].upper()]
    return value


def parse_key(value: object) -> object:
    """Return `primary`, `rowid`, `append`, or the column names, in upper case unless they are in double quotes."""
    if isinstance(value, str) and value in ("primary", "rowid", "append"):
        return value
    if isinstance(value, list) and value and all(isinstance(name, str) for name in value):
        names = [name[1:-1] if len(name) > 2 and name[0] == name[-1] == '"' else upper_name(name) for name in value]
        if len(set(names)) == len(names):
            return tuple(names)
    raise ValueError("not a key: write primary, rowid, append, or the columns of a unique index as a list, e.g. [CODE, DAY]")


def parse_patterns(value: object) -> object:
    """Return patterns of column names, in upper case unless they are in double quotes."""
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        raise ValueError("write a list of column names, in which * and ? stand for any characters, e.g. [PHOTO, '*_BLOB']")
    return tuple(name[1:-1] if len(name) > 2 and name[0] == name[-1] == '"' else upper_name(name) for name in value)


def parse_large_objects(value: object) -> object:
    """Pass the value on, except `redo`, which is planned and not there yet."""
    if value == "redo":
        raise ValueError("large objects cannot be assembled from the redo yet: write reread, or exclude")
    return value


Patterns = Annotated[tuple[str, ...], BeforeValidator(parse_patterns)]
UnsupportedColumns = Literal["refuse", "exclude"]
LargeObjectsSetting = Annotated[LargeObjects, BeforeValidator(parse_large_objects)]


def parse_rule(value: object) -> object:
    """Return a column's rule; whether it suits the column's type is seen once the dictionary is read."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and (value in COLUMN_RULES or re.fullmatch(r"decimal\(\d{1,2}, ?\d{1,2}\)", value)):
        return value
    raise ValueError(f"not a rule: write {', '.join(COLUMN_RULES)}, decimal(p,s), or the scale of a NUMBER")


Bytes = Annotated[int, BeforeValidator(parse_bytes), Field(gt=0)]
COLUMN_RULES = ("string", "integer", "double", "truncate", "microseconds", "months")
ColumnRule = Annotated[str | int, BeforeValidator(parse_rule)]
Key = Annotated[Literal["primary", "rowid", "append"] | tuple[str, ...], BeforeValidator(parse_key)]


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SourceSettings(Settings):
    connection: str = Field(description="Airflow connection id; outside Airflow, AIRFLOW_CONN_<ID> is read")
    container: str | None = Field(None, description="PDB that owns the tables; omit for a non-CDB")
    fetch_rows: int = Field(10_000, ge=100, le=1_000_000, description="rows per Arrow batch from the driver")
    call_timeout_seconds: int = Field(1800, ge=1, description="longest single round trip to the database")


class WindowLimits(Settings):
    max_bytes: Bytes = Field(2 * 2**30, description="redo per window, all threads together; a window has at least one log")
    slice_bytes: Bytes = Field(512 * 2**20, description="redo per LogMiner session; a session has at least one log")


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
        return self


class SparkSettings(Settings):
    mode: Literal["submit", "connect"] = Field(
        "submit", description="`submit`: spark-submit per batch; `connect`: a running Spark Connect server"
    )
    connection: str = Field("spark_default", description="Airflow connection id of the cluster or the Connect server")
    master: str = Field("local[2]", description="for `redolake run` and `verify` in one process")
    conf: dict[str, str] = Field(default_factory=dict, description="more Spark settings, passed on unchanged")


class AirflowSettings(Settings):
    owner: str = Field("redolake", description="owner of the DAGs' tasks")
    tags: list[str] = Field(default_factory=list, description="more tags of the DAGs")
    pool: str | None = Field(None, description="Airflow pool of the tasks; it must exist")
    queue: str | None = Field(None, description="queue of the tasks, for executors that have queues")


class Retry(Settings):
    attempts: int = Field(5, ge=1, le=100, description="attempts of a step that fails with a transient error")
    first_seconds: float = Field(1.0, gt=0, description="first pause between attempts; each further one is twice as long")
    most_seconds: float = Field(60.0, gt=0, description="longest pause between attempts")


class OnDdl(Settings):
    """What to do at a DDL. A table's settings count before the pipeline's."""

    truncate: Literal["follow", "keep", "hold"] = Field(
        "hold", description="TRUNCATE TABLE: delete the rows in Delta too, keep them there, or hold the table"
    )
    drop_partition: Literal["follow", "keep", "resnapshot", "hold"] = Field("hold", description="only `hold` for now")
    drop_table: Literal["keep", "hold"] = Field("hold", description="only `hold` for now")
    recreate: Literal["resnapshot", "hold"] = Field("hold", description="only `hold` for now")
    rename_column: Literal["evolve", "hold"] = Field("evolve", description="RENAME COLUMN: rename it in Delta too, or hold")
    narrow: Literal["evolve", "hold"] = Field(
        "hold", description="MODIFY to a type that not all values of the old one fit: change the type in Delta too, or hold"
    )
    primary_key: Literal["resnapshot", "hold"] = Field("hold", description="only `hold` for now")
    unknown_ddl: Literal["resnapshot", "hold"] = Field("hold", description="only `hold` for now")

    @model_validator(mode="after")
    def works(self) -> OnDdl:
        for name in ("drop_partition", "drop_table", "recreate", "primary_key", "unknown_ddl"):
            if getattr(self, name) != "hold":
                raise ValueError(f"`{name}: {getattr(self, name)}` does not work yet: `hold` is the only value")
        return self


def quoted_on(value: object) -> object:
    """Return the settings with `on` as a text: YAML 1.1 reads the bare word as true."""
    return {"on" if key is True else key: item for key, item in value.items()} if isinstance(value, dict) else value


# Delta's properties that another setting decides, or that Redolake cannot write with.
RESERVED_PROPERTIES = re.compile(
    r"delta\.(columnMapping\.|enableDeletionVectors|enableTypeWidening|enableChangeDataFeed|minReaderVersion|minWriterVersion|"
    r"feature\.|appendOnly|constraints\.|checkpointPolicy)"
)


def checked_properties(value: dict[str, str]) -> dict[str, str]:
    reserved = sorted(key for key in value if RESERVED_PROPERTIES.match(key))
    if reserved:
        raise ValueError(f"not for `properties`: {', '.join(reserved)}; `readers` and `change_data_feed` decide on features")
    return value


def bare_names(value: object) -> object:
    """Return column names as the dictionary spells them: in upper case unless they are in double quotes."""
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        return value
    return [name[1:-1] if len(name) > 2 and name[0] == name[-1] == '"' else upper_name(name) for name in value]


Properties = Annotated[dict[str, str], AfterValidator(checked_properties)]
ColumnNames = Annotated[tuple[str, ...], BeforeValidator(bare_names)]


class TableSettings(Settings):
    """The settings of one captured table, or of all tables that a pattern matches."""

    key: Key = Field(
        "primary",
        description="how rows are identified: `primary` (the primary key); NOT NULL columns of a unique index, e.g. "
        "`[CODE, DAY]`; `rowid` (stored in Delta as `_rowid`); `append` for a table that only gets INSERTs",
    )
    columns: dict[str, ColumnRule] = Field(
        default_factory=dict,
        description="how columns are stored where the default does not suit: `string` keeps every value as text; "
        "NUMBER: `integer`, `decimal(p,s)`, and without precision the scale of DECIMAL(38, scale); FLOAT: `double`, "
        "`decimal(p,s)`; TIMESTAMP(7) to (9): `truncate`; intervals: `microseconds`, `months`",
    )
    readers: Readers | None = Field(None, description="as `readers` of the pipeline, for this table")
    names: Names | None = Field(None, description="as `names` of the pipeline, for this table")
    metadata_columns: tuple[MetadataName, ...] | None = Field(None, description="the same")
    deletes: Deletes | None = Field(None, description="the same")
    change_data_feed: bool | None = Field(None, description="the same")
    properties: Properties = Field(default_factory=dict, description="the same; these count before the pipeline's")
    cluster_by: ColumnNames = Field((), description="columns of Delta's liquid clustering, by their names in Oracle")
    partition_by: ColumnNames = Field(
        (), description="columns to partition the Delta table by, by their names in Oracle; a change needs a new snapshot"
    )

    on: OnDdl = OnDdl()
    exclude: Patterns = Field(
        (), description="columns to leave out, also those added later: names in which `*` and `?` stand for any characters"
    )
    include: Patterns = Field((), description="the only columns to capture, beside the key; default: all")
    unsupported_columns: UnsupportedColumns | None = Field(None, description="the pipeline's setting, for this table")
    large_objects: LargeObjectsSetting | None = Field(None, description="the pipeline's setting, for this table")

    @field_validator("columns")
    @classmethod
    def scale_fits(cls, value: dict[str, ColumnRule]) -> dict[str, ColumnRule]:
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
    def key_is_kept(self) -> Self:
        """Refuse to leave out a declared key; preflight does for a primary key, which only the dictionary shows."""
        choice = ColumnChoice(self.exclude)
        gone = [name for name in self.key_policy.columns if choice.names(name)]
        if self.large_objects == "reread" and self.key == "append":
            raise ValueError("`large_objects: reread` needs a key that finds a row again, and append is none")
        if gone:
            raise ValueError(f"`exclude` names {', '.join(gone)}, which is part of the `key`: rows need their key")
        return self

    @property
    def key_policy(self) -> KeyPolicy:
        return KeyPolicy(self.key) if isinstance(self.key, str) else KeyPolicy("columns", self.key)


class Table(TableSettings):
    """One captured table; a bare `OWNER.NAME` in the list is the same as `table: OWNER.NAME`."""

    table: str = Field(description="OWNER.NAME, upper case unless in double quotes")
    target: str | None = Field(None, description="path below `lake`; default: owner/name in lower case")

    @model_validator(mode="before")
    @classmethod
    def bare_name(cls, value: object) -> object:
        return {"table": value} if isinstance(value, str) else quoted_on(value)

    @field_validator("table")
    @classmethod
    def two_parts(cls, value: str) -> str:
        TableId.parse(value)
        return value

    @cached_property
    def id(self) -> TableId:
        return TableId.parse(self.table)

    @property
    def path(self) -> str:
        return self.target or f"{self.id.owner}/{self.id.name}".lower()


class Match(TableSettings):
    """Tables by pattern. A bare `SHOP.*` in the list is the same as `match: SHOP.*`; `!SHOP.TMP_*` excludes what it matches."""

    match: str = Field(description="OWNER.PATTERN with `*` for any characters and `?` for one; `!` in front excludes")

    @model_validator(mode="before")
    @classmethod
    def bare_pattern(cls, value: object) -> object:
        return {"match": value} if isinstance(value, str) else quoted_on(value)

    @model_validator(mode="after")
    def parses(self) -> Match:
        if self.excludes and self.model_fields_set != {"match"}:
            raise ValueError(f"{self.match} excludes tables, so it takes no other settings")
        if self.pattern.owner.text in ("*", "?"):
            raise ValueError(f"{self.match} names no owner: the tables of Oracle's own users would match too")
        return self

    @property
    def excludes(self) -> bool:
        return self.match.startswith("!")

    @cached_property
    def pattern(self) -> TablePattern:
        return TablePattern.parse(self.match.removeprefix("!"))

    def table(self, table: TableId) -> Table:
        """Return a matched table with the pattern's settings."""
        settings = {name: getattr(self, name) for name in self.model_fields_set - {"match"}}
        return Table(table=str(table), **settings)


def is_match(entry: object) -> bool:
    """Return whether an entry of `tables` is a pattern or an exclusion."""
    if isinstance(entry, dict):
        return "match" in entry
    return isinstance(entry, str) and (entry.startswith("!") or is_pattern(entry))


def is_local(location: str) -> bool:
    """Return whether a folder of the settings is a path of this host, as opposed to a URL such as s3://bucket/folder."""
    return "://" not in location or location.startswith("file://")


class Pipeline(Settings):
    name: str = ""
    source: SourceSettings
    landing: str = Field(description="folder or URL (s3://, abfss://, gs://, hdfs://) for landed redo")
    lake: str = Field(description="folder or URL for the Delta tables")
    ledger: LedgerSettings = LedgerSettings()
    schedule: str | None = Field("*/5 * * * *", description="cron, `every 30s`, @continuous, or null for manual runs")
    verify_schedule: str | None = Field(None, description="cron or preset for `<name>_verify`, or null for manual runs")
    window: WindowLimits = WindowLimits()
    runway: RunwayLimits = RunwayLimits()
    spark: SparkSettings = SparkSettings()
    airflow: AirflowSettings = AirflowSettings()
    retry: Retry = Retry()
    mining_tasks: int = Field(4, ge=1, le=64, description="slices mined in parallel")
    wait_warns_after_minutes: float = Field(
        30,
        gt=0,
        description="how long a run waits for a log that is due before it fails with LogOverdue; the next run keeps waiting",
    )
    wait_looks_every_seconds: float = Field(30, gt=0, description="pause between two checks while waiting for a log")
    lease_wait_minutes: float = Field(
        60, ge=0, description="how long a step waits while another run writes the same tables, before it fails with LeaseHeld"
    )
    show_row_data: bool = Field(
        False, description="let errors and logs contain the redo text of rows that cannot be decoded, not only their keys"
    )
    on: OnDdl = OnDdl()
    unsupported_columns: UnsupportedColumns = Field(
        "refuse",
        description="tables with a column of a type that is not supported: `refuse` them, or `exclude` the column",
    )
    readers: Readers = Field(
        "spark",
        description="`spark`: a Delta feature is enabled when a table first needs it (deletion vectors for MERGE into a large "
        "table, column mapping for a renamed or dropped column, type widening for a wider type); `widest`: none of these, so "
        "that delta-rs, Polars and others open the table, and such a change writes the table again",
    )
    large_objects: LargeObjectsSetting = Field(
        "refuse",
        description="CLOB, NCLOB and BLOB columns: `refuse` their tables, `reread` their values from the table after each "
        "change, or `exclude` the columns",
    )
    names: Names = Field("as_is", description="column names in the lake: as in Oracle, or in lower case")
    metadata_columns: tuple[MetadataName, ...] = Field(
        ("_commit_scn",),
        description="Redolake's columns, after all others: of the transaction that changed the row last `_commit_scn`, "
        "`_commit_time` (the database's clock), `_xid` and `_redo_thread`, and `_op` (load, insert, update, delete)",
    )
    deletes: Deletes = Field(
        "remove", description="deleted rows: `remove` them from the lake, or `mark` them in the column `_deleted`"
    )
    change_data_feed: bool = Field(False, description="Delta's change data feed")
    properties: Properties = Field(default_factory=dict, description="more table properties of Delta")
    new_tables: Literal["announce", "capture"] = Field(
        "announce",
        description="a table that a pattern matches and that was created later: report it in `status` and in the log, or "
        "capture it too, from its own snapshot on",
    )
    tables: list[Table] = Field(default_factory=list)
    matches: list[Match] = Field(default_factory=list)  # the patterns and exclusions of `tables`, in their order

    @model_validator(mode="before")
    @classmethod
    def bare_on(cls, value: object) -> object:
        return quoted_on(value)

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
    def tables_are_distinct(self) -> Pipeline:
        seen: set[TableId] = set()
        for table in self.tables:
            if table.id in seen:
                raise ValueError(f"{table.id} is listed twice in `tables`")
            seen.add(table.id)
        return self

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
        if table not in self.by_id and (match := self.matching(table)) is not None:
            return match.table(table)
        return self.by_id[table]

    def matching(self, table: TableId) -> Match | None:
        """Return the first pattern that matches; None for a table that an exclusion matches, wherever it stands."""
        found = [match for match in self.matches if match.pattern.matches(table)]
        return None if any(match.excludes for match in found) else next(iter(found), None)

    @property
    def patterns(self) -> list[Match]:
        return [match for match in self.matches if not match.excludes]

    def with_matched(self, tables: Iterable[TableId]) -> Self:
        """Return the pipeline with these tables in `tables` as well, as far as a pattern matches them."""
        found = {table: self.matching(table) for table in sorted(tables) if table not in self.by_id}
        more = [match.table(table) for table, match in found.items() if match is not None]
        return self.model_copy(update={"tables": [*self.tables, *more]})

    def ddl_policies(self, table: TableId) -> DdlPolicies:
        """Return the table's own policies, completed by the pipeline's."""
        return DdlPolicies(**{**self.on.model_dump(), **self.table(table).on.model_dump(exclude_unset=True)})

    def choice(self, table: TableId) -> ColumnChoice:
        """Return which of the table's columns are left out."""
        own = self.table(table)
        large_objects = own.large_objects or (self.large_objects if own.key != "append" else "refuse")
        return ColumnChoice(own.exclude, own.include, own.unsupported_columns or self.unsupported_columns, large_objects)

    def target(self, table: TableId) -> str:
        return f"{self.lake.rstrip('/')}/{self.table(table).path}"

    def target_options(self, table: TableId) -> TargetOptions:
        own = self.table(table)
        feed = self.change_data_feed if own.change_data_feed is None else own.change_data_feed
        properties = {**self.properties, **own.properties, **({"delta.enableChangeDataFeed": "true"} if feed else {})}
        return TargetOptions(
            readers=own.readers or self.readers,
            names=own.names or self.names,
            metadata_columns=self.metadata_columns if own.metadata_columns is None else own.metadata_columns,
            deletes=own.deletes or self.deletes,
            properties=tuple(properties.items()),
            cluster_by=own.cluster_by,
            partition_by=own.partition_by,
        )

    @property
    def ledger_url(self) -> str:
        """The SQLAlchemy URL; without `url` and `connection`, a SQLite file in the landing folder, which is local."""
        return self.ledger.url or f"sqlite:///{Path(self.landing.removeprefix('file://')).absolute()}/redolake-ledger.db"


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
        """Refuse a target inside another's folder: VACUUM removes files below the folder that its table does not own."""
        owned = ((p.target(t.id), f"{p.name}: {t.id}") for p in self.pipelines.values() for t in p.tables)
        targets = sorted((posixpath.normpath(target).split("/"), table) for target, table in owned)
        for (outer, one), (inner, other) in pairwise(targets):
            if inner[: len(outer)] == outer:
                raise ValueError(f"{'/'.join(inner)} would be written by {one} and {other}; give each its own folder")
        return self


def expand(node: Any, environment: Mapping[str, str], where: str, findings: list[Finding]) -> Any:
    """Replace `${NAME}` in all texts of `node`; add a finding for each variable that is not set."""
    if isinstance(node, dict):
        return {k: expand(v, environment, f"{where}.{k}" if where else str(k), findings) for k, v in node.items()}
    if isinstance(node, list):
        return [expand(v, environment, f"{where}[{i}]", findings) for i, v in enumerate(node)]
    if not isinstance(node, str):
        return node

    def value_of(match: re.Match[str]) -> str:
        if match[1] not in environment:
            findings.append(Finding(where, f"${{{match[1]}}} is not set in the environment", f"export {match[1]}=..."))
        return environment.get(match[1], "")

    return re.sub(r"\$\{(\w+)\}", value_of, node)


def parse_configuration(text: str, environment: Mapping[str, str], file: str = DEFAULT_FILE) -> Configuration:
    """Return the checked configuration; raise ConfigurationError with every finding."""
    try:
        raw = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigurationError([Finding(file, f"is not YAML: {error}", "correct the file's syntax")]) from error
    if not isinstance(raw, dict):
        raise ConfigurationError([Finding(file, "contains no settings", "begin the file with `pipelines:`")])
    findings: list[Finding] = []
    raw = expand(raw, environment, "", findings)
    try:
        configuration = Configuration.model_validate(raw)
    except ValidationError as error:
        findings += findings_of_errors(error.errors(), Configuration, raw, file, partial(in_file, raw))
        raise ConfigurationError(findings) from None
    if findings:
        raise ConfigurationError(findings)
    return configuration


def parse_each(
    text: str, environment: Mapping[str, str], file: str = DEFAULT_FILE
) -> tuple[Configuration, dict[str, ConfigurationError]]:
    """Return the pipelines that are right, and the errors of the others by name, so that one mistake stops one pipeline.

    Raises ConfigurationError if no pipeline is right, or if the mistake lies between two of them."""
    try:
        return parse_configuration(text, environment, file), {}
    except ConfigurationError as error:
        whole = error
    raw: Any = yaml.safe_load(text) if not any(f.what.startswith("is not YAML") for f in whole.findings) else None
    bodies = raw.get("pipelines") if isinstance(raw, dict) else None
    right, wrong = {}, {}
    for name, body in bodies.items() if isinstance(bodies, dict) else ():
        try:
            parse_configuration(yaml.safe_dump({**raw, "pipelines": {name: body}}), environment, file)
        except ConfigurationError as error:
            wrong[str(name)] = error
        else:
            right[name] = body
    if not right or not wrong:
        raise whole
    return parse_configuration(yaml.safe_dump({**raw, "pipelines": right}), environment, file), wrong


def in_file(raw: Any, loc: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Return the place in the file of an error's place: `tables` of the file holds the model's `tables` and `matches`."""
    if len(loc) < 4 or loc[0] != "pipelines" or loc[2] not in ("tables", "matches"):
        return loc
    entries = raw["pipelines"][loc[1]]["tables"]
    of_kind = [number for number, entry in enumerate(entries) if is_match(entry) is (loc[2] == "matches")]
    return (*loc[:2], "tables", of_kind[int(loc[3])], *loc[4:])


def config_file() -> Path:
    return Path(os.environ.get(CONFIG_VARIABLE, DEFAULT_FILE))


def read_text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        cure = f"create it, or name another file with --config or {CONFIG_VARIABLE}"
        raise ConfigurationError([Finding(str(path), f"cannot be read: {error.strerror}", cure)]) from error


def load_configuration(file: Path | None = None) -> Configuration:
    """Read `file`, else the file that REDOLAKE_CONFIG names, else ./pipelines.yml."""
    path = file or config_file()
    return parse_configuration(read_text(path), os.environ, str(path))


def load_each(file: Path) -> tuple[Configuration, dict[str, ConfigurationError]]:
    """Read `file` as `parse_each` does."""
    return parse_each(read_text(file), os.environ, str(file))


def load_pipeline(name: str, file: Path | None = None) -> Pipeline:
    configuration = load_configuration(file)
    if name not in configuration.pipelines:
        known = ", ".join(sorted(configuration.pipelines))
        raise ConfigurationError([Finding(name, "is not a pipeline in the configuration", f"one of: {known}")])
    return configuration.pipelines[name]
