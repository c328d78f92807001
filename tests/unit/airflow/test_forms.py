"""What people choose in is a promise: each command with its options, and each form of a DAG with its fields.

`tests/golden/commands.json` and `tests/golden/forms.json` have them. After an intended change, `REDOLAKE_GOLDEN=write` writes
them again.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any, get_args

import pytest

from redolake.context import Run
from redolake.errors import ConfigurationError
from redolake.operations import OPERATIONS
from redolake.operations.declared import Option, Outcome, operation
from tests.unit.cli.test_cli_everywhere import COMMANDS

pytestmark = pytest.mark.airflow

PLAIN = {str, int, bool, list, type(None)}
WINDOW = "1212321600-00000000000002000000-00000000000002000161"
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


def test_a_choice_without_a_value_is_named_in_the_question(settings: Any, steps: Any) -> None:
    from redolake.airflow.forms import question_of

    @operation("remine", final="discard")
    def remine(run: Any, discard: Annotated[bool, Option("Forget it.")] = False) -> Outcome:
        """Mine again."""
        return Outcome(None, ("w: would be forgotten",), shown=["w"])

    asked = question_of({"remine": remine}, settings(), {"discard": True, "dry_run": False})

    assert asked is not None
    assert (asked.subject, asked.shown) == ("shop: remine discard", {"": ["w"]})


def test_each_form_has_the_fields_that_are_meant(settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from redolake.airflow.factory import dags_of

    pipeline = settings()
    monkeypatch.setenv("REDOLAKE_CONFIG", str(tmp_path / "pipelines.yml"))
    dags = {dag.dag_id: dag for dag in dags_of(pipeline)}

    check_golden(
        "forms.json",
        {dag_id: {name: field(dag.params.get_param(name)) for name in dag.params} for dag_id, dag in dags.items()},
    )
    for dag in dags.values():  # the process that parses a file sends them, and ends at a type that is not plain
        assert {type(dag.params.get_param(name).resolve(suppress_exception=True)) for name in dag.params} <= PLAIN


def field(one: Any) -> dict[str, Any]:
    value = one.resolve(suppress_exception=True)
    return {
        "value": value if isinstance(value, str | int | bool | list | None) else None,
        "about": one.description,
        **one.schema,
    }


def test_nothing_is_changed_without_execute_but_by_what_loses_nothing() -> None:
    asked = {name: {"--execute", "--dry-run"} & {*one.opts, *one.secondary_opts} for name, one in flags("execute")}
    yes = {name for name, _ in flags("yes")} - {"init"}

    assert asked == {name: {"--execute", "--dry-run"} for name, one in OPERATIONS.items() if not one.looks}
    assert {name for name, one in OPERATIONS.items() if one.at_once} == {"resume", "migrate"}
    assert yes == {name for name, one in OPERATIONS.items() if one.final}


def test_a_person_who_decides_says_why() -> None:
    """One rule: what cannot be undone is decided, and what says so of itself."""
    deciding = {
        "backfill": {"target": "live"},
        "resume": {"ddl": "follow"},
        "recover": {"choice": "snapshot"},
        "remine": {"discard": True},
    }
    asked = {name: one for name, one in OPERATIONS.items() if one.reason}
    assert asked.keys() == OPERATIONS.keys() - {"verify", "optimize", "migrate"}
    for name, one in asked.items():
        chosen = {**values_of(name), **deciding.get(name, {})}
        assert one.needs_reason(chosen), name
        assert name not in deciding or not one.needs_reason(values_of(name)), name
        one.check(chosen, execute=False, reason="")
        one.check(chosen, execute=True, reason="the disk")
        with pytest.raises(ConfigurationError, match="needs a reason"):
            one.check(chosen, execute=True, reason=" ")
    assert OPERATIONS["resume"].needs_reason({**values_of("resume"), "new_history": True})


def values_of(name: str) -> dict[str, Any]:
    """Return what is chosen where as little is chosen as can be."""
    given = {
        "table": "SHOP.ORDERS", "tables": ("SHOP.ORDERS",), "from_scn": "1", "to_scn": "2",
        "window": WINDOW,
    }  # fmt: skip
    return {one.name: given[one.name] if one.is_needed else one.default for one in OPERATIONS[name].parameters}


def flags(name: str) -> list[tuple[str, Any]]:
    return [(command, one) for command, found in COMMANDS.items() for one in found.params if one.name == name]


def test_the_choices_of_an_operation_are_those_that_its_step_knows() -> None:
    from redolake.records.gaps import GapKind
    from redolake.steps.proof.verify import Method
    from redolake.steps.ranges.replay import BackfillTarget
    from redolake.steps.ranges.shadows import ShadowSchema

    known = {"target": BackfillTarget, "schema": ShadowSchema, "choice": GapKind, "method": Method}
    declared = {one.name: one.option.choices for done in OPERATIONS.values() for one in done.parameters if one.name in known}
    assert {name: {*choices} for name, choices in declared.items()} == {name: {*get_args(one)} for name, one in known.items()}


@pytest.mark.parametrize(
    ("command", "chosen"),
    [
        ("backfill", {"from_scn": "1", "to_scn": "2", "logs": ("/restored",)}),
        ("backfill", {"from_scn": "1", "to_scn": "2", "target": "copy", "from_logs": True}),
        ("backfill", {"from_scn": "1", "to_scn": "2", "target": "live", "schema": "current"}),
        ("backfill", {"from_scn": "1", "to_scn": "2", "target": "files"}),
        ("history rebuild", {"table": "SHOP.ORDERS", "logs": ("/restored",)}),
        ("recover", {"scn": 5}),
        ("recover", {"choice": "snapshot", "scn": 5}),
        ("recover", {"choice": "gap", "restored": True}),
        ("remine", {"window": WINDOW, "replace": True, "discard": True}),
        ("verify", {"due": True, "tables": ("SHOP.ORDERS",)}),
        ("verify", {"method": "rows", "sample": "1%"}),
        ("verify", {"sample": "101%"}),
        ("backfill", {"from_scn": "9", "to_scn": "5"}),
        ("backfill", {"from_scn": "yesterday"}),
        ("backfill", {"to_scn": "99999999999999999999"}),
        ("close-gap", {"scn": 2**63}),
        ("history rebuild", {"from_scn": "2026-11-20 08:00"}),
        ("recover", {"choice": "gap", "scn": 2**63}),
        ("remine", {"window": "w"}),
        ("resume", {"tables": ("SHOP.ORDERS",), "ddl": "follow", "new_history": True}),
        ("swap", {"table": "SHOP.ORDERS", "copy": "1-2"}),
        ("tx drop", {"xid": "5"}),
    ],
)
def test_what_means_nothing_together_is_refused_before_anything_is_opened(command: str, chosen: dict[str, Any]) -> None:
    nothing: Any = None
    run = Run(nothing, execute=True, by="ann", reason="wrong" if command == "history rebuild" else "")

    def start() -> None:
        OPERATIONS[command].check({**values_of(command), **chosen}, execute=False, reason="")
        OPERATIONS[command].act(run, **{**values_of(command), **chosen})

    with pytest.raises(ConfigurationError):
        start()
