"""The registry of PL/SQL procedures, functions and constants that a block can use.

Packages register them (`standin.logminer`); `block` parses and runs the blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from standin.engine.session import EngineSession
from standin.interface import OraError

REQUIRED = object()
FUNCTION_VALUE = ""  # in place of a parameter's name: the value of a function with OUT parameters


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter. `name` is lower-case, as the Python function takes it; `default` is REQUIRED for a mandatory one."""

    name: str
    default: Any = REQUIRED
    direction: str = "IN"  # IN, OUT, IN OUT


@dataclass(frozen=True, slots=True)
class Procedure:
    """A procedure or function. `run(session, **arguments)` returns a function's value or a mapping of the OUT parameters,
    for a function with such, its own value under FUNCTION_VALUE."""

    name: str
    run: Callable[..., Any]
    parameters: tuple[Parameter, ...]
    privilege: str | None  # the object EXECUTE is granted on; None for PUBLIC


class Procedures:
    """Procedures, functions and constants by upper-case qualified name, e.g. DBMS_LOGMNR.ADD_LOGFILE."""

    def __init__(self) -> None:
        self._procedures: dict[str, Procedure] = {}
        self._constants: dict[str, Any] = {}

    def register(
        self, name: str, run: Callable[..., Any], parameters: Sequence[Parameter | str] = (), *, public: bool = False
    ) -> None:
        """Register a procedure. Positional arguments fill `parameters` in order; a plain string is a mandatory IN parameter."""
        key = name.upper()
        declared = tuple(p if isinstance(p, Parameter) else Parameter(p.lower()) for p in parameters)
        self._procedures[key] = Procedure(key, run, declared, None if public else key.rpartition(".")[0] or key)

    def constant(self, name: str, value: Any) -> None:
        self._constants[name.upper()] = value

    def has_package(self, name: str) -> bool:
        return any(known.startswith(f"{name.upper()}.") for known in self._procedures)

    def find(self, name: str) -> Procedure | None:
        return self._procedures.get(_unqualified(name))

    def value_of(self, name: str) -> Any:
        """Return the constant's value; raise KeyError for an unknown one."""
        return self._constants[_unqualified(name)]

    def has_constant(self, name: str) -> bool:
        return _unqualified(name) in self._constants

    def call(self, session: EngineSession, name: str, positional: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """Bind the arguments to the declared parameters and run. Raise PLS-00306 when they do not fit."""
        procedure = self.find(name)
        if procedure is None:
            raise not_declared(name)
        arguments = dict(zip((p.name for p in procedure.parameters), positional, strict=False))
        names = {p.name for p in procedure.parameters}
        if len(positional) > len(procedure.parameters) or not names >= {n.lower() for n in named}:
            raise wrong_arguments(name)
        arguments.update({n.lower(): v for n, v in named.items()})
        for parameter in procedure.parameters:
            if parameter.name not in arguments:
                if parameter.default is REQUIRED:
                    raise wrong_arguments(name)
                arguments[parameter.name] = parameter.default
        return procedure.run(session, **arguments)


def _unqualified(name: str) -> str:
    return name.upper().removeprefix("SYS.")


def not_declared(name: str, line: int = 1, column: int = 7) -> OraError:
    identifier = name.upper().partition(".")[0] if "." in name else name.upper()
    return OraError(
        6550,
        f"line {line}, column {column}:",
        more=(
            f"PLS-00201: identifier '{identifier}' must be declared",
            f"ORA-06550: line {line}, column {column}:",
            "PL/SQL: Statement ignored",
        ),
    )


def wrong_arguments(name: str, line: int = 1, column: int = 7) -> OraError:
    return OraError(
        6550,
        f"line {line}, column {column}:",
        more=(
            f"PLS-00306: wrong number or types of arguments in call to '{name.upper().rpartition('.')[2]}'",
            f"ORA-06550: line {line}, column {column}:",
            "PL/SQL: Statement ignored",
        ),
    )


procedures = Procedures()
