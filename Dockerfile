# One image for Airflow, Spark and the `redolake` command, so that all of them have the same versions: those of constraints.txt.
FROM python:3.11.14-slim-bookworm

RUN apt-get update \
    && apt-get install -y --no-install-recommends openjdk-17-jre-headless curl procps \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /src
COPY pyproject.toml hatch_build.py constraints.txt README.md LICENSE ./
COPY sql sql
COPY pipelines pipelines
RUN pip install --no-cache-dir -c constraints.txt '.[airflow,compiled,postgres,s3]' \
    && cd / && rm -rf /src \
    && redolake spark setup

RUN useradd --create-home --uid 50000 redolake && mkdir -p /opt/airflow/logs && chown -R redolake /opt/airflow
COPY dags /opt/airflow/dags
ENV AIRFLOW_HOME=/opt/airflow AIRFLOW__CORE__LOAD_EXAMPLES=False PYTHONUNBUFFERED=1
WORKDIR /home/redolake
USER redolake
RUN redolake spark compile
