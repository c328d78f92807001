"""Tokens of DDL and PL/SQL texts, and a cursor over them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from standin.interface import OraError

_TOKEN = re.compile(
    r"""
      (?P<space>\s+|--[^\n]*|/\*.*?\*/)
    | (?P<string>[nN]?'(?:[^']|'')*'|[nN]?[qQ]'(?:\[.*?\]|\{.*?\}|\(.*?\)|<.*?>|(?P<mark>[^\s\[{(<]).*?(?P=mark))')
    | "(?P<quoted>[^"]+)"
    | (?P<bind>:\s*(?:"[^"]+"|\w[\w$\#]*))
    | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+)
    | (?P<word>[^\W\d]\w*(?:[$\#\w])*)
    | (?P<sign>:=|=>|<>|!=|<=|>=|\|\||.)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A token. `value` is upper case for words, the content for strings and quoted names; `start` and `end` are offsets."""

    kind: str  # word, quoted, string, number, bind, sign, end
    value: str
    start: int
    end: int


def tokens_of(text: str) -> list[Token]:
    found, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match is not None, "the last alternative takes any character"
        at = match.end()
        kind = next(k for k in ("space", "string", "quoted", "bind", "number", "word", "sign") if match[k] is not None)
        if kind != "space":
            found.append(Token(kind, _value(kind, match), match.start(), match.end()))
    found.append(Token("end", "", len(text), len(text)))
    return found


def _value(kind: str, match: re.Match[str]) -> str:
    text = match[kind]
    if kind == "word":
        return text.upper()
    if kind == "string":
        body = text.lstrip("nN")
        return body[3:-2] if body[0] in "qQ" else body[1:-1].replace("''", "'")
    if kind == "bind":
        name = text[1:].strip()
        return name.strip('"') if name.startswith('"') else name.upper()
    return text


class Cursor:
    """Reads tokens. `accept` returns whether the next tokens are the given words, and skips them if so."""

    def __init__(self, text: str) -> None:
        self.text = text.rstrip().rstrip(";") if not text.rstrip().upper().endswith("END;") else text
        self._tokens = tokens_of(self.text)
        self._at = 0

    @property
    def next(self) -> Token:
        return self._tokens[self._at]

    @property
    def position(self) -> int:
        return self._at

    def go_to(self, position: int) -> None:
        self._at = position

    def ahead(self, count: int) -> Token:
        return self._tokens[min(self._at + count, len(self._tokens) - 1)]

    def take(self) -> Token:
        token = self._tokens[self._at]
        if token.kind != "end":
            self._at += 1
        return token

    def is_next(self, *words: str) -> bool:
        for at, word in enumerate(words, self._at):  # the end, which is no word, is the last token
            token = self._tokens[at]
            if token.value != word or token.kind not in ("word", "sign"):
                return False
        return True

    def accept(self, *words: str) -> bool:
        if not self.is_next(*words):
            return False
        self._at += len(words)
        return True

    def expect(self, *words: str) -> None:
        if not self.accept(*words):
            raise syntax_error(words[0], self.next.start)

    def name(self) -> str:
        """Read an identifier, spelled as in the dictionary."""
        token = self.take()
        if token.kind not in ("word", "quoted"):
            raise OraError(903 if token.kind == "end" else 904, f"{token.value}: invalid identifier", token.start)
        return token.value

    def qualified(self) -> tuple[str | None, str]:
        first = self.name()
        return (first, self.name()) if self.accept(".") else (None, first)

    def names(self) -> list[str]:
        """Read `( a, b, ... )`."""
        self.expect("(")
        found = [self.name()]
        while self.accept(","):
            found.append(self.name())
        self.expect(")")
        return found

    def parenthesised(self) -> str:
        """Read the text between matching parentheses."""
        self.expect("(")
        start, depth = self.next.start, 1
        while depth:
            token = self.take()
            if token.kind == "end":
                raise OraError(907, "missing right parenthesis", token.start)
            depth += (token.value == "(") - (token.value == ")") if token.kind == "sign" else 0
        return self.text[start : token.start].strip()

    def expressions(self) -> list[str]:
        """Read the texts of `( a, b, ... )`."""
        self.expect("(")
        found: list[str] = []
        start, depth = self.next.start, 0
        while True:
            token = self.take()
            if token.kind == "end":
                raise OraError(907, "missing right parenthesis", token.start)
            if token.kind == "sign" and depth == 0 and token.value in (",", ")"):
                found.append(self.text[start : token.start].strip())
                start = token.end
                if token.value == ")":
                    return found
            elif token.kind == "sign":
                depth += (token.value == "(") - (token.value == ")")

    def end(self) -> None:
        if self.next.kind != "end" and not (self.accept(";") and self.next.kind == "end"):
            raise OraError(933, "SQL command not properly ended", self.next.start)

    def drop_words(self, at: int, choices: tuple[tuple[str, ...], ...]) -> None:
        """Forget words that may stand at an offset from here, in the order of `choices`, if CREATE is next."""
        for words in choices:
            here = self._tokens[self._at + at : self._at + at + len(words)]
            if self.is_next("CREATE") and tuple(token.value for token in here) == words:
                del self._tokens[self._at + at : self._at + at + len(words)]

    def skip_rest(self) -> None:
        self._at = len(self._tokens) - 1


def syntax_error(wanted: str, position: int) -> OraError:
    known = {"(": (906, "missing left parenthesis"), ")": (907, "missing right parenthesis"), "=": (927, "missing equal sign")}
    code, text = known.get(wanted, (905, f"missing keyword {wanted}"))
    return OraError(code, text, position)
