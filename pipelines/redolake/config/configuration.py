"""All pipelines of a file: their names, and that none writes into another's folder."""

from __future__ import annotations

import re
from typing import Any

from pydantic import Field, field_validator, model_validator

from redolake.config.pipeline import Pipeline
from redolake.config.values import Settings
from redolake.host.paths import find_crowded


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
