"""What people choose in is a promise: each command with its options, and each form of a DAG with its fields.

`tests/golden/commands.json` and `tests/golden/forms.json` have them. After an intended change, `REDOLAKE_GOLDEN=write` writes
them again.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.test_cli_everywhere import COMMANDS

pytestmark = pytest.mark.airflow

GOLDEN = Path(__file__).parents[2] / "golden"


def check_golden(name: str, found: dict[str, Any]) -> None:
    file, text = GOLDEN / name, json.dumps(found, indent=1, sort_keys=True) + "\n"
    if os.environ.get("REDOLAKE_GOLDEN") == "write":
        file.write_text(text)
    assert json.loads(text) == json.loads(file.read_text())


def option(one: Any) -> dict[str, Any]:
    default = getattr(one.default, "value", one.default)
    default = default if isinstance(default, str | int | float | bool | None) else str(default)
    return {"help": one.help, "required": one.required, "several": one.multiple or one.nargs == -1, "default": default}


def test_each_command_has_the_help_and_the_options_that_are_meant() -> None:
    check_golden(
        "commands.json",
        {
            name: {
                "help": " ".join(command.help.split()),
                "options": {
                    " ".join([*one.opts, *one.secondary_opts]): option(one) for one in command.params if one.name != "help"
                },
            }
            for name, command in COMMANDS.items()
        },
    )


def test_each_form_has_the_fields_that_are_meant(settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from redolake.airflow.factory import dags_of

    pipeline = settings()
    monkeypatch.setenv("REDOLAKE_CONFIG", str(tmp_path / "pipelines.yml"))
    dags = {dag.dag_id: dag for dag in dags_of(pipeline)}

    check_golden(
        "forms.json",
        {dag_id: {name: field(dag.params.get_param(name)) for name in dag.params} for dag_id, dag in dags.items()},
    )


def field(one: Any) -> dict[str, Any]:
    value = one.resolve(suppress_exception=True)
    return {
        "value": value if isinstance(value, str | int | bool | list | None) else None,
        "about": one.description,
        **one.schema,
    }
