"""What Airflow's list of providers shows of Redolake: the entry point that every process of Airflow loads."""

from __future__ import annotations


def get_provider_info() -> dict[str, str]:
    """Return the description for `airflow providers list`. The plugin and the DAG file are found without it."""
    return {
        "package-name": "redolake",
        "name": "Redolake",
        "description": "Replicate Oracle tables to Delta Lake, exactly, from archived redo logs.",
    }
