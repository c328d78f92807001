"""Report what is wrong with the keys of masks and of an encrypted landing, and which of its files are still in clear text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from redolake.config import Pipeline
from redolake.errors import ConfigurationError, Finding
from redolake.host.encrypted_parquet import PARQUET, is_encrypted
from redolake.host.secrets import OF_LANDING, OF_MASKS, KeyUse, equal_keys, find_key, read_key
from redolake.land import layout
from redolake.land.files import Files
from redolake.land.keys import LandingKeys
from redolake.values.mapping import SecretName

OLDER_CURE = "they go with `redolake prune`; for none at all, begin the pipeline with another `landing`"


def key_findings(pipeline: Pipeline) -> Iterator[Finding]:
    """Yield a warning for a key that is not set here, as tasks may run elsewhere, and an error for a wrong one."""
    files, subject = Files(pipeline.landing_folder), f"{pipeline.name}.landing_key"
    current = pipeline.landing_secret
    secrets = pipeline.secrets
    yield from equal_keys(secrets)
    for secret in (secret for setting, secret in secrets if setting == OF_MASKS.setting):
        yield from wrong(secret, "warning" if find_key(secret) is None else "error", OF_MASKS)
    if current is not None and find_key(current) is None:
        yield from wrong(current, "warning")
    else:
        try:
            LandingKeys(files, current).find()
        except ConfigurationError as error:
            yield from error.findings
    for secret in (secret for setting, secret in secrets if setting == "old_landing_keys"):
        yield from wrong(secret, "warning", replace(OF_LANDING, setting="old_landing_keys"))
    if current is not None and (clear := clear_files(files)):
        what = f"files that were written before it are in clear text, such as {clear}"
        severity = "warning" if pipeline.masked_in_landing == "refuse" else "note"
        yield Finding(subject, what, OLDER_CURE, severity)


def wrong(secret: SecretName, severity: str, use: KeyUse = OF_LANDING) -> Iterator[Finding]:
    try:
        read_key(secret, use)
    except ConfigurationError as error:
        yield from (Finding(one.subject, one.what, one.cure, severity) for one in error.findings)


def clear_files(files: Files) -> str | None:
    """Return a file of rows in clear text: of the oldest window, which was written first, or of a snapshot."""
    folders = [layout.window_folder(name) for name in files.names(layout.WINDOWS)[:1]]
    for table in files.names(layout.SNAPSHOTS):
        place = f"{layout.SNAPSHOTS}/{table}"
        folders += [f"{place}/{scn}" for scn in files.names(place)]
    paths = (f"{folder}/{name}" for folder in folders for name in files.names(folder) if name.endswith(PARQUET))
    return next((path for path in paths if not is_encrypted(path)), None)
