"""The settings of `pipelines.yml`: parsed and checked completely, all findings at once, before anything starts.

The file contains no secrets: `source.connection` and `ledger.connection` name Airflow connections (or their environment
variables), and `${NAME}` in any text is replaced from the environment.
"""

from redolake.config.airflow_settings import AirflowSettings
from redolake.config.configuration import Configuration
from redolake.config.file import (
    CONFIG_VARIABLE,
    DEFAULT_FILE,
    load_configuration,
    load_each,
    load_pipeline,
    parse_configuration,
    parse_each,
)
from redolake.config.ledger import LedgerSettings
from redolake.config.limits import Retry, WindowLimits
from redolake.config.pipeline import Pipeline
from redolake.config.tables import Table

__all__ = [
    "CONFIG_VARIABLE",
    "DEFAULT_FILE",
    "AirflowSettings",
    "Configuration",
    "LedgerSettings",
    "Pipeline",
    "Retry",
    "Table",
    "WindowLimits",
    "load_configuration",
    "load_each",
    "load_pipeline",
    "parse_configuration",
    "parse_each",
]
