# podium without torch, for CI and for reviewers:
#   docker build -t podium . && docker run --rm -v "$PWD:/data:ro" podium check .
FROM python:3.12-slim AS build
COPY . /source
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /source

FROM python:3.12-slim
COPY --from=build /wheels /wheels
# What is compiled once at installation would be half of the size; short calls start as fast without
RUN python -m pip install --no-cache-dir --no-compile /wheels/*.whl \
    && rm -r /wheels \
    && useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin podium
# By number: the host may have no such name
USER 10001
WORKDIR /data
ENTRYPOINT ["podium"]
CMD ["--help"]
