"""The scripts of sql/setup: what `redolake setup-sql --flavour ..` prints without a pipelines file."""

from __future__ import annotations

from pipelines.setup_sql import Flavour, SetupChoices, default_user, setup_sql

FLAVOURS = tuple(Flavour)


def script(flavour: Flavour) -> str:
    return setup_sql(SetupChoices(flavour, default_user(flavour)))
