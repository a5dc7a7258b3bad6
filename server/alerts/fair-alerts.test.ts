import { expect, test } from 'vitest'
import { LoopHealth } from '../loop-health.ts'
import { createWakeUps } from '../queue/wake-up.ts'
import type { PostResult, SafeFetch } from '../safe-http/safe-fetch.ts'
import { createMonitor, givenAlertReceiver, type Json } from '../testing/alerts.ts'
import { onBothEngines } from '../testing/database.ts'
import { insertDue, newPendingAlert } from './alert-store.ts'
import { claimAlerts } from './claim-alerts.ts'
import { runAlertWorker } from './worker.ts'

const MINUTE_MS = 60_000

type World = Awaited<ReturnType<typeof givenAlertReceiver>>['world']

/** Returns a function that makes alerts of a channel due. */
async function givenInsert(world: World, rule: string) {
  const { db, clock } = world.deps
  const { id: organizationId } = await world.organization()
  const monitorId = await createMonitor(world, 'www.example.com')
  return async (channelId: string, count: number, dueAt: number) => {
    const information = { what: 'record_found', monitorId, name: 'www.example.com', recordType: 'A', expected: [] }
    for (let left = count; left > 0; left -= 60) {
      const rows = Array.from({ length: Math.min(60, left) }, () => ({
        ...newPendingAlert({ organizationId, channelId, dueAt }, clock.now()),
        ...{ kind: 'recovered' as const, rule_id: rule, information: JSON.stringify(information) },
      }))
      await db.insertInto('alerts').values(rows).execute()
      await insertDue(db, organizationId, rows, clock.now())
    }
  }
}

/** Sends alerts until one arrives at an address that answers. All others are silent. */
async function sendUntil(world: World, answers: (url: string) => boolean) {
  const silent: string[] = []
  const sent: string[] = []
  const stop = new AbortController()
  const abandon = new AbortController()
  const post: SafeFetch['post'] = async (url, _headers, _body, signal): Promise<PostResult> => {
    if (answers(url)) {
      sent.push(url)
      stop.abort()
      return { kind: 'response', status: 200, excerpt: '', timings: { totalMs: 1 } } as PostResult
    }
    silent.push(url)
    if (!signal?.aborted) await new Promise((resolve) => signal?.addEventListener('abort', resolve))
    return { kind: 'timeout', phase: 'answer', reason: 'no response', timings: { totalMs: 1 } } as PostResult
  }
  const safeFetch = { ...world.deps.safeFetch, post }
  const running = runAlertWorker(
    { ...world.deps, safeFetch, wakeUps: createWakeUps(), loopHealth: new LoopHealth(), process: 7 },
    { stop: stop.signal, abandon: abandon.signal },
  )
  await new Promise((resolve) => stop.signal.addEventListener('abort', resolve))
  abandon.abort()
  await running
  return { silent, sent }
}

onBothEngines('fair alerts', (_fresh, engine) => {
  test('720 alerts to a silent port delay neither another channel nor another organization', async () => {
    const { world, channel, rule } = await givenAlertReceiver(engine, {}, { ALERTS_PER_HOUR: '0' })
    const { clock } = world.deps
    const insert = await givenInsert(world, rule)
    const settings = { endpoint: 'http://127.0.0.1:9999/other' }
    const other = (await world.call('/channels', { method: 'POST', body: { name: 'Other', type: 'http', settings } }))
      .body
    await insert(channel, 720, clock.now() - 10 * MINUTE_MS)
    await insert(other.id, 1, clock.now())
    const { silent, sent } = await sendUntil(world, (url) => url.endsWith('/other'))
    expect(sent).toHaveLength(1)
    // A channel that does not respond has few slots.
    expect(silent.length).toBeLessThanOrEqual(2)
  })

  test('thirty channels of an organization to one silent host have the slots of one', async () => {
    const { world, rule } = await givenAlertReceiver(engine, {}, { ALERTS_PER_HOUR: '0' })
    const { clock } = world.deps
    const insert = await givenInsert(world, rule)
    const create = async (endpoint: string) => {
      const body = { name: endpoint, type: 'http', settings: { endpoint } }
      return (await world.call('/channels', { method: 'POST', body })).body.id as string
    }
    for (let number = 0; number < 30; number++)
      await insert(await create(`http://127.0.0.1:9998/${number}`), 4, clock.now() - 10 * MINUTE_MS)
    await insert(await create('http://127.0.0.1:9999/other'), 1, clock.now())

    const { silent, sent } = await sendUntil(world, (url) => url.endsWith('/other'))

    expect(sent).toHaveLength(1)
    expect(silent.length).toBeLessThanOrEqual(2)
  })

  test('a pass claims a few alerts of each channel and organization, and none of those without capacity', async () => {
    const { world } = await givenAlertReceiver(engine, {})
    const { db } = world.deps
    const { id: organization_id } = await world.organization()
    const rows = ['chn_a', 'chn_b'].flatMap((channel_id, index) =>
      Array.from({ length: 20 }, (_, number) => ({
        ...{ organization_id, id: `alr_${channel_id}_${number}`, created_at: 0, kind: 'test' as const },
        ...{ channel_id, status: 'PENDING' as const, next_attempt_at: index },
      })),
    )
    await db.insertInto('alerts').values(rows).execute()
    await insertDue(db, organization_id, rows, 0)
    const claim = async (fullChannels: string[], fullOrganizations: string[] = []) => {
      const claims = await claimAlerts(db, { now: 10, process: 1, limit: 16, fullChannels, fullOrganizations })
      return claims.map(({ channel_id }: Json) => channel_id).sort()
    }
    expect(await claim([])).toEqual(['chn_a', 'chn_a', 'chn_b', 'chn_b'])
    expect(await claim(['chn_a'])).toEqual(['chn_b', 'chn_b'])
    expect(await claim([], [organization_id])).toEqual([])
  })
})
