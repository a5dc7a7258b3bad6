import { createServer } from 'node:http'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../testing/test-server.ts'
import { openTracing } from './tracing.ts'

const SPAN = { name: 'check', kind: 'internal', startedAt: 0, endedAt: 1, attributes: {} } as const
/** As many as OpenTelemetry sends at once. */
const BATCH = 512

test('an endpoint that refuses traces is one line, and so is the end of the failure', async () => {
  const collector = await givenCollector()
  const endpoint = collector.url
  const logged: { msg: string; endpoint: string }[] = []
  const log = pino({ level: 'info', base: null }, { write: (line: string) => void logged.push(JSON.parse(line)) })
  const tracing = openTracing(endpoint, { machine: 'a', pid: 1 }, log)
  const send = async (batches: number) => {
    const wanted = collector.requests() + batches
    for (let span = 0; span < batches * BATCH; span++) tracing.record(SPAN)
    await eventually(
      async () => collector.requests(),
      (count) => count >= wanted,
    )
  }
  const lines = (count: number) =>
    eventually(
      async () => logged,
      ({ length }) => length >= count,
    )

  collector.answers(400)
  await send(3)
  expect(await lines(1)).toMatchObject([{ endpoint, msg: expect.stringContaining('Traces cannot be exported') }])
  collector.answers(200)
  await send(3)
  expect(await lines(2)).toMatchObject([{}, { endpoint, msg: 'Traces are exported again.' }])
  collector.answers(400)
  await send(1)
  await lines(3)
  await tracing.close()
  expect(logged).toHaveLength(3)
})

async function givenCollector() {
  let status = 200
  let requests = 0
  const collector = createServer((_request, response) => {
    requests++
    response.writeHead(status).end('{}')
  })
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void collector.close())
  const { port } = collector.address() as { port: number }
  const answers = (next: number) => {
    status = next
  }
  return { url: `http://127.0.0.1:${port}`, answers, requests: () => requests }
}
