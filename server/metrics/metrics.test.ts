import { expect, test } from 'vitest'
import { type DnsStatus, Metrics } from './metrics.ts'
import { expose } from './registry.ts'

const RESOLVER = '192.0.2.53:53'
const answered = { server: RESOLVER, transport: 'udp', rcode: 'NOERROR', outcome: { kind: 'answer' }, ms: 4 }

/** The series above 0. */
const countedIn = async (metrics: Metrics, name: string) =>
  (await seriesOf(metrics, name)).filter((line) => !line.endsWith(' 0'))

async function seriesOf(metrics: Metrics, name: string): Promise<string[]> {
  const { text } = await expose([{ families: metrics.collect() }])
  return text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
}

test('queries are counted by resolver and response code, and a histogram adds up', async () => {
  const metrics = new Metrics([RESOLVER])
  for (const ms of [4, 500, 60_000]) metrics.query({ ...answered, ms })
  metrics.query({ ...answered, rcode: null, outcome: { kind: 'timeout' } })

  expect(await countedIn(metrics, 'zonewatch_dns_queries_total')).toEqual([
    `zonewatch_dns_queries_total{upstream="${RESOLVER}",transport="udp",rcode="NOERROR"} 3`,
    `zonewatch_dns_queries_total{upstream="${RESOLVER}",transport="udp",rcode="timeout"} 1`,
  ])
  const buckets = await seriesOf(metrics, 'zonewatch_dns_query_duration_seconds_bucket')
  const cumulative = Object.fromEntries(
    buckets.map((line) => [/le="([^"]+)"/.exec(line)![1], Number(line.split(' ')[1])]),
  )
  expect(cumulative).toMatchObject({ '0.0025': 0, '0.005': 2, '0.025': 2, '0.5': 3, '5': 3, '+Inf': 4 })
  const [sum] = await seriesOf(metrics, 'zonewatch_dns_query_duration_seconds_sum')
  expect(Number(sum!.split(' ')[1])).toBeCloseTo(60.508)
})

test('what strangers send makes no label: other servers and codes have one name each', async () => {
  const metrics = new Metrics([RESOLVER])
  for (let number = 0; number < 300; number++) {
    metrics.query({ ...answered, server: `198.51.100.${number}:53`, rcode: `RCODE${number + 100}` })
    metrics.request('GET', undefined, 404, 1)
  }

  expect(await countedIn(metrics, 'zonewatch_dns_queries_total')).toEqual([
    'zonewatch_dns_queries_total{upstream="authoritative",transport="udp",rcode="other"} 300',
  ])
  expect(await seriesOf(metrics, 'zonewatch_http_requests_total')).toEqual([
    'zonewatch_http_requests_total{method="GET",route="unmatched",status="404"} 300',
  ])
})

test('alerts are counted by the type of their channel and the result', async () => {
  const metrics = new Metrics()
  metrics.alert('slack', 'sent')
  metrics.alert('slack', 'sent')
  metrics.alert('email', 'failed')
  const alerts = await seriesOf(metrics, 'zonewatch_alerts_total')
  expect(alerts).toContain('zonewatch_alerts_total{channel="email",result="retry"} 0')
  expect(alerts.filter((line) => !line.endsWith(' 0'))).toEqual([
    'zonewatch_alerts_total{channel="email",result="failed"} 1',
    'zonewatch_alerts_total{channel="slack",result="sent"} 2',
  ])
})

test('deliveries, emails, requests and statements are counted, and their durations', async () => {
  const metrics = new Metrics()
  metrics.delivery('delivered', 30)
  metrics.delivery('withdrawn')
  metrics.mail('failed')
  metrics.request('POST', '/monitors', 201, 40)
  metrics.statement(2, false)
  metrics.statement(3_000, true)
  metrics.busyRetry()
  const counts = (name: string) => countedIn(metrics, name)

  expect(await counts('zonewatch_deliveries_total')).toEqual([
    'zonewatch_deliveries_total{result="delivered"} 1',
    'zonewatch_deliveries_total{result="withdrawn"} 1',
  ])
  expect(await counts('zonewatch_delivery_duration_seconds_sum')).toEqual([
    'zonewatch_delivery_duration_seconds_sum 0.03',
  ])
  expect(await counts('zonewatch_mails_total')).toEqual(['zonewatch_mails_total{result="failed"} 1'])
  expect(await counts('zonewatch_http_request_duration_seconds_sum')).toEqual([
    'zonewatch_http_request_duration_seconds_sum{method="POST",route="/monitors"} 0.04',
  ])
  expect(await counts('zonewatch_database_statement_duration_seconds_sum')).toEqual([
    'zonewatch_database_statement_duration_seconds_sum{result="ok"} 0.002',
    'zonewatch_database_statement_duration_seconds_sum{result="error"} 3',
  ])
  expect(await counts('zonewatch_database_busy_retries_total')).toEqual(['zonewatch_database_busy_retries_total 1'])
})

