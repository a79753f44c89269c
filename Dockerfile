# The command alone: docker build -t mahala . && docker run --rm -v "$PWD:/data" mahala evaluate wine.csv --label label
FROM rust:1.89-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev
WORKDIR /source
COPY . .
RUN cargo build --locked --profile dist -p mahala-cli

FROM debian:trixie-slim
COPY --from=build /source/target/dist/mahala /usr/local/bin/mahala
WORKDIR /data
ENTRYPOINT ["mahala"]
