# Two stages: console and server are built with everything, the image keeps what the server needs. Never runs as root.
FROM node:26-bookworm-slim AS build
WORKDIR /app
COPY . .
# The image is the runtime, so the pinned one (an optional package) goes as well as the build tools.
RUN node scripts/bootstrap.js console server && npm prune --omit=dev --omit=optional --no-audit --no-fund

FROM node:26-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 DATA_DIR=/data
WORKDIR /app
COPY --from=build /app ./
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=30s --timeout=3s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/server/main.js"]
