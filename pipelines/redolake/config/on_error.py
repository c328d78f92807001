"""What happens to a change that cannot be applied, by the class of its error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from redolake.config.values import Settings
from redolake.values.quarantine import CLASSES, ErrorClass

HoldOrQuarantine = Literal["hold", "quarantine"]


def named_null(value: object) -> object:
    """Return the policy; YAML reads null as no value. One that is not written at all is refused before (yaml_text.py)."""
    return "null" if value is None else value


OfValue = Annotated[Literal["hold", "quarantine", "null"], BeforeValidator(named_null)]


class QuarantineLimit(Settings):
    """How much of a table may be in quarantine; beyond it the table is held."""

    rows: int = Field(100, ge=1, le=100_000, description="keys of the table that may be in quarantine and not worked off")
    percent: float | None = Field(
        None,
        gt=0,
        le=100,
        description="share of a table's changes in one batch that may go to quarantine (always one); default: any",
    )


class OnError(Settings):
    """What to do with a change that cannot be applied. A table's settings count before the pipeline's."""

    undecodable: HoldOrQuarantine = Field(
        "hold",
        description="a value outside the key is in a form of redo that is not understood: `hold` the table, or "
        "`quarantine` the row",
    )
    value: OfValue = Field(
        "hold",
        description="a value outside the key does not fit its column in the lake, or is no valid text: the same; or "
        "`null`: a number or time that does not fit becomes NULL, and is counted",
    )
    transform: HoldOrQuarantine = Field(
        "hold", description="`transform` raises for a row, or what the mapping computes does not fit its type: the same"
    )
    filter: Literal["hold"] = Field(
        "hold", description="`where` cannot be computed for a row: hold, since nobody knows whether the lake shall have it"
    )
    at_most: QuarantineLimit = QuarantineLimit()

    @property
    def quarantined(self) -> tuple[ErrorClass, ...]:
        """The classes of errors whose changes go to quarantine."""
        return tuple(name for name in CLASSES if getattr(self, name) == "quarantine")


def refuse_unsound(own: OnError, key: object, settings: Sequence[object]) -> None:
    """Raise ValueError for a table that asks for a quarantine it cannot have. `settings` say what is read again or
    assembled."""
    wanted = any(getattr(own, name) == "quarantine" for name in own.model_fields_set & set(CLASSES))
    if wanted and key == "append":
        raise ValueError("`on_error: quarantine` needs a key that says which row of the lake is wrong, and append is none")
    if wanted and ("reread" in settings or "redo" in settings):
        raise ValueError(
            "`on_error: quarantine` is for tables whose changes have all their values in one row of the redo, and this one's "
            "are read again or assembled"
        )
