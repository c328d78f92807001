"""Look up the Java classes and methods of pyspark's column functions once.

pyspark asks Java for both at every call, and Java searches every jar for a name without a package. A batch of five small tables
had 5,000 such calls.
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaClass, JavaMember
from pyspark.sql import SparkSession

# As pyspark names them, and as Java does.
ASKED_FOR = {
    "functions": "org.apache.spark.sql.functions",
    "org.apache.spark.sql.functions": "org.apache.spark.sql.functions",
    "PythonUtils": "org.apache.spark.api.python.PythonUtils",
}


class RememberedClass(JavaClass):  # type: ignore[misc]
    """A class whose methods are looked up once."""

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)
        if isinstance(found, JavaMember):
            self.__dict__[name] = found
        return found


def remember_java_names(spark: SparkSession) -> None:
    """Remember them for all sessions of this process. `spark` must not be a Connect session."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    for asked, name in ASKED_FOR.items():
        jvm.__dict__[asked] = RememberedClass(name, jvm._gateway_client)
