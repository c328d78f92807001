"""The value of an XMLTYPE column: a document counts whole, or the changes cannot be followed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from redolake.apply.objects.content import Unfollowable
from redolake.apply.objects.xml_document import Document


def read_text(octets: bytes) -> str:
    return octets.decode("iso8859-1")


def value_of(*parts: str | bytes | None, plain: bool = False) -> str | None:
    document = Document(read_text)
    document.begin(has_plain_parts=plain)
    for part in parts:
        document.add(part, is_plain=plain)
    document.end()
    return document.value()


def test_the_parts_of_a_document_are_joined() -> None:
    assert value_of("<a>", "ä", "</a>") == "<a>ä</a>"
    assert value_of(b"<a>\xe4", b"</a>") == "<a>ä</a>"
    assert value_of("<a>1</a>", "<b/>", plain=True) == "<a>1</a><b/>"  # content without one root
    assert value_of('<?xml version="1.0" encoding="ISO-8859-1"?>', "<ä/>") == '<?xml version="1.0" encoding="ISO-8859-1"?><ä/>'
    assert value_of(None) is None


def test_the_last_document_counts() -> None:
    document = Document(read_text)
    document.set("<old/>")
    document.keep()
    document.expect()
    for text in ("<a/>", "<b/>"):
        document.begin(has_plain_parts=False)
        document.add(text, is_plain=False)
        document.end()

    assert document.value() == "<b/>"


def unended(document: Document) -> None:
    document.begin(has_plain_parts=False)
    document.add("<a/>", is_plain=False)


def in_another_form(document: Document) -> None:
    document.begin(has_plain_parts=False)
    document.add("<a/>", is_plain=True)


REFUSED: dict[str, Callable[[Document], object]] = {
    "a document has no end": unended,
    "is not in the document's form": in_another_form,
    "comes before the document": lambda document: document.add("<a/>", is_plain=False),
    "no rows with a document follow": lambda document: document.expect(),
    "the row is not in the target": lambda document: document.keep(),
    "has an end, and no parts": lambda document: document.end(),
    "is in bytes": lambda document: document.set(b"x"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_not_a_whole_document_is_refused(why: str) -> None:
    document = Document(read_text)

    with pytest.raises(Unfollowable, match=why):
        (REFUSED[why](document), document.value())


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        (("<a>",), "not well-formed"),
        (("<a>", b"</a>"), "different forms"),
        (("<a/>", None), "different forms"),
        ((b"\x9f\x01\x63\x00",), "not well-formed"),  # Oracle's binary form, read in a character set that has all bytes
    ],
)
def test_a_document_with_missing_parts_is_refused(parts: tuple[str | bytes | None, ...], why: str) -> None:
    with pytest.raises(Unfollowable, match=why):
        value_of(*parts)
