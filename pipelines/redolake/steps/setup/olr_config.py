"""The OpenLogReplicator.json that a pipeline needs, and the check of an existing one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from redolake.config import Pipeline
from redolake.context import open_to_read
from redolake.errors import ConfigurationError, Finding
from redolake.source.olr import Described, needed_configuration, read_described, settings_findings


def write_olr_config(pipeline: Pipeline, thread: int | None = None) -> str:
    """Return the text of OpenLogReplicator.json, of a redo thread's where there are several. Raises ConfigurationError for a
    pipeline of another source, and for a thread without a stream."""
    source = require_stream(pipeline)
    address = address_of(pipeline, thread)
    with open_to_read(pipeline) as context:
        tables = [table.in_oracle for table in context.pipeline.tables]
        patterns = [match.pattern for match in context.pipeline.patterns]
    body = needed_configuration(str(source.database), address, tables, patterns)
    return json.dumps(body, indent=2)


def address_of(pipeline: Pipeline, thread: int | None) -> str:
    """Return the address of a redo thread's OpenLogReplicator. Raises ConfigurationError where it is not clear which it is."""
    streams = {one.thread: one.address for one in pipeline.source.streams}
    if not streams and thread is None:
        return str(pipeline.source.address)
    if thread not in streams:
        listed = ", ".join(map(str, sorted(streams))) or "none"
        what = "has a stream per redo thread" if thread is None else f"has no stream for redo thread {thread}"
        cure = f"choose one with --thread; `streams` lists {listed}" if streams else "leave --thread out: it has one `address`"
        raise ConfigurationError([Finding(f"{pipeline.name}.source.streams", what, cure)])
    return streams[thread]


def check_olr_file(pipeline: Pipeline, file: Path) -> list[Finding]:
    """Return each setting of a file that would lose or blur something. Raises ConfigurationError for what is no such file."""
    source = require_stream(pipeline)
    return list(settings_findings(read_file(file), str(source.database)))


def describe_olr_file(file: Path) -> Described:
    """Return what a first pipelines.yml takes from an OpenLogReplicator.json. Raises ConfigurationError for what is none."""
    return read_described(read_file(file))


def read_file(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        what = f"cannot be read as JSON: {type(error).__name__}"
        raise ConfigurationError([Finding(str(file), what, "name the OpenLogReplicator.json")]) from error


def require_stream(pipeline: Pipeline) -> Any:
    if not pipeline.source.is_stream:
        cure = "set `kind: openlogreplicator`, `address` and `database` under `source`"
        raise ConfigurationError([Finding(f"{pipeline.name}.source", "is not OpenLogReplicator", cure)])
    return pipeline.source
