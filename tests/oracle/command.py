"""`redolake` as a process, with a pipeline file and connections in its environment."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import yaml

from redolake.config import Pipeline
from redolake.source import ConnectParams

REDOLAKE = (sys.executable, "-c", "from redolake.cli import main; main()")


def environment(pipeline: Pipeline, file: Path, people: Mapping[str, ConnectParams]) -> dict[str, str]:
    """Write the pipeline to the file, and return an environment with it and with the people's connections."""
    body = json.loads(pipeline.model_dump_json(exclude={"name"}, exclude_none=True))
    file.write_text(yaml.safe_dump({"pipelines": {pipeline.name: body}}))
    connections = {
        f"AIRFLOW_CONN_{name.upper()}": json.dumps(
            {"conn_type": "oracle", "login": who.user, "password": who.password, "extra": {"dsn": who.dsn}}
        )
        for name, who in people.items()
    }
    return {**os.environ, **connections, "REDOLAKE_CONFIG": str(file)}
