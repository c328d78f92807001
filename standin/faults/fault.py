"""The description of a fault: its name, its options and the action that ends it, read from the method that injects it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])
_ENDED_BY = "_fault_ended_by"


def fault(ended_by: str | None = None) -> Callable[[Method], Method]:
    """Mark a method as a fault; `ended_by` names the method that ends it."""

    def mark(method: Method) -> Method:
        setattr(method, _ENDED_BY, ended_by or "")
        return method

    return mark


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault as the command line shows it; `method` is its method of FaultInjector, `does` its description."""

    name: str
    method: str
    options: Mapping[str, inspect.Parameter]
    does: str
    ended_by: str | None

    def checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options converted to the types of the method's annotations. Raises ValueError."""
        unknown = given.keys() - self.options.keys()
        if unknown:
            raise ValueError(
                f"{self.name} has no option {', '.join(sorted(unknown))}; it has {', '.join(self.options) or 'none'}"
            )
        missing = [n for n, p in self.options.items() if p.default is inspect.Parameter.empty and n not in given]
        if missing:
            raise ValueError(f"{self.name} needs {', '.join(missing)}")
        return {name: _converted(name, value, str(self.options[name].annotation)) for name, value in given.items()}


def _converted(name: str, value: Any, annotation: str) -> Any:
    if not isinstance(value, str) or annotation.startswith("str"):
        return value
    if annotation.startswith("bool"):
        if value.lower() not in ("true", "false", "yes", "no"):
            raise ValueError(f"{name} is true or false, not {value}")
        return value.lower() in ("true", "yes")
    if not value.isdigit():
        raise ValueError(f"{name} is a whole number, not {value}")
    return int(value)


def faults_of(injector: type) -> dict[str, Fault]:
    """Return the faults of a class and its bases by name, in declaration order."""
    found = {}
    for method, function in (pair for part in (*injector.__bases__, injector) for pair in vars(part).items()):
        ended_by = getattr(function, _ENDED_BY, None)
        if ended_by is not None:
            options = dict(list(inspect.signature(function).parameters.items())[1:])
            name, end = method.replace("_", "-"), ended_by.replace("_", "-") or None
            found[name] = Fault(name, method, options, " ".join((function.__doc__ or "").split()), end)
    return found
