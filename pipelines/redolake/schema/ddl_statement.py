"""A DDL text of the redo as words. A form takes the words it knows; words that are left over make the statement unsupported.

The words come from sqlglot's Oracle tokenizer. Its parser is not used: it does not distinguish NUMBER from DECIMAL or FLOAT
from BINARY_FLOAT, and does not read much that Oracle allows (ENABLE, INVISIBLE, DROP (a, b), ON NULL).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from sqlglot.dialects.oracle import Oracle
from sqlglot.errors import TokenError
from sqlglot.tokens import Token, TokenType

from redolake.config.on_ddl import DEFAULT_POLICIES, DdlPolicies
from redolake.errors import SchemaConflict
from redolake.records.windows import DdlRow
from redolake.values.ddl_policies import ANSWERS, SNAPSHOT_ONLY, Answers, PolicyName
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.table import ALL_COLUMNS, ColumnChoice, OracleType, TableId, upper_name
from redolake.values.valid_text import NOT_VALID, has_marks

ReadingAfter = Callable[[int], DictionaryTable | None]
Refused = Callable[[str, OracleType], bool]  # (column, type) -> whether the type is not supported


def all_supported(_column: str, _type: OracleType) -> bool:
    return False


TEXTS = frozenset({TokenType.STRING, TokenType.RAW_STRING, TokenType.NATIONAL_STRING, TokenType.NATIONAL_RAW_STRING})


@dataclass(frozen=True, slots=True)
class Word:
    """A `name` was in double quotes, a `mark` is punctuation; a `word` keeps its case."""

    kind: Literal["word", "name", "text", "number", "mark"]
    text: str

    @property
    def upper(self) -> str:
        """The text to compare with keywords; empty for quoted names and texts."""
        return self.text.upper() if self.kind in ("word", "mark") else ""


def refusal(
    row: DdlRow, table: TableId, why: str, policy: PolicyName = "unknown_ddl", answers: Answers | None = None
) -> SchemaConflict:
    """Return the error that stops the table at this statement. `policy` is the setting of `on_ddl` that may answer it;
    `answers` are the values that do, where they are not those of the policy."""
    statement = " ".join(row.sql.split())
    if len(statement) > 300:
        statement = statement[:300] + " ..."
    return SchemaConflict(
        f"{why}: {statement}",
        cure=f"run `redolake snapshot {table} --replace` to read the table as it is now; to resume it would stop at the "
        f"same statement{_answers_of(table, policy, answers or ANSWERS[policy])}",
        table=table,
        scn=row.scn,
        thread=row.thread,
        rs_id=row.rs_id.strip(),
        policy=policy,
        ddl_choice=None if answers is None else ", ".join(answers.once) or "none",
    )


def _answers_of(table: TableId, policy: PolicyName, answers: Answers) -> str:
    """Return what lets the table go on without a snapshot, or by itself."""
    once = [f"`redolake resume {table} --ddl {choice} --reason .. --yes`{_WHEN.get(choice, '')}" for choice in answers.once]
    always = [f"`on_ddl: {{{policy}: {value}}}`{_THEN.get(value, '')}" for value in answers.on]
    later = [f"`on_ddl: {{{policy}: {value}}}` for later ones" for value in answers.later]
    found = [*once, *always, *later]
    return f", unless it is answered: {'; '.join(found)}" if found else ""


MAY_MOVE_ROWS: frozenset[PolicyName] = frozenset({"unknown_ddl", "drop_partition", "recreate"})
_WHEN = {"ignore": ", if it changed neither columns, key nor rows"}
_THEN = {"resnapshot": ", which takes the snapshot by itself"}


class DdlStatement:
    """A cursor over the words of one DDL row of `table`, which Oracle calls `in_oracle`. `after` returns the first dictionary
    reading after an SCN; `refused` returns whether a type is not supported; `choice` says which columns are captured. With
    `rowid_key` no person can say that a statement may be ignored: it may have moved rows."""

    def __init__(
        self,
        row: DdlRow,
        table: TableId,
        after: ReadingAfter | None = None,
        policies: DdlPolicies = DEFAULT_POLICIES,
        refused: Refused = all_supported,
        in_oracle: TableId | None = None,
        *,
        rowid_key: bool = False,
        choice: ColumnChoice = ALL_COLUMNS,
    ) -> None:
        self.in_oracle, self.rowid_key, self.choice = in_oracle or table, rowid_key, choice
        self.row, self.table, self._after, self.policies, self.refused = row, table, after, policies, refused
        if has_marks(row.sql):
            raise self.refuse(f"DDL whose text {NOT_VALID}")
        try:
            tokens = _tokens(row.sql.rstrip("\0"))  # some releases end the text with a NUL byte
            self._words = [word for token in tokens for word in _words_of(token)]
        except TokenError as error:
            raise self.refuse("DDL whose text cannot be read") from error
        while self._words and self._words[-1].upper == ";":
            self._words.pop()
        self._at = 0

    def dictionary_after(self) -> DictionaryTable | None:
        """Return the table as the dictionary described it at some time after the statement, if it was read since."""
        return None if self._after is None else self._after(self.row.scn)

    def refuse(self, why: str, policy: PolicyName = "unknown_ddl", answers: Answers | None = None) -> SchemaConflict:
        """Return the error that stops the table at this statement; see `refusal`."""
        if self.rowid_key and policy in MAY_MOVE_ROWS:
            answers = SNAPSHOT_ONLY
        return refusal(self.row, self.table, why, policy, answers)

    def not_understood(self) -> SchemaConflict:
        """Return the error for a statement with an unknown word at the cursor."""
        found = "its end" if self.done else repr(self._words[self._at].text[:60])
        return self.refuse(f"DDL that is not understood from {found} on")

    def from_start(self) -> DdlStatement:
        self._at = 0
        return self

    @property
    def done(self) -> bool:
        return self._at >= len(self._words)

    @property
    def position(self) -> int:
        return self._at

    def back_to(self, position: int) -> None:
        self._at = position

    def sees(self, *words: str) -> bool:
        """Return whether these keywords or marks come next."""
        ahead = self._words[self._at : self._at + len(words)]
        return [word.upper for word in ahead] == list(words)

    def take(self, *words: str) -> bool:
        """Go past these keywords or marks if they come next."""
        if not self.sees(*words):
            return False
        self._at += len(words)
        return True

    def take_any(self, *choices: str) -> str | None:
        """Take one of these phrases, each of one or more words, and return it."""
        return next((choice for choice in choices if self.take(*choice.split())), None)

    def need(self, *words: str) -> None:
        """Go past these keywords or marks. Raises SchemaConflict if others come next."""
        if not self.take(*words):
            raise self.not_understood()

    def name(self) -> str:
        """Take an identifier, and return it as the dictionary spells it."""
        word = self._next("word", "name")
        return word.text if word.kind == "name" else upper_name(word.text)

    def sees_name(self) -> bool:
        """Return whether an identifier comes next, or a keyword that might be one."""
        return self._kind() in ("word", "name")

    def skip(self) -> None:
        """Go past one word."""
        self._at += 1

    def text(self) -> str | None:
        return self._next("text").text if self._kind() == "text" else None

    def number(self) -> str | None:
        """Take an unsigned numeric literal. sqlglot splits `.5` into a dot and a number."""
        start = self._at
        dot = self.take(".")
        if self._kind() != "number":
            self._at = start
            return None
        return ("." if dot else "") + self._next("number").text

    def whole_number(self) -> int:
        word = self._next("number")
        if not word.text.isdecimal():
            raise self.not_understood()
        return int(word.text)

    def names_in_parentheses(self) -> list[str]:
        self.need("(")
        names = [self.name()]
        while self.take(","):
            names.append(self.name())
        self.need(")")
        return names

    def skip_parentheses(self) -> None:
        """Go past ( ... ) with any contents, nested parentheses included."""
        self.need("(")
        depth = 1
        while depth:
            if self.done:
                raise self.not_understood()
            depth += self.sees("(") - self.sees(")")
            self._at += 1

    def skip_item(self) -> None:
        """Go past the rest of one item of a list: up to the next comma or closing parenthesis, or the end."""
        while not (self.done or self.sees(",") or self.sees(")")):
            if self.sees("("):
                self.skip_parentheses()
            else:
                self.skip()

    def qualified_name(self) -> tuple[str | None, str]:
        first = self.name()
        return (first, self.name()) if self.take(".") else (None, first)

    def alter_table(self) -> bool:
        """Take ALTER TABLE [IF EXISTS] and the name. Raises SchemaConflict if it names another table than the redo row."""
        self.from_start()
        if not self.take("ALTER", "TABLE"):
            return False
        self.take("IF", "EXISTS")
        self.need_name_of_table()
        return True

    def need_name_of_table(self) -> None:
        """Go past the table's name. Raises SchemaConflict if it is another than the redo row's."""
        owner, name = self.qualified_name()
        if name != self.in_oracle.name or owner not in (None, self.in_oracle.owner):
            named = ".".join(part for part in (owner, name) if part is not None)
            raise self.refuse(f"the redo row is of {self.in_oracle}, but the statement names {named}")

    def _kind(self) -> str | None:
        return None if self.done else self._words[self._at].kind

    def _next(self, *kinds: str) -> Word:
        if self._kind() not in kinds:
            raise self.not_understood()
        self._at += 1
        return self._words[self._at - 1]


def _tokens(sql: str) -> list[Token]:
    tokens: list[Token] = Oracle().tokenize(sql)
    if tokens and tokens[0].token_type is TokenType.RENAME:  # sqlglot leaves the rest of such a command as one text
        return [tokens[0], *Oracle().tokenize(sql[tokens[0].end + 1 :])]
    return tokens


def _words_of(token: Token) -> list[Word]:
    if token.token_type is TokenType.IDENTIFIER:
        return [Word("name", token.text)]
    if token.token_type in TEXTS:
        return [Word("text", token.text)]
    if token.token_type is TokenType.NUMBER:
        return [Word("number", token.text)]
    if token.token_type.name.endswith("STRING"):  # U'..', X'..' and others: as a word, U'null' would be NULL
        raise TokenError(f"a literal of kind {token.token_type.name}")
    # sqlglot joins some keywords: PRIMARY KEY, DOUBLE PRECISION.
    return [Word("word" if part[0].isalpha() or part[0] == "_" else "mark", part) for part in token.text.split()]
