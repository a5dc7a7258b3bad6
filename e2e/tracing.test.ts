import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { createApi } from '#server/testing/api-client.ts'
import { freePort } from '#server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY, eventually, givenEnvironment, givenServer } from '#server/testing/test-server.ts'

type Attribute = { key: string; value: { stringValue?: string; intValue?: number } }
type Span = {
  name: string
  traceId: string
  parentSpanId?: string
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: Attribute[]
}
type Batch = { resourceSpans: { resource: { attributes: Attribute[] }; scopeSpans: { spans: Span[] }[] }[] }

test('with OTEL_EXPORTER_OTLP_ENDPOINT a check, a delivery and a request are exported as spans without domain names', async () => {
  const { url, batches } = await givenCollector()
  const { dns, receiver, settings } = await givenEnvironment('sqlite')
  const server = await givenServer({ ...settings, ...ADMIN, WORKERS: '1', OTEL_EXPORTER_OTLP_ENDPOINT: url })
  const api = createApi(server.url, ADMIN_KEY)
  await api.post('/webhooks', { url: receiver.url, groups: ['default'] })
  dns.set('secret-name.example.com', 'A', ['192.0.2.1'])
  await api.post('/monitors', { full_domain: 'secret-name.example.com', record_type: 'A', expected_value: '192.0.2.1' })
  const traceId = 'a'.repeat(32)
  const traceparent = `00-${traceId}-${'b'.repeat(16)}-01`
  await fetch(`${server.url}/monitors`, { headers: { 'x-api-key': ADMIN_KEY, traceparent } })

  const spans = () =>
    batches.flatMap(({ resourceSpans }) =>
      resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((of) => of.spans)),
    )
  const named = (name: string) => spans().find((span) => span.name === name)
  const wanted = ['check', 'delivery', 'GET /monitors']
  await eventually(
    async () => wanted.filter((name) => !named(name)),
    (missing) => missing.length === 0,
  )

  const attributeOf = (name: string, key: string) => named(name)!.attributes.find((each) => each.key === key)?.value
  expect(attributeOf('check', 'zonewatch.outcome')).toEqual({ stringValue: 'verdict' })
  expect(attributeOf('delivery', 'zonewatch.result')).toEqual({ stringValue: 'delivered' })
  expect(attributeOf('GET /monitors', 'http.response.status_code')).toEqual({ intValue: 200 })
  expect(named('GET /monitors')).toMatchObject({ traceId, parentSpanId: 'b'.repeat(16) })
  for (const { startTimeUnixNano, endTimeUnixNano } of spans()) {
    expect(BigInt(endTimeUnixNano) >= BigInt(startTimeUnixNano)).toBe(true)
  }
  expect(JSON.stringify(batches)).not.toContain('secret-name')
  server.send('SIGTERM')
  expect(await server.ended).toMatchObject({ code: 0 })
})

test('a closed port for traces is one line of each process in the log, and the server works', async () => {
  const { dns, settings } = await givenEnvironment('sqlite')
  const OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${await freePort()}`
  const server = await givenServer({
    ...settings,
    ...ADMIN,
    WORKERS: '1',
    LOG_FORMAT: 'json',
    OTEL_EXPORTER_OTLP_ENDPOINT,
  })
  const api = createApi(server.url, ADMIN_KEY)
  dns.set('www.example.com', 'A', ['192.0.2.1'])
  const body = { full_domain: 'www.example.com', record_type: 'A', expected_value: '192.0.2.1' }
  expect((await api.post('/monitors', body)).status).toBe(201)
  const failures = () =>
    server
      .stdout()
      .split('\n')
      .filter((line) => line.includes('OTEL_EXPORTER_OTLP_ENDPOINT'))
  await eventually(
    async () => failures().length + (await api.get('/monitors')).status,
    (sum) => sum >= 201,
  )
  server.send('SIGTERM')
  expect(await server.ended).toMatchObject({ code: 0, stderr: '' })
  expect(failures().length).toBeLessThanOrEqual(2)
  expect(JSON.parse(failures()[0]!)).toEqual({
    level: 'warn',
    time: expect.any(Number),
    endpoint: OTEL_EXPORTER_OTLP_ENDPOINT,
    reason: expect.any(String),
    msg: expect.stringContaining('Traces cannot be exported'),
  })
})

/** A receiver of OTLP over HTTP in JSON. */
async function givenCollector() {
  const batches: Batch[] = []
  const collector = createServer(async (request, response) => {
    if (request.url !== '/v1/traces') throw new Error(`Unexpected request to ${request.url}.`)
    batches.push((await json(request)) as Batch)
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void collector.close())
  return { url: `http://127.0.0.1:${(collector.address() as { port: number }).port}`, batches }
}
