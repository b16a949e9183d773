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
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin abr-tts
COPY --from=build /opt/abr-tts /opt/abr-tts
COPY LICENSE NOTICE /usr/share/doc/abr-tts/
ENV PATH=/opt/abr-tts/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    ABR_TTS_SERVER__HOST=0.0.0.0
USER 10001:10001
EXPOSE 8765
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8765/healthz', timeout=2)"]
ENTRYPOINT ["abr-tts"]
CMD ["serve"]
