# podium without torch, for CI and for reviewers:
#   docker build -t podium . && docker run --rm -v "$PWD:/data:ro" podium check .
# The image is 3.12.13-slim-trixie, by its digest: a tag can be moved
FROM python:3.12-slim@sha256:57cd7c3a7a273101a6485ba99423ee568157882804b1124b4dd04266317710de AS build
COPY . /source
RUN python -m pip install --no-cache-dir --require-hashes -r /source/requirements-build.lock
RUN python -m pip wheel --no-cache-dir --no-build-isolation --no-deps --wheel-dir /wheels /source \
    && cp /source/requirements.lock /wheels

FROM python:3.12-slim@sha256:57cd7c3a7a273101a6485ba99423ee568157882804b1124b4dd04266317710de
COPY --from=build /wheels /wheels
# What is compiled once at installation would be half of the size; short calls start as fast without
RUN python -m pip install --no-cache-dir --no-compile --require-hashes -r /wheels/requirements.lock \
    && python -m pip install --no-cache-dir --no-compile --no-deps /wheels/*.whl \
    && rm -r /wheels \
    && useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin podium
# By number: the host may have no such name
USER 10001
WORKDIR /data
ENTRYPOINT ["podium"]
CMD ["--help"]
