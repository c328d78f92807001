"""Parses SQL with sqlglot: function calls as written for the expression compiler, translated for DuckDB."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import ClassVar

import sqlglot
from sqlglot import exp
from sqlglot.dialects.oracle import Oracle
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokens import TokenType

from standin.interface import OraError

# Parsing costs more than running most statements, and every stand-in of a process gets the same ones.
KEPT_TREES = 2000


class _OracleNames(Oracle):  # type: ignore[misc]
    """Oracle's grammar with ROLLBACK and COMMIT as names only: ROLLBACK is a column of V$LOGMNR_CONTENTS."""

    class Tokenizer(Oracle.Tokenizer):  # type: ignore[misc]
        KEYWORDS = {k: v for k, v in Oracle.Tokenizer.KEYWORDS.items() if k not in ("ROLLBACK", "COMMIT")}  # noqa: RUF012


def _serialized(name: str) -> Callable[[Oracle.Parser], exp.Expression]:
    """Return a parser of XMLSERIALIZE(CONTENT value AS type), and of JSON_SERIALIZE(value RETURNING type) and the like."""

    def parse(parser: Oracle.Parser) -> exp.Expression:
        parser._match_text_seq("CONTENT")
        value = parser._parse_bitwise()
        if parser._match_text_seq("AS") or parser._match_text_seq("RETURNING"):
            parser._parse_types()
        return exp.Anonymous(this=name, expressions=[value])

    return parse


def _json_object(parser: Oracle.Parser) -> exp.Expression:
    """Parse JSON_OBJECT('key' VALUE value, .. NULL ON NULL [RETURNING type]) as a call with keys and values in turn."""
    found = []
    while True:
        parser._match_text_seq("KEY")
        found.append(parser._parse_bitwise())
        if not (parser._match_text_seq("VALUE") or parser._match_text_seq("IS")):
            parser.raise_error("Expected VALUE")
        found.append(parser._parse_bitwise())
        if not parser._match(TokenType.COMMA):
            break
    if not parser._match_text_seq("NULL", "ON", "NULL"):
        parser.raise_error("Expected NULL ON NULL: the default is not modelled")
    _returning(parser)
    return exp.Anonymous(this="JSON_OBJECT", expressions=found)


def _json_query(parser: Oracle.Parser) -> exp.Expression:
    """Parse JSON_QUERY(value, path [RETURNING type] ERROR ON ERROR)."""
    value = parser._parse_bitwise()
    parser._match(TokenType.COMMA)
    path = parser._parse_bitwise()
    _returning(parser)
    if not parser._match_text_seq("ERROR", "ON", "ERROR"):
        parser.raise_error("Expected ERROR ON ERROR: without it Oracle returns NULL, which is not modelled")
    return exp.Anonymous(this="JSON_QUERY", expressions=[value, path])


def _returning(parser: Oracle.Parser) -> None:
    if parser._match_text_seq("RETURNING"):
        parser._parse_types()


def _xml_element(parser: Oracle.Parser) -> exp.Expression:
    """Parse XMLELEMENT([NAME] name, value ..) with the name as a literal."""
    parser._match_text_seq("NAME")
    name = parser._parse_id_var()
    found = [exp.Literal.string(identifier(name))]
    while parser._match(TokenType.COMMA):
        found.append(parser._parse_bitwise())
    return exp.Anonymous(this="XMLELEMENT", expressions=found)


_SERIALIZED = {name: _serialized(name) for name in ("XMLSERIALIZE", "JSON_SERIALIZE", "VECTOR_SERIALIZE")}


class _CallsAsWritten(_OracleNames):
    """Oracle's grammar without sqlglot's own functions, which would rewrite format masks; with MERGE's DELETE WHERE."""

    Tokenizer = _OracleNames.Tokenizer

    class Parser(Oracle.Parser):  # type: ignore[misc]
        FUNCTIONS: ClassVar[dict[str, object]] = {}
        FUNCTION_PARSERS = {  # noqa: RUF012
            **{k: v for k, v in Oracle.Parser.FUNCTION_PARSERS.items() if k in ("CAST", "EXTRACT", "TRIM")},
            **_SERIALIZED,
            "JSON_OBJECT": _json_object,
            "JSON_QUERY": _json_query,
            "XMLELEMENT": _xml_element,
        }
        NO_PAREN_FUNCTION_PARSERS = {k: v for k, v in Oracle.Parser.NO_PAREN_FUNCTION_PARSERS.items() if k == "CASE"}  # noqa: RUF012

        def _parse_when_matched(self) -> exp.Whens:
            """Parse the WHEN clauses; DELETE WHERE after the SET of one stands on that Update as `delete`."""
            found: list[exp.Expression] = []
            while self._match(TokenType.WHEN, advance=False):
                found += super()._parse_when_matched().expressions
                if self._match(TokenType.DELETE):
                    found[-1].args["then"].set("delete", self._parse_where())
            return exp.Whens(expressions=found)


@lru_cache(KEPT_TREES)
def parse_as_written(text: str) -> exp.Expression:
    """Return the tree of a text, which nobody may change: the next one who parses the text gets it too."""
    return _parsed(text, _CallsAsWritten)


def parse_for_duckdb(text: str) -> exp.Expression:
    return _parsed(text, _OracleNames)


def as_text(tree: exp.Expression) -> str:
    """Return the text of a tree of parse_as_written."""
    return str(tree.sql(dialect=_CallsAsWritten))


def _parsed(text: str, dialect: type[Oracle]) -> exp.Expression:
    try:
        statements = sqlglot.parse(text, dialect=dialect)
    except TokenError:
        raise OraError(1756, "quoted string not properly terminated") from None
    except ParseError as error:
        raise _syntax_error(error) from None
    if len(statements) != 1 or statements[0] is None:
        raise OraError(900, "invalid SQL statement") if not statements[0] else OraError(933, "SQL command not properly ended")
    tree = statements[0]
    if isinstance(tree, exp.Select) and not tree.expressions:
        raise OraError(936, "missing expression", 7)
    return tree


def _syntax_error(error: ParseError) -> OraError:
    details = error.errors[0] if error.errors else {}
    text = str(details.get("description", ""))
    position = max(0, int(details.get("col") or 1) - 1)
    if "Expecting )" in text:
        return OraError(907, "missing right parenthesis", position)
    if "Required keyword" in text or "Expected" in text:
        return OraError(936, "missing expression", position)
    return OraError(933, "SQL command not properly ended", position)


def identifier(node: exp.Expression | str | None) -> str:
    """Return a name as the dictionary spells it: upper case unless quoted. Return an empty string for None."""
    if node is None:
        return ""
    if isinstance(node, str):
        return node.upper()
    if isinstance(node, exp.Identifier):
        return str(node.this) if node.args.get("quoted") else str(node.this).upper()
    return identifier(node.this)
