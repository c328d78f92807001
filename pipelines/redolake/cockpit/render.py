"""Render the cockpit's pages. Everything that is shown is escaped; the page loads nothing from elsewhere."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from redolake.cockpit import actions, texts
from redolake.cockpit.timeline import COLOURS, timeline_of
from redolake.cockpit.values import Overview, WindowLine
from redolake.errors import in_shell, with_options
from redolake.reconcile.table_state import WORST_FIRST, HistoryLine
from redolake.records.proofs import ProvedHistory
from redolake.records.shown_facts import ProofFact
from redolake.values import amounts
from redolake.values.terms import REPORTED

FOLDER = Path(__file__).with_name("page")
CHART = FOLDER / "uplot"  # the chart library as it was released, with its licence
STATIC = {
    "page.css": (FOLDER, "text/css"),
    "page.js": (FOLDER, "text/javascript"),
    "timeline.js": (FOLDER, "text/javascript"),
    "icon.svg": (FOLDER, "image/svg+xml"),
    "icon-dark.svg": (FOLDER, "image/svg+xml"),
    "uPlot.min.css": (CHART, "text/css"),
    "uPlot.iife.min.js": (CHART, "text/javascript"),
}
# The page's own script and style, and calls of Airflow's API: nothing inline, nothing from another host.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; "
    "frame-ancestors 'self'; base-uri 'none'"
)


def static_file(name: str) -> tuple[bytes, str] | None:
    """Return a file of the page and its type; None for any other name."""
    if name not in STATIC:
        return None
    folder, kind = STATIC[name]
    return (folder / name).read_bytes(), kind


@cache
def version() -> str:
    """Return a token that changes with the files, so that browsers keep none of an older version."""
    contents = b"".join((folder / name).read_bytes() for name, (folder, _) in sorted(STATIC.items()))
    return hashlib.sha256(contents).hexdigest()[:10]


@cache
def environment() -> Environment:
    made = Environment(loader=FileSystemLoader(FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    made.filters |= {
        "duration": amounts.duration,
        "size": amounts.size,
        "count": texts.count,
        "clock": texts.clock,
        "proof": proof_text,
        "history": history_text,
        "account": account_text,
        "prose": prose,
        "shell": in_shell,
    }
    made.policies["json.dumps_kwargs"] = {"default": _plain, "sort_keys": True}
    return made


def _plain(value: Any) -> Any:
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


def prose(text: str, pipeline: str = "") -> Markup:
    """Return the text with what is between backquotes as code; its commands name the pipeline."""
    parts = [escape(part) for part in with_options(text, [f"-p {pipeline}"] if pipeline else []).split("`")]
    return Markup("").join(Markup("<code>{}</code>").format(part) if n % 2 else part for n, part in enumerate(parts))


def proof_text(found: ProofFact) -> str:
    at = found.when.strftime("%Y-%m-%d %H:%M")
    if found.error is not None:
        return f"{at}: not compared, {found.error}"
    where = f"SCN {texts.count(found.scn)}, Delta version {found.delta_version}"
    part = "" if found.share == 1 else f" of a sample of {found.share:.1%}" if found.share else " that were repaired"
    apart = f", but for {found.quarantined_keys} keys in quarantine" if found.quarantined_keys else ""
    apart += f", {texts.count(found.nulled)} values NULL by rule" if found.nulled else ""
    said = proved_history_text(found.history)
    if found.has_equal_rows:
        rows = "rows" if found.rows is None else f"{texts.count(found.rows)} rows"
        return f"{at}: {rows}{part} are equal{apart}{said}, {where}"
    counts = f"{found.missing_rows} rows missing, {found.extra_rows} extra, {found.differing_cells} cells differ"
    return f"{at}: DIFFERS, {counts}{part}{apart}{said}, {where}"


def proved_history_text(found: ProvedHistory | None) -> str:
    if found is None:
        return ""
    if found.waits is not None:
        return ", the history begins again"
    same = f"{found.missing_rows} rows missing in the history, {found.extra_rows} extra"
    return ", and in the history" if found.is_equal else f", {same}"


def history_text(found: HistoryLine) -> str:
    if found.state is None:
        return f"History ({found.kind}): it begins with the next batch."
    size = "" if found.state.bytes is None else f"; {amounts.size(found.state.bytes)}"
    return f"History ({found.kind}): {texts.of_history(found.state)}{size}."


def account_text(window: WindowLine) -> str:
    """Return the row account as a sum: `120 = 100 applied + 20 still open`."""
    if window.rows is None:
        return "not landed yet"
    if not window.parts:
        return f"{texts.count(window.rows)} change rows" + ("" if window.state == "applied" else ", not applied yet")
    total = sum(part.rows for part in window.parts) + window.difference
    parts = " + ".join(f"{texts.count(part.rows)} {part.name}" for part in window.parts)
    return f"{texts.count(total)} = {parts}" + (f" + {window.difference} MISSING" if window.difference else "")


class Pages:
    """`root` is the path of the page's application, `airflow` that of the Airflow around it; neither ends with a slash."""

    def __init__(self, root: str, airflow: str, names: Sequence[str], now: datetime) -> None:
        self._shared = {"root": root, "airflow": airflow, "names": names, "now": now, "version": version(), "current": None}

    def index(self, overviews: Sequence[Overview], failed: Mapping[str, str]) -> str:
        """List all pipelines; those that need a person come first."""
        worst_first = sorted(overviews, key=lambda found: WORST_FIRST.index(found.health.tone))
        return self._render("index.html", overviews=worst_first, failed=failed)

    def notice(self, title: str, text: str) -> str:
        return self._render("notice.html", title=title, text=text)

    def pipeline(self, found: Overview, tables: Sequence[str], *, search: str = "", before: str | None = None) -> str:
        """`tables` are the names of the captured tables, which forms offer."""
        span = found.redo.ticks if found.redo is not None else ()
        return self._render(
            "pipeline.html",
            o=found,
            current=found.pipeline,
            actions=actions.pipeline_actions(found, tables),
            choices=actions.recovery_choices(found.pipeline, found.recovery),
            table_actions=lambda table: actions.table_actions(found.pipeline, table),
            quarantine_actions=lambda table: actions.quarantine_actions(found.pipeline, table),
            transaction_actions=lambda one: actions.transaction_actions(found.pipeline, one),
            decision_actions=lambda one: actions.decision_actions(found.pipeline, one, tables),
            window_actions=lambda window: actions.window_actions(found.pipeline, window, tables),
            dags=list(actions.PARTS.items()),
            timeline=timeline_of(found.windows, account_text),
            colours=COLOURS,
            reported=REPORTED,
            tick_seconds=len(span) > 1 and (span[1][1] - span[0][1]).total_seconds() < 60,
            search=search,
            before=before,
        )

    def _render(self, template: str, **values: Any) -> str:
        return environment().get_template(template).render({**self._shared, **values})
