"""The cockpit: what an operator sees of a pipeline, from the ledger alone. It writes nothing and asks Oracle nothing."""

from redolake.cockpit.overview import overview_of, read_overview
from redolake.cockpit.values import Overview

__all__ = ["Overview", "overview_of", "read_overview"]
