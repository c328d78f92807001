"""The registry of PL/SQL procedures, functions and constants that a block can use.

Packages register them (`standin.logminer`); `block` parses and runs the blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from standin.engine.sessions.session import EngineSession
from standin.engine.types.values import number_text, to_number
from standin.interface import ColumnInfo, OraError

REQUIRED = object()
FUNCTION_VALUE = ""  # in place of a parameter's name: the value of a function with OUT parameters


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter. `name` is lower-case, as the Python function takes it; `default` is REQUIRED for a mandatory one. `type` is
    NUMBER, VARCHAR2 or BOOLEAN, to which arguments are converted; one without takes any."""

    name: str
    default: Any = REQUIRED
    direction: str = "IN"  # IN, OUT, IN OUT
    type: str = ""

    def converted(self, value: Any) -> Any:
        """Return an argument as the parameter's type. Raise ORA-06502 for a text that is no number, TypeError for a BOOLEAN in
        place of another type, or the other way round."""
        if value is None or not self.type or self.direction == "OUT":
            return value
        if isinstance(value, bool) != (self.type == "BOOLEAN"):
            raise TypeError(self.name)
        if self.type == "NUMBER" and isinstance(value, str):
            try:
                return to_number(value)
            except OraError:
                message = "PL/SQL: numeric or value error: character to number conversion error"
                raise OraError(6502, message) from None
        if self.type == "VARCHAR2" and isinstance(value, int | Decimal | float):
            return number_text(value)
        return value


@dataclass(frozen=True, slots=True)
class Procedure:
    """A procedure or function. `run(session, **arguments)` returns a function's value or a mapping of the OUT parameters,
    for a function with such, its own value under FUNCTION_VALUE."""

    name: str
    run: Callable[..., Any]
    parameters: tuple[Parameter, ...]
    privilege: str | None  # the object EXECUTE is granted on; None for PUBLIC
    kind: str = ""  # PROCEDURE or FUNCTION, where calls of the other are refused
    returns: ColumnInfo | None = None  # a function's type in SQL; a text if it is not given


class Procedures:
    """Procedures, functions and constants by upper-case qualified name, e.g. DBMS_LOGMNR.ADD_LOGFILE."""

    def __init__(self) -> None:
        self._procedures: dict[str, Procedure] = {}
        self._constants: dict[str, Any] = {}

    def register(
        self,
        name: str,
        run: Callable[..., Any],
        parameters: Sequence[Parameter | str] = (),
        *,
        public: bool = False,
        kind: str = "",
        returns: ColumnInfo | None = None,
    ) -> None:
        """Register a procedure. Positional arguments fill `parameters` in order; a plain string is a mandatory IN parameter."""
        key = name.upper()
        declared = tuple(p if isinstance(p, Parameter) else Parameter(p.lower()) for p in parameters)
        self._procedures[key] = Procedure(key, run, declared, None if public else key.rpartition(".")[0] or key, kind, returns)

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
        if arguments.keys() & {n.lower() for n in named}:
            raise _refused("PLS-00703: multiple instances of named argument in list")
        arguments.update({n.lower(): v for n, v in named.items()})
        for parameter in procedure.parameters:
            if parameter.name not in arguments:
                if parameter.default is REQUIRED:
                    raise wrong_arguments(name)
                arguments[parameter.name] = parameter.default
        try:
            arguments = {p.name: p.converted(arguments[p.name]) for p in procedure.parameters}
        except TypeError:
            raise wrong_arguments(name) from None
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
    shown = name.upper().rpartition(".")[2]
    return _refused(f"PLS-00306: wrong number or types of arguments in call to '{shown}'", line, column)


def require_kind(procedure: Procedure, *, as_function: bool) -> None:
    """Raise PLS-00222 for a procedure in an expression, PLS-00221 for a function as a statement."""
    if procedure.kind and procedure.kind != ("FUNCTION" if as_function else "PROCEDURE"):
        shown = procedure.name.rpartition(".")[2]
        if as_function:
            raise _refused(f"PLS-00222: no function with name '{shown}' exists in this scope")
        raise _refused(f"PLS-00221: '{shown}' is not a procedure or is undefined")


def _refused(message: str, line: int = 1, column: int = 7) -> OraError:
    place = f"line {line}, column {column}:"
    return OraError(6550, place, more=(message, f"ORA-06550: {place}", "PL/SQL: Statement ignored"))


procedures = Procedures()
