"""The command `redolake`, built once by the server that forks the processes of tests/e2e/kills.py."""

from __future__ import annotations

from typer.main import get_command

from pipelines.cli import app

COMMAND = get_command(app)
