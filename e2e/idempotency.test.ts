import { expect, onTestFinished, test } from 'vitest'
import type { Monitor } from '#contract/monitors.ts'
import { systemClock } from '#server/clock.ts'
import { openDatabase } from '#server/database/open.ts'
import { freePort, type ServerProcess } from '#server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY, givenEnvironment, givenServer } from '#server/testing/test-server.ts'

const MONITORS = 300
const MOMENTS_MS = [5, 30]

test.each(['sqlite', 'postgres'] as const)(
  'a server on %s that is killed executes a repeated request once, and no request partially',
  async (engine) => {
    const world = await givenEnvironment(engine)
    const settings = { ...world.settings, ...ADMIN, PORT: String(await freePort()) }
    let server = await givenServer(settings)
    const db = openDatabase(world.databaseUrl, { connections: 2 })
    onTestFinished(() => db.destroy())
    const isKept = async (kept: number) =>
      (await db.selectFrom('idempotent_requests').select('name').execute()).length > kept

    // Kills the server right after the commit, and then shortly after the request.
    for (const [round, moment] of [undefined, ...MOMENTS_MS].entries()) {
      // The connection breaks before the response.
      const answer = bulk(server, round).catch(() => {})
      if (moment !== undefined) await systemClock.sleep(moment)
      else while (!(await isKept(round))) await systemClock.sleep(1)
      await server.kill()
      await answer

      server = await givenServer(settings)
      const again = await bulk(server, round)
      const made = (await again.json()) as Monitor[]
      expect([round, again.status, made.length]).toEqual([round, 201, MONITORS])
      if (moment === undefined) expect(again.headers.get('idempotent-replayed')).toBe('true')
      const stored = await db.selectFrom('monitors').select('id').where('domain', '=', domainOf(round)).execute()
      expect(stored.map(({ id }) => id).sort()).toEqual(made.map(({ id }) => id).sort())
    }
  },
)

const domainOf = (round: number) => `round${round}.example`

function bulk(server: ServerProcess, round: number): Promise<Response> {
  const monitors = Array.from({ length: MONITORS }, (_, place) => ({
    domain: domainOf(round),
    subdomain: `n${place}`,
    record_type: 'A',
    expected_value: '192.0.2.1',
    is_active: false,
  }))
  return fetch(`${server.url}/monitors/bulk`, {
    method: 'POST',
    headers: { 'x-api-key': ADMIN_KEY, 'content-type': 'application/json', 'idempotency-key': `round-${round}` },
    body: JSON.stringify({ monitors }),
  })
}
