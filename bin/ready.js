// The HEALTHCHECK of the container image: exit code 0 while the server of this machine is ready.
const url = `http://127.0.0.1:${process.env.PORT ?? 8080}/readyz`
fetch(url, { signal: AbortSignal.timeout(4_000) }).then(
  (answer) => process.exit(answer.ok ? 0 : 1),
  () => process.exit(1),
)
