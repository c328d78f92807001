"""The settings of Spark, without those that would change values."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from redolake.config.values import Settings
from redolake.host.spark_settings import AS_WRITTEN, CHECKPOINTS, EXACT, FEW_CHANGES, KEPT, default_property
from redolake.values.target_options import why_refused


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
    kept: Literal["local", "replicated", "checkpoint"] | None = Field(
        None,
        description="where rows are kept between the steps of a batch: each on one executor, each on two, or in files of "
        f"`{CHECKPOINTS}`; by default `replicated` where Spark allocates or decommissions executors, else `local`",
    )
    parallel_tables: int | None = Field(
        None,
        ge=1,
        le=64,
        description="tables of a batch that are merged side by side; by default as many as Spark's driver has cores, 2 to 8: "
        "those of a local Spark, on a cluster what `spark.driver.cores` says",
    )
    few_changes: Literal["merge", "direct"] | None = Field(
        None,
        description="`direct`, the default: few changes of a table are prepared in the driver's Python process, and merged "
        "there if the table is small, for a tenth of the CPU time; `merge`: Spark does it for all",
    )

    @property
    def settings(self) -> dict[str, str]:
        """What Spark gets: `conf`, where rows are kept, and who merges small tables."""
        ours = {KEPT: self.kept, FEW_CHANGES: self.few_changes}
        return {**self.conf, **{name: value for name, value in ours.items() if value is not None}}

    @field_validator("conf")
    @classmethod
    def names_are_read_as_written(cls, value: dict[str, str]) -> dict[str, str]:
        for setting, name in (("kept", KEPT), ("few_changes", FEW_CHANGES)):
            if name in value:
                raise ValueError(f"`{setting}` says it, and {name} does not")
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
