"""What `make soak` plays and `make test` leaves out: generated lives through Spark, whose parts have tests of their own."""

from __future__ import annotations

import os

import pytest

EXAMPLES = int(os.environ.get("REDOLAKE_EXAMPLES", "0"))

hunt = pytest.mark.skipif(not EXAMPLES, reason="a generated life through Spark: `make soak` plays it")
