"""The settings of the source: a database whose redo LogMiner reads, or OpenLogReplicator sends."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from redolake.config.values import Settings


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
        description="who reads the redo: `logminer`, or an `openlogreplicator` beside the database; Oracle is still "
        "read for snapshots, the dictionary and `verify`",
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
        description="Airflow connection id; outside Airflow, of AIRFLOW_CONN_<ID>. With `openlogreplicator` it may be "
        "left out once a window has landed: what only the database proves is proved when it is named "
        "again",
    )
    primary: str | None = Field(
        None,
        description="where `connection` leads to a physical standby: connection id of its primary, which is asked for its open "
        "transactions and current SCNs when a snapshot begins, and for nothing else",
    )
    container: str | None = Field(None, description="PDB that owns the tables; omit for a non-CDB")
    dictionary: Literal["online", "redo"] = Field(
        "online",
        description="where LogMiner takes names from: the `online` catalogue, or what DBMS_LOGMNR_D.BUILD has written "
        "into the `redo`: each session then reads all redo since the last BUILD",
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
        if self.primary is not None and self.primary == self.connection:
            raise ValueError("`primary` is `connection`: leave it out, or name the standby's connection as `connection`")
        if self.kind == "openlogreplicator" and len(given) < 2:
            raise ValueError("`kind: openlogreplicator` needs `address` and `database`, or `streams` and `database`")
        if self.kind == "openlogreplicator" and self.dictionary != "online":
            raise ValueError("`dictionary` is LogMiner's: OpenLogReplicator has a dictionary of its own")
        return self

    @property
    def is_stream(self) -> bool:
        """Return whether committed transactions are received, and no logs are mined."""
        return self.kind == "openlogreplicator"
