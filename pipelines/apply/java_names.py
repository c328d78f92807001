"""Remember the Java classes that pyspark needs for every column. It asks for class and method each time, and Java looks through
every jar for the names without a package: 5,000 questions, and a tenth of the time, in a batch of five small tables.
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
    """Do so for all sessions of this process; it is no client of Spark Connect."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    for asked, name in ASKED_FOR.items():
        jvm.__dict__[asked] = RememberedClass(name, jvm._gateway_client)
