"""Which options of a backfill its target has no use for: what was asked for is done, or refused by its name."""

from __future__ import annotations

from redolake.errors import ConfigurationError, Finding

UNUSED = {"live": ("--schema", "--folder"), "copy": ("--schema", "--folder", "--from-logs")}


def refuse_unused(target: str, *, schema: str, folder: str, from_logs: bool) -> None:
    """Raise ConfigurationError with the options that were given and that this target would drop."""
    given = {"--schema": schema == "current", "--folder": bool(folder), "--from-logs": from_logs}
    found = [name for name in UNUSED.get(target, ()) if given[name]]
    if found:
        raise ConfigurationError([Finding(name, f"is nothing for the target {target}", "leave it out") for name in found])
