"""Finds the bind variables and the kind of a statement in its text, exactly as Oracle's client drivers do.

Client and server must agree: a SQL statement gets one value per occurrence, PL/SQL one per distinct name, and the binds
of RETURNING .. INTO are described but not sent. The SQL engine interprets the statement.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

KEPT_TEXTS = 1000

_FIRST_WORD = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/|<<[^>]*>>|\()*([A-Za-z]+)", re.S)

_KINDS = {
    "query": "SELECT WITH",
    "dml": "INSERT UPDATE DELETE MERGE",
    "ddl": "CREATE ALTER DROP GRANT REVOKE ANALYZE AUDIT NOAUDIT COMMENT TRUNCATE RENAME PURGE FLASHBACK",
    "plsql": "BEGIN DECLARE CALL",
    "commit": "COMMIT",
    "rollback": "ROLLBACK",
}
_KIND_OF_WORD = {word: kind for kind, words in _KINDS.items() for word in words.split()}

_TOKEN = re.compile(
    r"""
      (?P<string>n?q'(?:\[.*?\]|\{.*?\}|\(.*?\)|<.*?>|(?P<delimiter>[^\s\[{(<]).*?(?P=delimiter))'|'[^']*')
    | "[^"]*"
    | --[^\n]*
    | /\*.*?\*/
    | :\s*(?:"(?P<quoted>[^"]+)"|(?P<plain>\d+|[^\W\d_][\w$#]*))
    | (?P<word>\w[\w$#]*)
    | \s+
    | .
    """,
    re.S | re.I | re.X,
)
# Oracle's reserved words, which name no bind unless they are quoted.
_RESERVED = (
    "ACCESS ADD ALL ALTER AND ANY AS ASC AUDIT BETWEEN BY CHAR CHECK CLUSTER COLUMN COMMENT COMPRESS CONNECT CREATE CURRENT "
    "DATE DECIMAL DEFAULT DELETE DESC DISTINCT DROP ELSE EXCLUSIVE EXISTS FILE FLOAT FOR FROM GRANT GROUP HAVING IDENTIFIED "
    "IMMEDIATE IN INCREMENT INDEX INITIAL INSERT INTEGER INTERSECT INTO IS LEVEL LIKE LOCK LONG MAXEXTENTS MINUS MLSLABEL "
    "MODE MODIFY NOAUDIT NOCOMPRESS NOT NOWAIT NULL NUMBER OF OFFLINE ON ONLINE OPTION OR ORDER PCTFREE PRIOR PUBLIC RAW "
    "RENAME RESOURCE REVOKE ROW ROWID ROWNUM ROWS SELECT SESSION SET SHARE SIZE SMALLINT START SUCCESSFUL SYNONYM SYSDATE "
    "TABLE THEN TO TRIGGER UID UNION UNIQUE UPDATE USER VALIDATE VALUES VARCHAR VARCHAR2 VIEW WHENEVER WHERE WITH "
)
RESERVED = frozenset(_RESERVED.split())
_WORD_CHARACTER = re.compile(r"[\w$#]")


@dataclass(frozen=True, slots=True)
class BoundSql:
    """A statement with its binds numbered by occurrence: `:b0`, `:b1` and so on in `text`."""

    text: str
    names: tuple[str, ...] = ()  # one per occurrence; unquoted names in upper case
    distinct: tuple[str, ...] = ()  # in order of first appearance
    returning_from: int | None = None  # index of the first bind of RETURNING .. INTO
    has_reserved_name: bool = False


def statement_kind(sql: str) -> str:
    """Return query, dml, ddl, plsql, commit, rollback or other, by the first word after comments and brackets."""
    match = _FIRST_WORD.match(sql)
    return _KIND_OF_WORD.get(match[1].upper(), "other") if match else "other"


@lru_cache(KEPT_TEXTS)
def scan_binds(sql: str) -> BoundSql:
    """Number the binds of `sql`, outside literals, quoted names and comments."""
    kind = statement_kind(sql)
    if kind == "ddl":  # drivers ignore binds in DDL: CREATE TRIGGER contains :new and :old
        return BoundSql(sql)
    pieces: list[str] = []
    names: list[str] = []
    returning_from: int | None = None
    has_reserved_name = False
    clause, after_string = "", False
    for token in _TOKEN.finditer(sql):
        kind_of_token = token.lastgroup
        piece = token[0]
        if kind_of_token in ("quoted", "plain"):
            if after_string:  # 'key':value of JSON_OBJECT is not a bind
                pieces.append(piece)
                after_string = False
                continue
            names.append(token["quoted"] or token["plain"].upper())
            has_reserved_name |= token["quoted"] is None and names[-1] in RESERVED
            if clause == "INTO" and returning_from is None:
                returning_from = len(names) - 1
            follows = sql[token.end() : token.end() + 1]
            piece = f":b{len(names) - 1}" + (" " if _WORD_CHARACTER.match(follows) else "")
        elif kind_of_token == "word" and kind == "dml":
            clause = _returning_clause(clause, piece.upper())
        if not piece.isspace():
            after_string = kind_of_token == "string"
        pieces.append(piece)
    return BoundSql("".join(pieces), tuple(names), tuple(dict.fromkeys(names)), returning_from, has_reserved_name)


def _returning_clause(clause: str, word: str) -> str:
    """Return the part of RETURNING .. INTO reached so far: empty, RETURNING or INTO."""
    if not clause:
        return "RETURNING" if word in ("RETURNING", "RETURN") else ""
    return "INTO" if clause == "INTO" or word == "INTO" else clause
