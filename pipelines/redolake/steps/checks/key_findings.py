"""Report what is wrong with the keys of masks and of an encrypted landing, and which of its files are still in clear text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import combinations

from redolake.config import Pipeline
from redolake.errors import ConfigurationError, Finding, RedolakeError
from redolake.host.encrypted_parquet import PARQUET, is_encrypted
from redolake.host.secrets import NEW_KEY, OF_LANDING, OF_MASKS, KeyUse, equal_keys, find_key, known_checks, read_key
from redolake.land import layout
from redolake.land.files import Files
from redolake.land.keys import LandingKeys
from redolake.records.keys import LandingKey
from redolake.records.lakes import LakeMark
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


def find_equal_keys(pipelines: Iterable[Pipeline]) -> list[Finding]:
    """Return a finding for each key of a pipeline that another one uses otherwise, or for its landing too. Masks of several
    pipelines may have one key: their hashes are equal then, and can be joined."""
    found = [(one, known_checks(one.secrets)) for one in pipelines]
    pairs = (
        (one, setting, secret, f"`{of_other[0]}` of pipeline {other.name}: {of_other[1]}", of_other[0])
        for (one, own), (other, others) in combinations(found, 2)
        for setting, secret, check in own
        for of_other in others
        if of_other[2] == check
    )
    return [finding for pair in pairs for finding in shared_key(*pair)]


def neighbour_keys(pipeline: Pipeline) -> Iterator[Finding]:
    """Yield the same for keys that other pipelines recorded, beside this landing or where a lake's mark says; their
    pipelines.yml may be on another machine. What cannot be read is left out."""
    own = known_checks(pipeline.secrets)
    for folder in neighbours(pipeline) if own else ():
        with suppress(RedolakeError):
            files = Files(folder)
            for name in files.names(layout.KEYS):
                recorded = files.read_record(LandingKey, f"{layout.KEYS}/{name}")
                for setting, secret, check in own:
                    if recorded is not None and recorded.fingerprint == check:
                        what = f"a key of the landing {folder}: {recorded.source}"
                        yield from shared_key(pipeline, setting, secret, what, OF_LANDING.setting)


def neighbours(pipeline: Pipeline) -> Iterable[str]:
    """Return the folders of the landings of other pipelines."""
    found, lake = list[str](), Files(pipeline.lake)
    with suppress(RedolakeError):
        found += [f"{pipeline.landing.rstrip('/')}/{name}" for name in Files(pipeline.landing).names("")]
    with suppress(RedolakeError):
        for name in lake.names(layout.LAKE_MARKS):
            with suppress(RedolakeError):
                mark = lake.read_record(LakeMark, f"{layout.LAKE_MARKS}/{name}")
                found += [] if mark is None else [mark.landing]
    return dict.fromkeys(folder for folder in found if folder != pipeline.landing_folder)


def shared_key(pipeline: Pipeline, setting: str, secret: SecretName, what: str, other: str) -> Iterator[Finding]:
    masks = (setting, other).count(OF_MASKS.setting)
    if masks < 2:
        why = "who may compute hashes can decrypt a landing" if masks else "who has it reads both landings"
        cure, severity = f"give each a key of its own: {NEW_KEY}", "error" if masks else "warning"
        yield Finding(f"{pipeline.name}: `{setting}`: {secret}", f"is the same key as {what}: {why}", cure, severity)


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
