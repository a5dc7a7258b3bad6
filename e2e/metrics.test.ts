import { createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '#server/database/open.ts'
import { createApi } from '#server/testing/api-client.ts'
import { freePort } from '#server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY, eventually, givenEnvironment, givenServer } from '#server/testing/test-server.ts'

/** The sum of the matching series over all processes. Undefined without a match. */
function sumOf(text: string, series: RegExp): number | undefined {
  const values = text.split('\n').flatMap((line) => (series.test(line) ? [Number(line.split(' ').at(-1))] : []))
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0)
}

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`the metrics of a server on ${engine} show the work of all of its processes, and a restart`, async () => {
    const { dns, receiver, settings, databaseUrl } = await givenEnvironment(engine)
    const db = openDatabase(databaseUrl, { connections: 1 })
    onTestFinished(() => db.destroy())
    const port = String(await freePort())
    const server = await givenServer({ ...settings, ...ADMIN, WORKERS: '2', METRICS_PORT: port })
    const read = async (path: string) => await fetch(`http://127.0.0.1:${port}${path}`)
    const metrics = async () => await (await read('/metrics')).text()
    const api = createApi(server.url, ADMIN_KEY)
    await api.post('/webhooks', { url: receiver.url, groups: ['default'] })
    dns.set('www.example.com', 'A', ['192.0.2.1'])
    await api.post('/monitors', { full_domain: 'www.example.com', record_type: 'A', expected_value: '192.0.2.1' })

    const text = await eventually(
      metrics,
      (text) => (sumOf(text, /^zonewatch_deliveries_total{result="delivered"/) ?? 0) > 0,
    )
    expect(sumOf(text, /^zonewatch_checks_total{outcome="verdict"/)).toBeGreaterThan(0)
    expect(sumOf(text, /^zonewatch_confirmations_total{reason="first_check"/)).toBeGreaterThan(0)
    expect(sumOf(text, /^zonewatch_events_total/)).toBe(1)
    expect(sumOf(text, /^zonewatch_check_lateness_seconds_count/)).toBeGreaterThan(0)
    expect(sumOf(text, /^zonewatch_dns_queries_total{.*rcode="NOERROR"/)).toBeGreaterThan(0)
    expect(sumOf(text, /^zonewatch_http_requests_total{.*route="\/monitors",status="201"/)).toBe(1)
    expect(sumOf(text, /^zonewatch_database_size_bytes/)).toBeGreaterThan(1_000)
    expect(sumOf(text, /^zonewatch_process_up/)).toBe(3)
    await eventually(metrics, (text) => sumOf(text, /^zonewatch_instances{role="checker"}/) === 2)

    const { pid } = await db
      .selectFrom('processes')
      .select('pid')
      .where('loops', 'like', '%checker%')
      .executeTakeFirstOrThrow()
    process.kill(pid, 'SIGKILL')
    await eventually(metrics, (text) => sumOf(text, /^zonewatch_process_restarts_total{process="worker/) === 1)
    await eventually(
      () => read('/readyz'),
      ({ status }) => status === 200,
    )
    server.send('SIGTERM')
    expect(await server.ended).toMatchObject({ code: 0, stderr: '' })
  })
}

test('a node without the API answers liveness, readiness and metrics on METRICS_PORT', async () => {
  const { settings } = await givenEnvironment('sqlite')
  const port = String(await freePort())
  await givenServer({ ...settings, ROLES: 'checker', WORKERS: '1', METRICS_PORT: port })
  const read = async (path: string, method = 'GET') => await fetch(`http://127.0.0.1:${port}${path}`, { method })

  await eventually(
    () => read('/readyz'),
    ({ status }) => status === 200,
  )
  expect(await (await read('/healthz')).json()).toEqual({ status: 'ok' })
  expect(await (await read('/metrics')).text()).toContain('zonewatch_process_up{process="worker-1",roles="checker"} 1')
  expect((await read('/monitors')).status).toBe(404)
  expect((await read('/metrics', 'POST')).status).toBe(405)
})

test('a METRICS_PORT in use ends the start with one sentence', async () => {
  const { settings } = await givenEnvironment('sqlite')
  const taken = createServer()
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  const { port } = taken.address() as { port: number }
  try {
    await expect(givenServer({ ...settings, METRICS_PORT: String(port) })).rejects.toThrow(
      `METRICS_PORT ${port} on 127.0.0.1 cannot be listened on: it is in use by another program.`,
    )
  } finally {
    taken.close()
  }
})
