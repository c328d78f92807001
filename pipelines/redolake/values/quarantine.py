"""Decide which changes of a commit range go to quarantine, and which keys are known to be wrong afterwards.

The unit is a key in a commit range. If one change of a key cannot be applied, none of the range's changes of that key is, nor
of the keys that they have moved rows to or from. So a row of the lake is as the source's, or its key is listed. A listed key
is right again after a range whose changes say all of its row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

ErrorClass = Literal["undecodable", "value", "transform"]
CLASSES: tuple[ErrorClass, ...] = get_args(ErrorClass)
FOLDER = "_quarantine"  # of the lake
# `retried`: the row was read again. `listed`: a swap brings back a row that is wrong.
Kind = Literal["quarantined", "healed", "retried", "dropped", "listed"]
DECIDED: tuple[Kind, ...] = ("retried", "dropped", "listed")  # after what a batch has left at the same position
PUT_ASIDE: tuple[Kind, ...] = ("quarantined", "listed")
KeyState = Literal["open", "dropped"]


@dataclass(frozen=True, slots=True)
class QuarantineRule:
    """A table's part of `on_error`: changes with an error of these `classes` go to the Delta table at `path`.

    At most `rows` keys may be open, and at most `percent` of a range's changes may go there, but always one. Without
    `may_write` the quarantine is read, and what would go there holds the table."""

    path: str
    classes: tuple[ErrorClass, ...] = ()
    rows: int = 100
    percent: float | None = None
    may_write: bool = True


@dataclass(frozen=True, slots=True)
class Event:
    """What happened to a key, in effect once the table is complete to `position`. `at` orders the decisions of people at one
    position. A change that was put aside has its `commit_scn`, rows that were read again the `delta_version` that has them."""

    kind: Kind
    keys: tuple[str, ...]
    position: int
    at: str = ""
    commit_scn: int | None = None
    delta_version: int | None = None


@dataclass(frozen=True, slots=True)
class Touch:
    """A change of a range, by the keys that its row has before and after it. `lacks` says that its redo has not all values, and
    `is_bad` that it cannot be applied."""

    before: str | None
    after: str | None
    lacks: bool = False
    is_bad: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(key for key in (self.before, self.after) if key is not None))


@dataclass(frozen=True, slots=True)
class Decision:
    """`out` are the keys whose changes go to quarantine, `healed` those that the range makes right."""

    out: frozenset[str] = frozenset()
    healed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Wrong:
    """A key is wrong: changes of it are in quarantine from the position `since` on. Those from before are done."""

    state: KeyState
    since: int


def fold(events: Iterable[Event], position: int) -> dict[str, KeyState]:
    """Return the keys that are wrong in the table when it is complete to the position."""
    return {key: one.state for key, one in wrong_keys(events, position).items()}


def wrong_keys(events: Iterable[Event], position: int) -> dict[str, Wrong]:
    """Return the keys that are wrong in the table when it is complete to the position, and since when they are."""
    in_effect = (event for event in events if event.position <= position)
    wrong: dict[str, Wrong] = {}
    for event in sorted(in_effect, key=lambda one: (one.position, one.kind in DECIDED, one.at)):
        for key in event.keys:
            if event.kind in PUT_ASIDE:
                wrong[key] = Wrong("open", wrong[key].since if key in wrong else event.position)
            elif event.kind in ("healed", "retried"):
                wrong.pop(key, None)
            elif key in wrong:
                wrong[key] = replace(wrong[key], state="dropped")
    return wrong


def wrong_as_of(events: Iterable[Event], scn: int, version: int) -> dict[str, Wrong]:
    """Return the keys that are wrong at an SCN in a version of the Delta table that is the table there.

    A version may be the table inside a range of which all changes were put aside: each of them counts from its own commit on.
    Rows that were read again at a position are in the versions from their own on, and not in an older one of that position."""
    return wrong_keys((as_seen(event) for event in events if is_in_version(event, scn, version)), scn)


def as_seen(event: Event) -> Event:
    if event.kind != "quarantined" or event.commit_scn is None:
        return event
    return replace(event, position=min(event.position, event.commit_scn))


def is_in_version(event: Event, scn: int, version: int) -> bool:
    if event.kind != "retried":
        return True
    return event.position < scn if event.delta_version is None else event.delta_version <= version


def decide(wrong: Collection[str], touches: Sequence[Touch]) -> Decision:
    """Return what becomes of the keys. `touches` are in the order of the changes, and have at least all those of the keys that
    are wrong, of bad changes, and of the keys that those have in common with others (see `reach`)."""
    out = reach({key for touch in touches if touch.is_bad for key in touch.keys} | keys_still_wrong(wrong, touches), touches)
    touched = {key for touch in touches for key in touch.keys}
    return Decision(frozenset(out), frozenset(set(wrong) & touched - out))


def keys_still_wrong(wrong: Collection[str], touches: Sequence[Touch]) -> set[str]:
    """Return the wrong keys whose first change takes values from the row that is wrong."""
    first: dict[str, Touch] = {}
    for touch in touches:
        for key in touch.keys:
            first.setdefault(key, touch)
    return {key for key in wrong if key in first and first[key].lacks and first[key].before == key}


def reach(keys: set[str], touches: Sequence[Touch]) -> set[str]:
    """Return the keys, and those that share a change with one of them, however far."""
    shared = [set(touch.keys) for touch in touches if len(touch.keys) > 1]
    found = set(keys)
    while more := {key for pair in shared if pair & found for key in pair} - found:
        found |= more
    return found


def over_limit(rule: QuarantineRule, open_keys: int, taken: int, changes: int) -> str | None:
    """Return why a range may not go on: after it `open_keys` would be open, and `taken` of its `changes` would be in
    quarantine."""
    if open_keys > rule.rows:
        return f"{open_keys} keys would be in quarantine, and `at_most.rows` is {rule.rows}"
    if rule.percent is not None and taken > max(1, int(changes * rule.percent / 100)):
        return f"{taken} of {changes} changes would go to quarantine, and `at_most.percent` is {rule.percent:g}"
    return None
