# Two build stages, so that the final image contains no build tools. The same inputs give the same image:
# docs/supply-chain.md says how to build it that way. PYTHON can name a digest.
ARG PYTHON=python:3.12-slim
FROM ${PYTHON} AS build

ARG SOURCE_DATE_EPOCH
# Compiled files hold a hash of their source, not its time, and sets in them have a fixed order.
ENV PYC_INVALIDATION_MODE=unchecked-hash \
    PYTHONHASHSEED=0 \
    UV_COMPILE_BYTECODE=1 \
    UV_LINK_MODE=copy \
    UV_PYTHON_DOWNLOADS=never
WORKDIR /opt/assay

RUN pip install --no-cache-dir "uv==0.13.9"

# Install packages before copying the code, so that a code change does not rebuild this layer.
COPY pyproject.toml uv.lock ./
RUN uv sync --frozen --no-dev --extra scoring --extra monitoring

COPY . .
# Embedded mode needs no database and no secret.
RUN ASSAY_MODE=embedded ASSAY_DATA=/tmp/assay STATIC_ROOT=/opt/assay/staticfiles \
    .venv/bin/python manage.py collectstatic --noinput \
    # Assay makes its files private, but another user must be able to read these.
    && chmod --recursive a+rX staticfiles \
    && .venv/bin/python -m compileall -q --invalidation-mode unchecked-hash annotator reviews benchmark \
    && rm -rf /tmp/assay


FROM ${PYTHON}

ARG SOURCE_DATE_EPOCH
# PostgreSQL's own programs read and write backups. They must be as new as the server.
RUN apt-get update && apt-get install --yes --no-install-recommends postgresql-client \
    && rm -rf /var/lib/apt/lists/* /var/log/apt /var/log/dpkg.log /var/log/alternatives.log /var/cache/*
RUN groupadd --gid 10001 assay \
    && useradd --uid 10001 --gid assay --home-dir /data --no-create-home --shell /usr/sbin/nologin assay \
    && install --directory --owner assay --group assay /data /backups

COPY --from=build /opt/assay /opt/assay

ENV PATH=/opt/assay/.venv/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    DJANGO_SETTINGS_MODULE=annotator.config.settings \
    ASSAY_MODE=server \
    ASSAY_DATA=/data \
    STATIC_ROOT=/opt/assay/staticfiles
WORKDIR /opt/assay
USER assay
VOLUME /data
EXPOSE 8000

# Checks only whether the process responds, which a restart can fix. /readyz checks everything else.
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=4 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://localhost:8000/healthz', timeout=4)"]

CMD ["gunicorn", "annotator.config.wsgi:application", "--bind", "0.0.0.0:8000", \
     "--worker-class", "annotator.config.buffering_worker.BufferingWorker", "--workers", "3", "--threads", "4", "--worker-tmp-dir", "/dev/shm", \
     "--max-requests", "20000", "--max-requests-jitter", "4000", "--graceful-timeout", "30", \
     "--no-control-socket", "--access-logfile", "-"]
