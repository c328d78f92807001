"""How a table is written in the lake, as the configuration says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Readers = Literal["widest", "spark"]


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """`readers` limits the Delta features in use. `spark`: each feature once it is needed. `widest`: none that a reader must
    know beyond timestamps without a zone; a change that would need one rewrites the table."""

    readers: Readers = "spark"


DEFAULT = TargetOptions()
