"""What Airflow does with a pipeline's DAGs: who owns them, where their tasks run, and whom they notify."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field, model_validator

from redolake.config.values import Settings


class NotifierSettings(Settings):
    """A class of notifications; all other settings are its arguments."""

    model_config = ConfigDict(extra="allow", frozen=True)

    notifier: str = Field(
        pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$",
        description="dotted path of a subclass of Airflow's BaseNotifier; the settings beside it are its arguments",
    )

    @property
    def arguments(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


class AirflowSettings(Settings):
    owner: str = Field("redolake", description="owner of the DAGs' tasks")
    tags: list[str] = Field(default_factory=list, description="more tags of the DAGs")
    pool: str | None = Field(None, description="Airflow pool of the tasks; it must exist")
    queue: str | None = Field(None, description="queue of the tasks, for executors that have queues")
    approval_minutes: float = Field(
        240, gt=0, description="how long a choice that cannot be undone waits for an approval; then nothing is done"
    )
    approval_by_another: bool = Field(
        False,
        description="another person than who started the run must approve a choice that cannot be undone; *Confirm* "
        "in the form is not enough",
    )
    on_failure: list[NotifierSettings] = Field(default_factory=list, description="notified by each task that fails")
    on_approval: list[NotifierSettings] = Field(
        default_factory=list, description="notified when a choice that cannot be undone waits for an approval"
    )
    deadline_minutes: float | None = Field(
        None, gt=0, description="how long a run of capture or apply may take before `on_deadline` is notified"
    )
    on_deadline: list[NotifierSettings] = Field(
        default_factory=list, description="notified, by the triggerer, when a run has taken longer than `deadline_minutes`"
    )

    @model_validator(mode="after")
    def a_deadline_notifies(self) -> AirflowSettings:
        if (self.deadline_minutes is None) != (not self.on_deadline):
            raise ValueError("`deadline_minutes` and `on_deadline` need each other")
        return self
