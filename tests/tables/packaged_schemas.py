"""The scripts of schemas that Java packages contain, from Maven Central."""

from __future__ import annotations

import zipfile
from pathlib import Path

from redolake.host.runtime import resolve_jars

CAMUNDA = "org.camunda.bpm:camunda-engine:7.21.0"
FLOWABLE = (
    "org.flowable:flowable-engine-common:7.1.0",
    "org.flowable:flowable-engine:7.1.0",
    "org.flowable:flowable-idm-engine:7.1.0",
)
_CAMUNDA = "org/camunda/bpm/engine/db/create/activiti.oracle.create"
SCRIPTS = {  # of each schema the packages and the files in them, in the order in which they run
    "camunda": [
        (CAMUNDA, f"{_CAMUNDA}.{part}.sql")
        for part in ("engine", "history", "identity", "case.engine", "case.history", "decision.engine", "decision.history")
    ],
    "flowable": [
        (FLOWABLE[0], "org/flowable/common/db/create/flowable.oracle.create.common.sql"),
        (FLOWABLE[1], "org/flowable/db/create/flowable.oracle.create.engine.sql"),
        (FLOWABLE[1], "org/flowable/db/create/flowable.oracle.create.history.sql"),
        (FLOWABLE[2], "org/flowable/idm/db/create/flowable.oracle.create.identity.sql"),
    ],
}
NOT_NEEDED = ("org.springframework:*", "org.mybatis:*", "joda-time:*", "com.fasterxml.jackson.core:*", "org.slf4j:*")


def packaged_scripts(folder: Path) -> dict[str, list[Path]]:
    """Write the scripts below `folder`, and return them by schema. Raises ConfigurationError where packages cannot be had."""
    packages = (CAMUNDA, *FLOWABLE)
    names = [f"{package.replace(':', '_', 1).replace(':', '-')}.jar" for package in packages]
    jars = dict(zip(packages, resolve_jars(folder, ",".join(packages), NOT_NEEDED, names), strict=True))
    found: dict[str, list[Path]] = {}
    for schema, files in SCRIPTS.items():
        for number, (package, name) in enumerate(files):
            script = folder / f"{schema}{number}.sql"
            with zipfile.ZipFile(jars[package]) as jar:
                script.write_bytes(jar.read(name))
            found.setdefault(schema, []).append(script)
    return found
