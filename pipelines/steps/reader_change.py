"""Who read the redo up to a position: LogMiner, or OpenLogReplicator, whose windows end at a checkpoint of its stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.context import PipelineContext
from pipelines.errors import ReplicatorRefused, Terminal
from pipelines.records.codec import from_body
from pipelines.records.windows import WindowManifest
from pipelines.source.olr import Anchor
from pipelines.source.olr.rows import SLICE
from pipelines.values.redo import Position

ANCHOR, SECONDS = "anchor", "seconds"  # in the circumstance of a slice


def last_window(context: PipelineContext, position: Position) -> WindowManifest | None:
    """Return the window that ends at the position; None at the beginning, and after a declared gap."""
    return next((one for one in context.landing.windows.last(1) if one.end_position == position.chain_position), None)


def stream_facts(manifest: WindowManifest) -> Mapping[str, Any]:
    """Return what is known of the stream at the window's end; nothing for a window that LogMiner read."""
    slices: Mapping[str, Mapping[str, Any]] = manifest.circumstance.get("slices", {})
    found = slices.get(str(SLICE), {})
    return found if ANCHOR in found else {}


def anchor_of(manifest: WindowManifest) -> Anchor:
    """Return the checkpoint at which a window ends. Raises ReplicatorRefused for one that LogMiner read."""
    body = stream_facts(manifest).get(ANCHOR)
    if body is None:
        raise ReplicatorRefused(
            "the last window was read by LogMiner: OpenLogReplicator would send a transaction whole that was open at its end",
            cure="set `kind: logminer` under `source` again; for OpenLogReplicator begin another pipeline",
            window=manifest.name,
        )
    return from_body(Anchor, body, f"the end of window {manifest.name}")


def check_read_by_logminer(context: PipelineContext, position: Position) -> None:
    """Raise Terminal where LogMiner would go on after OpenLogReplicator: of a transaction that was open then, it would read the
    rest only."""
    last = last_window(context, position)
    if last is not None and stream_facts(last):
        raise Terminal(
            "the last window was received from OpenLogReplicator: LogMiner would lack what open transactions changed before it",
            cure="set `kind: openlogreplicator` under `source` again; for LogMiner begin another pipeline",
            window=last.name,
        )


def check_was_mined(manifest: WindowManifest) -> None:
    """Raise Terminal for a window that was received: its redo cannot be mined again."""
    if stream_facts(manifest):
        raise Terminal(
            "the window was received from OpenLogReplicator, and LogMiner does not read the same rows",
            cure="restore its files from a copy, or read the tables again: `redolake snapshot OWNER.TABLE --replace`",
            window=manifest.name,
        )
