"""The URL of the ledger's database from an Airflow connection's URI or JSON."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from redolake.errors import ConfigurationError, Finding

SCHEMES = frozenset({"postgres", "postgresql", "postgresql+psycopg"})
DRIVER = "postgresql+psycopg"
# What Airflow's own hook reads of `extra`, and no driver knows.
OF_AIRFLOW = frozenset({
    "cursor", "iam", "redshift", "cluster-identifier", "cluster_identifier", "workgroup-name", "aws_conn_id", "azure_conn_id",
    "sqlalchemy_scheme", "sqlalchemy_query", "enable_log_db_messages", "__extra__", "port", "df_type",
})  # fmt: skip
EXAMPLE = "postgresql://user:password@host/database, or JSON with conn_type postgres"


def url_of_connection(text: str, name: str) -> str:
    """Return the database URL. Raises ConfigurationError without the text, because that contains a password."""
    url = _of_json(text, name) if text.lstrip().startswith("{") else _of_uri(text, name)
    if not url.database:
        raise _unusable(name, "names no database")
    return url.render_as_string(hide_password=False)


def _of_uri(text: str, name: str) -> URL:
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise _unusable(name, "is no database URL") from None
    return _check(url.drivername, name, url.set(drivername=DRIVER))


def _of_json(text: str, name: str) -> URL:
    try:
        body: dict[str, Any] = json.loads(text)
        extra = body.get("extra") or {}
        given = json.loads(extra) if isinstance(extra, str) else extra
        query = {key: str(value) for key, value in given.items() if key not in OF_AIRFLOW and value is not None}
        url = URL.create(
            DRIVER,
            username=body.get("login") or None,
            password=body.get("password") or None,
            host=body.get("host") or None,
            port=int(body["port"]) if body.get("port") else None,
            database=body.get("schema") or None,
            query=query,
        )
    except (ValueError, TypeError, AttributeError):
        raise _unusable(name, "is not the JSON of a connection") from None
    return _check(str(body.get("conn_type")), name, url)


def _check(scheme: str, name: str, url: URL) -> URL:
    if scheme not in SCHEMES:
        raise _unusable(name, f"is of type {scheme!r}")
    return url


def _unusable(name: str, what: str) -> ConfigurationError:
    return ConfigurationError([Finding(name, what, f"the ledger takes {EXAMPLE}")])
