"""What the product's comments say of pyarrow, sqlglot, SQLAlchemy, fsspec, psycopg and python-oracledb, asked of them."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import get_type_hints

import fsspec
import oracledb
import psycopg.errors
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlalchemy.engine import make_url
from sqlglot import exp, parse_one
from sqlglot.dialects.oracle import Oracle
from sqlglot.dialects.spark import Spark
from sqlglot.tokens import TokenType

from tests.support.assumes import assumes


def cast(text: str, type_: pa.DataType) -> object:
    return pa.array([text]).cast(type_)[0].as_py()


@assumes(
    "a cast of text to a whole number takes 0x10 for 16",
    of="pyarrow",
    used_in="pipelines/redolake/decode/datatypes/number.py",
    says="Arrow would read 0x10 as 16",
)
def test_arrow_casts_hexadecimal_text() -> None:
    assert cast("0x10", pa.int32()) == 16


@assumes(
    "a cast of text to a decimal of more than 128 bits gives another number, without an error",
    of="pyarrow",
    used_in="pipelines/redolake/decode/datatypes/number.py",
    says="it overflows silently above 128 bits",
)
def test_arrow_decimals_overflow_silently() -> None:
    assert cast("9" * 39, pa.decimal128(38, 0)) == Decimal("-20847100762815390390123822295304634369")


@assumes(
    "a cast of text with an exponent to a decimal may give zero or another number, without an error",
    of="pyarrow",
    used_in="pipelines/redolake/decode/datatypes/number.py",
    says="rounds numbers with an exponent",
)
@pytest.mark.parametrize("text", ["3.72064E-44", "44965421727271818557859589.757E5"])
def test_arrow_decimals_of_an_exponent_are_wrong(text: str) -> None:
    assert cast(text, pa.decimal128(38, 10)) != Decimal(text)


@assumes(
    "a cast of text to a timestamp of microseconds takes six decimals and no more",
    of="pyarrow",
    used_in="pipelines/redolake/decode/datatypes/datetime.py",
    says="Arrow reads up to six decimals",
)
def test_arrow_timestamps_have_six_decimals() -> None:
    assert cast("2024-01-01 00:00:00.123456", pa.timestamp("us")).microsecond == 123456  # type: ignore[attr-defined]
    with pytest.raises(pa.ArrowInvalid):
        cast("2024-01-01 00:00:00.1234560", pa.timestamp("us"))


@assumes(
    "a cast of text to a timestamp takes a date without a time",
    of="pyarrow",
    used_in="pipelines/redolake/decode/datatypes/datetime.py",
    says="It would also accept a date without a time",
)
def test_arrow_timestamps_need_no_time() -> None:
    assert str(cast("2024-01-01", pa.timestamp("us"))) == "2024-01-01 00:00:00"


@assumes(
    "Arrow has decimals whose scale is above the precision, or negative; Parquet refuses both",
    of="pyarrow",
    used_in="pipelines/redolake/source/snapshot.py",
    says="Arrow's decimals do, and Parquet's do not",
)
@pytest.mark.parametrize("scale", [4, -4])
def test_parquet_refuses_a_scale_above_the_precision(tmp_path: Path, scale: int) -> None:
    column = pa.array([None], pa.decimal128(2, scale))
    with pytest.raises(OSError, match="Scale must be a non-negative integer that does not exceed precision"):
        pq.write_table(pa.table({"a": column}), tmp_path / "a.parquet")


@assumes(
    "a changed bit in a page is another value, unless the page's checksum is compared",
    of="pyarrow",
    used_in="pipelines/redolake/land/parquet.py",
    says="Each page has a checksum, which Spark and pyarrow compare when they read it",
)
@assumes(
    "the checksum of a page is compared where it is asked for",
    of="pyarrow",
    used_in="docs/architecture/writes.md",
    says="Spark and pyarrow compare checksums of pages too",
)
def test_a_changed_page_is_an_error_by_its_checksum_only(tmp_path: Path) -> None:
    file, values = tmp_path / "a.parquet", list(range(10_000))
    pq.write_table(pa.table({"a": values}), file, write_page_checksum=True, compression="none", use_dictionary=False)
    octets = bytearray(file.read_bytes())
    octets[5000] ^= 1
    file.write_bytes(octets)

    assert pq.read_table(file)["a"].to_pylist() != values
    with pytest.raises(OSError, match="CRC checksum verification failed"):
        pq.read_table(file, page_checksum_verification=True)


@assumes(
    "Parquet refuses by an OSError what is wrong inside a file, and by an ArrowInvalid what is no Parquet",
    of="pyarrow",
    used_in="pipelines/redolake/land/parquet.py",
    says="Parquet's own refusals are OSErrors too",
)
def test_a_file_that_is_no_parquet_is_an_arrow_error(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and no footer")
    with pytest.raises(pa.ArrowInvalid, match="magic bytes not found"):
        pq.read_table(tmp_path / "a.parquet")


@assumes(
    "texts of any bytes can be made, and only a full validation looks at them",
    of="pyarrow",
    used_in="pipelines/redolake/values/valid_text.py",
    says="Arrow finds such a text in no time",
)
def test_arrow_finds_bytes_that_are_no_text() -> None:
    offsets = pa.array([0, 2], pa.int32()).buffers()[1]
    texts = pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(b"\xff\xfe")])
    texts.validate()
    with pytest.raises(pa.ArrowInvalid, match="Invalid UTF8"):
        texts.validate(full=True)


@assumes(
    "the parser makes one type of NUMBER, DECIMAL and NUMERIC",
    of="sqlglot",
    used_in="pipelines/redolake/schema/ddl_statement.py",
    says="Its parser is not used: it does not distinguish NUMBER from DECIMAL",
)
def test_sqlglot_does_not_distinguish_number_types() -> None:
    types = [parse_one(f"CREATE TABLE t (a {name})", read="oracle").find(exp.DataType) for name in ("NUMBER", "DECIMAL")]
    assert types[0] == types[1]


def oracle_tokens(text: str) -> list[str]:
    return [token.text for token in Oracle().tokenize(text)]


@assumes(
    "the tokenizer makes two tokens of .5",
    of="sqlglot",
    used_in="pipelines/redolake/schema/ddl_statement.py",
    says="sqlglot splits `.5` into a dot and a number",
)
def test_sqlglot_splits_a_number_that_begins_with_a_dot() -> None:
    assert oracle_tokens(".5") == [".", "5"]


@assumes(
    "the tokenizer leaves what follows RENAME as one text",
    of="sqlglot",
    used_in="pipelines/redolake/schema/ddl_statement.py",
    says="sqlglot leaves the rest of such a command as one text",
)
def test_sqlglot_does_not_split_a_rename() -> None:
    assert oracle_tokens("RENAME a TO b") == ["RENAME", "a TO b"]


@assumes(
    "the tokenizer joins PRIMARY KEY and DOUBLE PRECISION",
    of="sqlglot",
    used_in="pipelines/redolake/schema/ddl_statement.py",
    says="sqlglot joins some keywords",
)
def test_sqlglot_joins_keywords() -> None:
    assert oracle_tokens("PRIMARY KEY DOUBLE PRECISION") == ["PRIMARY KEY", "DOUBLE PRECISION"]


@assumes(
    "a call with too few arguments is an IndexError",
    of="sqlglot",
    used_in="pipelines/redolake/config/expressions.py",
    says="sqlglot's, for `map(a)` and a few others",
)
def test_sqlglot_raises_a_lookup_error() -> None:
    with pytest.raises(LookupError):
        Spark().parser().parse_into(exp.Condition, Spark().tokenize("map(a)"), "map(a)")


@assumes(
    "a semicolon is a token of its own",
    of="sqlglot",
    used_in="pipelines/redolake/config/expressions.py",
    says="TokenType.SEMICOLON",
)
def test_sqlglot_has_a_token_for_a_semicolon() -> None:
    assert TokenType.SEMICOLON in {token.token_type for token in Spark().tokenize("a; b")}


@assumes(
    "the path of a SQLite URL is unquoted",
    of="SQLAlchemy",
    used_in="pipelines/redolake/config/pipeline.py",
    says="which SQLAlchemy 2.0 takes for the path's own and 2.1 does not",
)
def test_sqlalchemy_unquotes_the_path_of_a_file() -> None:
    assert make_url("sqlite:////a%20b/x.db").database == "/a b/x.db"


@assumes(
    '`pipe_file(mode="create")` refuses a file that is there',
    of="fsspec",
    used_in="pipelines/redolake/host/filesystem.py",
    says="exactly one of two writers creates the",
)
@pytest.mark.parametrize("protocol", ["file", "memory"])
def test_fsspec_creates_a_file_once(tmp_path: Path, protocol: str) -> None:
    filesystem = fsspec.filesystem(protocol)
    filesystem.pipe_file(f"{tmp_path}/a", b"first", mode="create")
    with pytest.raises(FileExistsError):
        filesystem.pipe_file(f"{tmp_path}/a", b"second", mode="create")
    assert filesystem.cat_file(f"{tmp_path}/a") == b"first"


@assumes(
    "a database that takes no writes raises an InternalError, and not an OperationalError",
    of="psycopg",
    used_in="pipelines/redolake/ledger/base.py",
    says="InternalError",
)
@pytest.mark.parametrize("state", ["25006", "25P03", "25P04"])
def test_psycopg_raises_internal_errors_for_a_read_only_database(state: str) -> None:
    assert issubclass(psycopg.errors.lookup(state), psycopg.errors.InternalError)


@assumes(
    "the types of `ConnectParams` name every parameter of a connection",
    of="oracledb",
    used_in="pipelines/redolake/source/driver_options.py",
    says="whose own parameter names decide what is known",
)
def test_the_driver_names_its_parameters() -> None:
    hints = get_type_hints(oracledb.ConnectParams.__init__)
    assert {"user", "password", "wallet_location", "https_proxy", "tcp_connect_timeout"} <= hints.keys()
