"""`remine`: mine a landed window again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from redolake.errors import ConfigurationError, Finding
from redolake.operations.declared import Option, Outcome, Verdict, operation
from redolake.values.moment import check_window

if TYPE_CHECKING:
    from redolake.context import Run

Window = Annotated[
    str,
    Option(
        "The window's name, as `redolake windows --output json` and the page show it.",
        "Window",
        positional=True,
        check=check_window,
    ),
]
Replace = Annotated[bool, Option("Put the files mined now in the place of the window's, which are damaged.")]
Discard = Annotated[bool, Option("Forget this window and all later ones, not applied yet: the next run mines them.")]


@operation("remine", reason="Stored with the decision; --discard needs it.", connects=True, final="discard")
def remine(run: Run, window: Window, replace: Replace = False, discard: Discard = False) -> Outcome:
    """Mine a landed window again and compare the result with its manifest. Without replace or discard, nothing is changed."""
    from redolake import steps

    if replace and discard:
        raise ConfigurationError([Finding(f"remine {window}", "replace and discard exclude each other", "choose one")])
    if discard:
        names = steps.discard_windows(run, window, shown=run.shown)
        what = "the next run mines it again" if run.execute else "would be forgotten"
        return Outcome({"discarded": names}, tuple(f"{name}: {what}" for name in names), shown=list(names))
    found = steps.remine_window(run, window, in_place=replace and run.execute)
    if not found.equal:
        text = f"They differ in: {', '.join(found.differs)}. Nothing was replaced."
        return Outcome(found, (text,), Verdict.DIFFERS, is_all=True)
    files = "were replaced" if found.replaced else "were not read"
    return Outcome(found, (f"The manifests are equal. The window's files {files}.",), is_all=not replace)
