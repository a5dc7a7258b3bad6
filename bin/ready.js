// The HEALTHCHECK of the container image: exit code 0 while the server of this machine is ready.
const { PORT = '8080', METRICS_PORT = PORT, ROLES = 'api' } = process.env
// A node without the API answers beside its metrics.
const port = ROLES.includes('api') ? PORT : METRICS_PORT
fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(4_000) }).then(
  (answer) => process.exit(answer.ok ? 0 : 1),
  () => process.exit(1),
)
