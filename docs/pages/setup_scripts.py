"""The scripts of sql/setup, as `redolake setup-sql --flavour ..` prints them without a pipelines file, and of docker/oracle."""

from __future__ import annotations

from redolake.source.setup_sql import Flavour, SetupChoices, default_user, setup_sql

FLAVOURS = tuple(Flavour)


def script(flavour: Flavour) -> str:
    return setup_sql(SetupChoices(flavour, default_user(flavour)))


def container_script() -> str:
    """Return the script that docker/oracle runs at every start: it asks no question."""
    return setup_sql(
        SetupChoices(Flavour.cdb, "C##REDOLAKE", "FREEPDB1", force_logging=True, archive_lag_seconds=60, prompts=False)
    )
