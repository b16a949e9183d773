# syntax=docker/dockerfile:1

FROM python:3.13-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
# Locks first: the layer of the dependencies is kept as long as they are.
COPY .ci/build.lock .ci/runtime.lock .ci/
RUN pip install --require-hashes -r .ci/build.lock \
    && pip wheel --require-hashes --no-build-isolation --wheel-dir /wheels -r .ci/runtime.lock
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY abr_tts/ abr_tts/
RUN pip wheel --no-build-isolation --no-deps --wheel-dir /wheels . \
    && python -m venv --without-pip /opt/abr-tts \
    && pip --python /opt/abr-tts/bin/python install --no-index --no-deps /wheels/*.whl

FROM python:3.13-slim-bookworm
LABEL org.opencontainers.image.title="abr-tts" \
    org.opencontainers.image.description="A streaming text-to-speech server whose audio survives bad networks" \
    org.opencontainers.image.licenses="Apache-2.0 AND BSD-3-Clause AND LGPL-2.1-or-later AND GPL-3.0-or-later"
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin abr-tts
# libopus comes in a wheel and not from the distribution: it is the build whose SHA-256 the server checks and
# with which every join and figure was measured. ABR_TTS_STREAM__OPUS_LIBRARY names another.
COPY --from=build /opt/abr-tts /opt/abr-tts
COPY LICENSE NOTICE /usr/share/doc/abr-tts/
ENV PATH=/opt/abr-tts/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    ABR_TTS_SERVER__HOST=0.0.0.0 ABR_TTS_SERVER__PORT=8765
# By number, so that Kubernetes can see that it is not root (runAsNonRoot).
USER 10001:10001
EXPOSE 8765
# Begins a drain: nothing new is taken, running streams have server.drain_s. Give it longer than that to stop.
STOPSIGNAL SIGTERM
# Plain HTTP: where the server itself ends TLS, replace it.
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as u; u.urlopen('http://127.0.0.1:' + os.environ['ABR_TTS_SERVER__PORT'] + '/healthz', timeout=2)"]
ENTRYPOINT ["abr-tts"]
CMD ["serve"]
