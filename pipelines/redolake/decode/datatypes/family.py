"""A family of Oracle types: its target types and casts, and the casts that families share.

A cast never rounds and never guesses: a value that does not fit becomes null, and its reason is reported by position.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from redolake.decode.forms import Form
from redolake.errors import ConfigurationError, Finding
from redolake.values.redo import Encoding
from redolake.values.table import OracleType, TypeRule


class DoesNotFit(ValueError):
    """Raised for a value that is understood, and that the target type cannot hold."""


class Unfit(str):
    """The reason why a value is null that is understood, and that the target type cannot hold."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Cast:
    """Cast values, and why some are null, by position. The reason is Unfit where only the target type is too narrow."""

    values: pa.Array
    refused: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Family:
    """`cast` reads the literals of redo SQL and the text that a snapshot fetches, `internal` the bytes of rows that LogMiner
    could not resolve."""

    names: frozenset[str]
    forms: frozenset[Form]
    target: Callable[[OracleType, TypeRule], pa.DataType]
    cast: Callable[[pa.StringArray, pa.DataType, TypeRule], Cast]
    internal: Callable[[pa.BinaryArray, pa.DataType, Encoding, TypeRule], Cast]
    is_decoded: bool = True  # False: the redo only says that the column changed


OF_PYTHON = ("invalid literal", "could not convert", "year ", "Exceeds the limit")


def refuse_rule(oracle_type: OracleType, rule: TypeRule, cure: str) -> ConfigurationError:
    return ConfigurationError([Finding(str(oracle_type), f"rule {rule!r} does not suit the type", cure)])


def cast_each(values: pa.Array, convert: Callable[[Any], object], target: pa.DataType) -> Cast:
    """Cast values one by one, to find those that fail. `convert` raises ValueError with the reason."""
    converted: list[object] = []
    refused: dict[int, str] = {}
    for i, value in enumerate(values.to_pylist()):
        converted.append(None)
        if value is not None:
            try:
                converted[i] = convert(value)
            except ValueError as error:
                refused[i] = reason_of(error)
    return Cast(pa.array(converted, target), refused)


def reason_of(error: ValueError) -> str:
    """Return our own reason; Python's texts contain the value."""
    if isinstance(error, DoesNotFit):
        return Unfit(error)
    return str(error) if type(error) is ValueError and not str(error).startswith(OF_PYTHON) else "cannot be read"


def cast_distinct(raw: pa.BinaryArray, text: Callable[[Any], str], cast: Callable[[pa.StringArray], Cast]) -> Cast:
    """Cast internal bytes by way of the text of a literal, each distinct value once."""
    coded = raw.dictionary_encode()
    texts = cast_each(coded.dictionary, text, pa.string())
    typed = cast(texts.values)
    reasons = {**typed.refused, **texts.refused}
    refused: dict[int, str] = {}
    if reasons:
        codes = coded.indices.fill_null(-1).to_numpy()
        refused = {int(i): reasons[int(codes[i])] for i in np.flatnonzero(np.isin(codes, list(reasons)))}
    return Cast(typed.values.take(coded.indices), refused)
