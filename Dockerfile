# The base exists for amd64 and arm64. `scripts/container-image.ts` makes one from Debian's packages, without a registry.
# Node's version is the one in package.json, which is what was tested; a test compares the two.
ARG NODE_IMAGE=docker.io/library/node:26.10.0-bookworm-slim
ARG BUILD_IMAGE=${NODE_IMAGE}

# What is built is the same for every architecture, so it is built on the one of this machine.
FROM --platform=${BUILDPLATFORM:-linux/amd64} ${BUILD_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json ./
COPY e2e/api/client/package.json e2e/api/client/
# The secrets are optional: where to find the npm registry, and which authority signs its certificate.
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc --mount=type=secret,id=ca,target=/etc/npm-ca.pem \
    NODE_EXTRA_CA_CERTS=/etc/npm-ca.pem npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN node scripts/build-package.ts
# The package has no dependencies, and nothing of its own for an architecture. Node comes with the image.
RUN mkdir -p /empty /commands \
 && ln -s /app/bin/zonewatch.js /commands/zonewatch \
 && mv build /app

# No RUN from here on, so that an image for another architecture needs no emulation.
# The platform is the default, but Buildah 1.28 takes that of the stage above.
FROM --platform=${TARGETPLATFORM} ${NODE_IMAGE}
COPY --from=build /app /app
COPY --from=build /commands /usr/local/bin
COPY --from=build --chown=10001:10001 /empty /data
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data LOG_FORMAT=json PATH=/usr/local/bin:/usr/bin:/bin
USER 10001:10001
WORKDIR /app
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 CMD ["node", "/app/bin/ready.js"]
ENTRYPOINT ["node", "/app/bin/zonewatch.js"]
CMD ["serve"]
