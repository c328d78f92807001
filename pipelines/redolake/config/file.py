"""Read `pipelines.yml`: all findings at once, before anything starts."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from redolake.config.configuration import Configuration
from redolake.config.findings import findings_of_errors
from redolake.config.pipeline import Pipeline
from redolake.config.tables import is_match
from redolake.config.yaml_text import line_of, read_yaml
from redolake.errors import ConfigurationError, Finding

CONFIG_VARIABLE = "REDOLAKE_CONFIG"
DEFAULT_FILE = "pipelines.yml"


def expand(node: Any, environment: Mapping[str, str], where: str, findings: list[Finding]) -> Any:
    """Replace `${NAME}` in all texts of `node`, and `$${NAME}` by `${NAME}`; add a finding for each one that is not set."""
    if isinstance(node, dict):
        return {k: expand(v, environment, f"{where}.{k}" if where else str(k), findings) for k, v in node.items()}
    if isinstance(node, list):
        return [expand(v, environment, f"{where}[{i}]", findings) for i, v in enumerate(node)]
    if not isinstance(node, str):
        return node

    def value_of(match: re.Match[str]) -> str:
        if match[0].startswith("$$"):
            return match[0][1:]
        if match[1] not in environment:
            findings.append(Finding(where, f"${{{match[1]}}} is not set in the environment", f"export {match[1]}=..."))
        return environment.get(match[1], "")

    return re.sub(r"\$?\$\{(\w+)\}", value_of, node)


def parse_configuration(text: str, environment: Mapping[str, str], file: str = DEFAULT_FILE) -> Configuration:
    """Return the checked configuration; raise ConfigurationError with every finding."""
    raw = read_yaml(text, file)
    if not isinstance(raw, dict):
        raise ConfigurationError([Finding(file, "contains no settings", "begin the file with `pipelines:`")])
    findings: list[Finding] = []
    raw = expand(raw, environment, "", findings)
    try:
        configuration = Configuration.model_validate(raw)
    except ValidationError as error:
        findings += findings_of_errors(error.errors(), Configuration, raw, file, partial(in_file, raw), partial(line_of, text))
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
    raw: Any = read_yaml(text, file) if not any(f.what.startswith("is not YAML") for f in whole.findings) else None
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
        return path.read_text(encoding="utf-8")
    except OSError as error:
        cure = f"write one with `redolake init`, or name another file with --config or {CONFIG_VARIABLE}"
        raise ConfigurationError([Finding(str(path), f"cannot be read: {error.strerror}", cure)]) from error
    except UnicodeDecodeError as error:
        what = f"is not UTF-8: byte {error.start} cannot be read"
        raise ConfigurationError([Finding(str(path), what, "save it as UTF-8")]) from error


def load_configuration(file: Path | None = None) -> Configuration:
    """Read `file`, else the file that REDOLAKE_CONFIG names, else ./pipelines.yml."""
    path = file or config_file()
    return parse_configuration(read_text(path), os.environ, str(path))


def load_each(file: Path | None = None) -> tuple[Configuration, dict[str, ConfigurationError]]:
    """Read the file as `parse_each` does."""
    path = file or config_file()
    return parse_each(read_text(path), os.environ, str(path))


def load_pipeline(name: str, file: Path | None = None) -> Pipeline:
    configuration = load_configuration(file)
    if name not in configuration.pipelines:
        known = ", ".join(sorted(configuration.pipelines))
        raise ConfigurationError([Finding(name, "is not a pipeline in the configuration", f"one of: {known}")])
    return configuration.pipelines[name]
