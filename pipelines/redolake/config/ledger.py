"""Where the ledger is."""

from __future__ import annotations

import re

from pydantic import Field, model_validator

from redolake.config.values import Settings


class LedgerSettings(Settings):
    url: str | None = Field(None, repr=False, description="SQLAlchemy URL; default: a SQLite file in a local landing folder")
    connection: str | None = Field(None, description="Airflow connection id of a PostgreSQL database")

    @model_validator(mode="after")
    def one_of_both(self) -> LedgerSettings:
        if self.url and self.connection:
            raise ValueError("give url or connection, not both")
        if self.url and re.match(r"sqlite(\+\w+)?:///(?!/)", self.url):
            raise ValueError(
                f"{self.url} is not absolute: each process would make a ledger below its own working folder; "
                "write sqlite:////path/file.db"
            )
        return self


def is_local(location: str) -> bool:
    """Return whether a folder of the settings is a path of this host, as opposed to a URL such as s3://bucket/folder."""
    return "://" not in location or location.startswith("file://")