test('a process says since when it runs, its memory, its CPU time and how busy its event loop was', async () => {
  const metrics = new Metrics()
  const numberOf = async (name: string) => Number((await seriesOf(metrics, name))[0]!.split(' ')[1])
  const started = await numberOf('process_start_time_seconds')
  expect(started).toBeGreaterThan(1_700_000_000)
  expect(started * 1_000).toBeLessThan(Date.now())
  expect(await numberOf('process_resident_memory_bytes')).toBeGreaterThan(await numberOf('nodejs_heap_used_bytes'))
  expect(await numberOf('nodejs_heap_used_bytes')).toBeGreaterThan(1_000_000)
  expect(await numberOf('process_cpu_seconds_total')).toBeGreaterThan(0)
  expect(await numberOf('nodejs_eventloop_active_seconds_total')).toBeGreaterThan(0)
})

test('resolvers and canaries are read at the moment of the scrape', async () => {
  const metrics = new Metrics([RESOLVER])
  const status: DnsStatus = {
    upstreams: [{ address: RESOLVER, inFlight: 3, queued: 2, setAside: 1 }],
    canaries: 'offline',
  }
  metrics.readDnsStatus(() => status)

  expect(await seriesOf(metrics, 'zonewatch_canary_state')).toEqual([
    'zonewatch_canary_state{state="ok"} 0',
    'zonewatch_canary_state{state="captive_portal"} 0',
    'zonewatch_canary_state{state="offline"} 1',
  ])
  expect(await seriesOf(metrics, 'zonewatch_dns_queries_in_flight')).toEqual([
    `zonewatch_dns_queries_in_flight{upstream="${RESOLVER}"} 3`,
  ])
  expect(await seriesOf(metrics, 'zonewatch_dns_queries_queued')).toEqual([
    `zonewatch_dns_queries_queued{upstream="${RESOLVER}"} 2`,
  ])
  expect(await seriesOf(metrics, 'zonewatch_dns_upstream_set_aside')).toEqual([
    `zonewatch_dns_upstream_set_aside{upstream="${RESOLVER}"} 1`,
  ])
  status.canaries = 'ok'
  expect((await seriesOf(metrics, 'zonewatch_canary_state'))[0]).toBe('zonewatch_canary_state{state="ok"} 1')
})

test('a scraper that knows OpenMetrics gets it, with counters under one suffix', async () => {
  const metrics = new Metrics()
  metrics.events(2)
  const { contentType, text } = await expose(
    [{ families: metrics.collect(), process: 'api' }],
    'application/openmetrics-text;version=1.0.0,text/plain;q=0.5',
  )

  expect(contentType).toContain('application/openmetrics-text')
  expect(text).toContain('# TYPE zonewatch_events counter\nzonewatch_events_total{process="api"} 2\n')
  expect(text).not.toContain('_total_total')
  expect(text.endsWith('# EOF\n')).toBe(true)
})

test('the last minute of a resolver is forgotten after a minute', () => {
  const metrics = new Metrics([RESOLVER])
  metrics.recent(0)
  metrics.query(answered)
  metrics.query({ ...answered, ms: 8, rcode: null, outcome: { kind: 'timeout' } })
  const upstream = () => metrics.recent(elapsed).upstreams[0]
  let elapsed = 30_000
  expect(upstream()).toEqual({
    address: RESOLVER,
    queries: 2,
    failed: 1,
    average_ms: 6,
    set_aside: false,
    traits: null,
    stale_at: null,
  })
  elapsed = 60_000
  expect(upstream()).toMatchObject({ queries: 0, failed: 0, average_ms: null })
})
