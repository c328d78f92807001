"""Convert keys of a connection's extra into arguments of python-oracledb, whose own parameter names decide what is known."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import cache
from types import NoneType
from typing import Any, get_args, get_type_hints

import oracledb

# The connection's own fields and keys give these.
_GIVEN = frozenset({"dsn", "host", "password", "port", "protocol", "service_name", "sid", "user"})
# Pools and Python objects cannot come from a connection, and `newpassword` would change the password at each logon.
_REFUSED = frozenset(
    {
        "conn_class", "handle", "newpassword", "on_connect_callback", "operation_callback", "params", "pool", "pool_alias",
        "pool_boundary", "pool_name", "round_trip_callback", "shardingkey", "ssl_context", "supershardingkey",
    }
)  # fmt: skip
_OLD_MODES = {"SYSBACKUP": "SYSBKP", "SYSDG": "SYSDGD", "SYSKM": "SYSKMT"}  # as SQL*Plus writes them


@cache
def driver_options() -> dict[str, Callable[[Any], object]]:
    """Return the conversion of every parameter of `oracledb.connect` that a connection's extra may contain."""
    hints = get_type_hints(oracledb.ConnectParams.__init__)
    return {name: _conversion(name, hint) for name, hint in hints.items() if name not in _GIVEN | _REFUSED | {"return"}}


def _conversion(name: str, hint: Any) -> Callable[[Any], object]:
    if name == "access_token":
        return _token
    kinds = [kind for kind in get_args(hint) or (hint,) if kind is not NoneType]
    for kind in kinds:
        if isinstance(kind, type) and issubclass(kind, Enum):
            return _member_of(kind)
    for kind, convert in _CONVERSIONS.items():
        if kind in kinds:
            return convert
    raise TypeError(f"the driver's parameter {name} has the unknown type {hint}")


def flag(value: object) -> bool:
    text = str(value).strip().lower()
    if text not in ("true", "false", "1", "0", "yes", "no"):
        raise ValueError("write true or false")
    return text in ("true", "1", "yes")


def _whole(value: object) -> int:
    try:
        return int(str(value))
    except ValueError:
        raise ValueError("write a whole number") from None


def _number(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        raise ValueError("write a number") from None


def _token(value: object) -> str | tuple[str, ...]:
    """Pass a token on; OCI takes a pair of token and private key, a list in JSON."""
    return tuple(map(str, value)) if isinstance(value, list) else str(value)


def _context(value: object) -> list[tuple[str, ...]]:
    if not isinstance(value, list) or not all(isinstance(entry, list) and len(entry) == 3 for entry in value):
        raise ValueError("write a JSON list of [namespace, name, value]")
    return [tuple(map(str, entry)) for entry in value]


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("write a JSON object")
    return dict(value)


def _member_of(kind: type[Enum]) -> Callable[[Any], object]:
    def convert(value: object) -> Enum:
        name = str(value).upper()
        name = _OLD_MODES.get(name, name)
        if name not in kind.__members__:
            raise ValueError(f"write one of {', '.join(sorted(kind.__members__)).lower()}")
        return kind[name]

    return convert


_CONVERSIONS: dict[type, Callable[[Any], object]] = {
    bool: flag,
    int: _whole,
    float: _number,
    str: str,
    list: _context,
    dict: _object,
}
