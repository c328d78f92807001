"""How JSON that Redolake has written is read back: older formats are read, what a newer one wrote is refused. Pure.

A new field raises the format number of what it stands in, so that an older Redolake says so instead of leaving it out. A
field that is not known is refused as well, whatever the number says: what it means, nobody here can tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from pipelines.errors import FormatTooNew

T = TypeVar("T")
CURE = "use the Redolake that wrote it, or a newer one"


def check_format(body: Mapping[str, Any], known: int, file: str) -> None:
    """What has no number is from before there was one."""
    found = int(body.get("format", 0))
    if found > known:
        raise FormatTooNew(f"written in format {found}, this Redolake knows {known}", cure=CURE, file=file)


def made(kind: type[T], body: Mapping[str, Any], file: str) -> T:
    """The value of a dataclass from its fields; those that older formats lack have defaults."""
    unknown = body.keys() - {f.name for f in fields(kind)}  # type: ignore[arg-type]
    if unknown:
        what = f"has fields that this Redolake does not know: {', '.join(sorted(unknown))}"
        raise FormatTooNew(what, cure=CURE, file=file)
    return kind(**body)
