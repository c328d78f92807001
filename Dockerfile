# One image for Airflow, Spark and the `redolake` command, so that all of them have the same versions: those of constraints.txt.
# Each file is held against its hash.
FROM python:3.11.14-slim-bookworm

RUN apt-get update \
    && apt-get install -y --no-install-recommends openjdk-17-jre-headless curl procps \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /src
COPY pyproject.toml hatch_build.py constraints-hashes.txt README.md LICENSE ./
COPY sql sql
COPY pipelines pipelines
RUN sed -n '/^uv==/,/[^\\]$/p' constraints-hashes.txt > uv.txt && pip install --no-cache-dir --require-hashes -r uv.txt \
    && uv pip install --system --no-cache -c constraints-hashes.txt --build-constraints constraints-hashes.txt '.[airflow,compiled,postgres,s3]' \
    && cd / && rm -rf /src \
    && redolake spark setup

RUN useradd --create-home --uid 50000 redolake && mkdir -p /opt/airflow/logs && chown -R redolake /opt/airflow
COPY dags /opt/airflow/dags
ENV AIRFLOW_HOME=/opt/airflow AIRFLOW__CORE__LOAD_EXAMPLES=False PYTHONUNBUFFERED=1
WORKDIR /home/redolake
USER redolake
RUN redolake spark compile
