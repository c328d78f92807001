"""The value of a large object after its changes: it equals Oracle's in either way to count characters, or is refused."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from redolake.apply.objects.content import Content, Unfollowable
from redolake.values.logminer import CHARACTERS, CODE_UNITS

COUNTED = {CHARACTERS: "utf-32-le", CODE_UNITS: "utf-16-le"}
ALPHABETS = {"ASCII": "abc", "BMP": "aä€", "beyond": "a€😀"}


class Source:
    """A CLOB as the database has it, as a list of what it counts."""

    def __init__(self, text: str, counts: str) -> None:
        self.counts, self.units = counts, split(text, counts)

    @property
    def text(self) -> str:
        return b"".join(self.units).decode(COUNTED[self.counts])


def split(text: str, counts: str) -> list[bytes]:
    octets, width = text.encode(COUNTED[counts]), 4 if counts == CHARACTERS else 2
    return [octets[i : i + width] for i in range(0, len(octets), width)]


def is_whole(units: list[bytes], counts: str) -> bool:
    try:
        b"".join(units).decode(COUNTED[counts])
    except UnicodeDecodeError:
        return False
    return True


def life(chance: random.Random, source: Source, alphabet: str) -> Iterator[tuple[str, int, int, str | None, str | None]]:
    """Change the source, and yield what the redo says: kind, offset, amount, text, and how the text's length was counted."""
    blank = " ".encode(COUNTED[source.counts])
    for _ in range(chance.randint(1, 8)):
        units, length = list(source.units), len(source.units)
        kind = chance.choice(["write", "write", "trim", "erase", "replace"])
        text = "".join(chance.choice(alphabet) for _ in range(chance.randint(1, 5)))
        piece, at = split(text, source.counts), chance.randint(1, length + 3)
        other = CODE_UNITS if source.counts == CHARACTERS else CHARACTERS
        counts = None if len(split(text, other)) == len(piece) else source.counts
        if kind in ("write", "replace"):
            at = 1 if kind == "replace" else at
            units += [blank] * (at - 1 - length)
            units[at - 1 : at - 1 + len(piece)] = piece
            happened = ("write", at, len(piece), text, counts)
        elif kind == "trim":
            at = chance.randint(0, length)
            del units[at:]
            happened = ("trim", at, 0, None, None)
        else:
            at, amount = min(at, max(length, 1)), chance.randint(1, 4)
            units[at - 1 : at - 1 + amount] = [blank] * len(units[at - 1 : at - 1 + amount])
            happened = ("erase", at, amount, None, None)
        if is_whole(units, source.counts):
            source.units = units
            yield happened


@pytest.mark.parametrize("counts", [CHARACTERS, CODE_UNITS])
@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_the_value_equals_the_source_or_is_refused(alphabet: str, counts: str) -> None:
    chance = random.Random(f"{alphabet} {counts}")
    refused = 0
    for _ in range(1_500):
        first = "".join(chance.choice(ALPHABETS[alphabet]) for _ in range(chance.randint(0, 6)))
        source, content = Source(first, counts), Content(is_text=True)
        content.set(first)
        try:
            for kind, at, amount, text, shown in life(chance, source, ALPHABETS[alphabet]):
                if kind == "write":
                    content.write(at, text, shown)
                elif kind == "trim":
                    content.trim(at)
                else:
                    content.erase(at, amount)
            found = content.value()
        except Unfollowable:
            refused += 1
        else:
            assert found == source.text

    assert (refused > 0) == (alphabet == "beyond")
    assert refused < 1_000


def test_octets_are_written_trimmed_and_erased() -> None:
    content = Content(is_text=False)
    content.set(b"0123456789")
    content.write(12, b"ab", None)
    content.erase(2, 3)
    content.trim(12)

    assert content.value() == b"0\0\0\x00456789\0a"


def test_null_stays_and_is_empty_for_a_write() -> None:
    content = Content(is_text=True)
    content.set(None)
    assert content.value() is None
    content.write(1, "ab", None)
    content.trim(2)

    assert content.value() == "ab"


def value_after(steps: list[tuple[str, tuple[object, ...]]]) -> object:
    content = Content(is_text=True)
    for name, arguments in steps:
        getattr(content, name)(*arguments)
    return content.value()


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ([("write", (1, "x", None))], "the row is not in the target"),
        ([("keep", ())], "the row is not in the target"),
        ([("set", ("ab",)), ("trim", (3,))], "trimmed to 3, and was shorter"),
        ([("set", ("ab",)), ("erase", (0, 1))], "erased from 0 on"),
        ([("set", ("ab",)), ("write", (0, "x", None))], "a write begins at 0"),
        ([("set", ("ab",)), ("write", (1, b"x", None))], "no value of the column's type"),
        ([("set", ("a😀b",)), ("write", (4, "x", None))], "count once or twice"),
        ([("set", ("",)), ("write", (1, "😀", CHARACTERS)), ("write", (1, "😀", CODE_UNITS))], "in two ways"),
        ([("begin", ("", 5))], "as when Oracle moves it"),
        ([("begin", ("", 5)), ("write", (1, "x", None, 6))], "as when Oracle moves it"),
        ([("begin", ("", 5)), ("write", (2, "x", None, 5))], "as when Oracle moves it"),
    ],
)
def test_changes_that_cannot_be_followed_are_refused(steps: list[tuple[str, tuple[object, ...]]], why: str) -> None:
    with pytest.raises(Unfollowable, match=why):
        value_after(steps)


def test_an_empty_value_that_its_own_transaction_fills_is_that() -> None:
    content = Content(is_text=True)
    content.begin("", 5)
    content.write(1, "ab", None, 5)

    assert content.value() == "ab"


def test_a_contradiction_shows_how_characters_are_counted() -> None:
    content = Content(is_text=True)
    content.set("😀b")
    content.trim(3)  # of two characters, or of three code units
    content.set("😀b")
    content.write(3, "c", None)

    assert content.value() == "😀c"


def test_how_characters_are_counted_is_known_for_a_value_set_later() -> None:
    content = Content(is_text=True)
    content.set("a")
    content.write(1, "😀", CHARACTERS)
    content.set("😀b")
    content.write(2, "c", None)

    assert content.value() == "😀c"
