import { pino } from 'pino'
import { onTestFinished } from 'vitest'
import type { NewWebhook } from '#contract/webhooks.ts'
import { insertOrganization } from '../accounts/organizations.ts'
import { systemContext } from '../context.ts'
import type { Database } from '../database/database.ts'
import { newId } from '../ids.ts'
import { createKeyring } from '../keyring.ts'
import { LoopHealth } from '../loop-health.ts'
import { createWakeUps } from '../queue/wake-up.ts'
import type { PostResult, SafeFetch } from '../safe-http/safe-fetch.ts'
import { runDispatcher } from '../webhooks/dispatcher.ts'
import { insertRequests, type ReportedEvent } from '../webhooks/new-requests.ts'
import { insertWebhook } from '../webhooks/webhook-store.ts'
import { createManualClock } from './manual-clock.ts'

/** One sent request. `at` is an instant of the test's clock. */
export type SentRequest = { at: number; url: string; headers: Record<string, string>; body: string; id: string }
type Response = number | { status: number; retryAfter?: string } | 'no connection' | 'hang'

type Tenant = { organizationId: string; groupId: string }

const HOUR_MS = 60 * 60_000
const LIMITS = { total: 200, perWebhook: 8 }
/** The dispatcher is idle after so many equal polls, or a quarter of them if nothing is claimed. */
const IDLE_POLLS = 32

/** A real dispatcher on a real database, with scripted receivers and a manual clock: two days of retries pass in a moment. */
export async function givenDeliveries(db: Database, { limits = LIMITS, processes = 1 } = {}) {
  const clock = createManualClock()
  const keyring = createKeyring('x'.repeat(32))
  const organization = await insertOrganization(
    db,
    { name: 'Test', email: 'owner@example.com', passwordHash: '' },
    clock.now(),
  )
  const { id: groupId } = await db.selectFrom('groups').select('id').executeTakeFirstOrThrow()
  const first: Tenant = { organizationId: organization.id, groupId }
  const sent: SentRequest[] = []
  const responses = new Map<string, (request: SentRequest) => Response>()
  let inProgress = 0
  let maxInProgress = 0
  let eventCount = 0
  const logged: { msg: string }[] = []
  const log = pino({}, { write: (line: string) => void logged.push(JSON.parse(line)) })

  const safeFetch: SafeFetch = {
    get: () => Promise.reject(new Error('unexpected GET')),
    put: () => Promise.reject(new Error('webhooks are sent with POST')),
    patch: () => Promise.reject(new Error('webhooks are sent with POST')),
    async post(url, headers, body, signal) {
      const request = { at: clock.now(), url, headers, body: body.toString(), id: headers['webhook-id'] ?? '' }
      sent.push(request)
      maxInProgress = Math.max(maxInProgress, ++inProgress)
      try {
        return await toResult((responses.get(url) ?? (() => 200))(request), signal)
      } finally {
        inProgress--
      }
    },
    refusalOf: async () => null,
    close: async () => {},
  }
  async function toResult(response: Response, signal: AbortSignal | undefined): Promise<PostResult> {
    const timings = { totalMs: 0 }
    await new Promise((resolve) => setImmediate(resolve))
    if (response === 'no connection') return { kind: 'failed', reason: 'the connection was refused', timings }
    if (response === 'hang') {
      await clock.sleep(30_000, signal)
      return { kind: 'timeout', phase: 'answer', reason: 'no response arrived within 30 s', timings }
    }
    const { status, ...details } = typeof response === 'number' ? { status: response } : response
    return { kind: 'response', status, excerpt: `answer ${status}`, timings, ...details }
  }

  const wakeUpsOfProcesses = Array.from({ length: processes }, () => createWakeUps())
  const stop = new AbortController()
  const signals = { stop: stop.signal, abandon: stop.signal }
  const loops = wakeUpsOfProcesses.map((wakeUps, index) =>
    runDispatcher(
      { db, clock, keyring, safeFetch, wakeUps, log, loopHealth: new LoopHealth(), process: index + 1 },
      signals,
      limits,
    ),
  )
  onTestFinished(async () => {
    stop.abort()
    await Promise.allSettled(loops)
  })

  /** Resolves when nothing is due and nothing changes any more. Requests that hang may be in progress. */
  async function settle(): Promise<void> {
    for (const { requests } of wakeUpsOfProcesses) requests.send()
    let previous = ''
    for (let quiet = 0; quiet < IDLE_POLLS; ) {
      await new Promise((resolve) => setTimeout(resolve, 3))
      const queues = await readQueues()
      const { due, claimed, waiting } = queues
      const current = JSON.stringify(queues)
      // Claimed requests may hang or be about to be recorded, and waiting ones about to be claimed: only many equal polls tell.
      // Requests that wait while nothing is claimed will be claimed soon, however busy the machine is.
      const isIdle = claimed + inProgress === 0
      const step = isIdle ? (waiting === 0 ? IDLE_POLLS / 4 : 0.1) : 1
      quiet = current === previous && due === 0 ? quiet + step : 0
      previous = current
    }
  }

  async function readQueues() {
    const due = await db.selectFrom('due_webhooks').selectAll().where('due_at', '<=', clock.now()).execute()
    const claimed = await db.selectFrom('due_requests').selectAll().where('claimed_by', 'is not', null).execute()
    const waiting = await db
      .selectFrom('due_requests')
      .innerJoin('webhooks', 'webhooks.id', 'due_requests.webhook_id')
      .select('request_id')
      .where('due_at', '<=', clock.now())
      .where('is_active', '=', 1)
      .where('state', '=', 'active')
      .execute()
    const fanOuts = await db.selectFrom('fan_outs').selectAll().execute()
    return {
      due: due.length + fanOuts.length,
      claimed: claimed.length,
      waiting: waiting.length,
      sent: sent.length,
      inProgress,
    }
  }

  return {
    db,
    clock,
    keyring,
    sent,
    /** What the dispatcher logged. */
    logged,
    organizationId: organization.id,
    settle,
    maxInProgress: () => maxInProgress,
    /** Advances the time step by step, so that everything due within `ms` happens at its instant. */
    async pass(ms: number): Promise<void> {
      const end = clock.now() + ms
      await settle()
      for (;;) {
        const next = await db
          .selectFrom('due_webhooks')
          .select((columns) => columns.fn.min('due_at').as('at'))
          .executeTakeFirst()
        if (next?.at == null || next.at > end) break
        clock.moveTo(next.at)
        await settle()
      }
      clock.moveTo(end)
      await settle()
    },
    /** Another organization, with its group. */
    async tenant(): Promise<Tenant> {
      const email = `owner-${newId('usr', clock.now())}@example.com`
      const { id } = await insertOrganization(db, { name: 'Other', email, passwordHash: '' }, clock.now())
      const group = await db
        .selectFrom('groups')
        .select('id')
        .where('organization_id', '=', id)
        .executeTakeFirstOrThrow()
      return { organizationId: id, groupId: group.id }
    },
    async webhook({
      linked = true,
      tenant = first,
      ...input
    }: { linked?: boolean; tenant?: Tenant } & Partial<NewWebhook> = {}) {
      const url = input.url ?? `https://receiver-${responses.size}.example/`
      responses.set(url, () => 200)
      const groups = linked ? [tenant.groupId] : []
      const context = systemContext(tenant.organizationId, clock.now())
      const { id, secret } = await insertWebhook(db, keyring, context, { url, groups, ...input })
      return {
        id,
        url,
        secret,
        answers: (response: Response | ((request: SentRequest) => Response)) =>
          void responses.set(url, typeof response === 'function' ? response : () => response),
        sent: () => sent.filter((request) => request.url === url),
        row: () => db.selectFrom('webhooks').selectAll().where('id', '=', id).executeTakeFirstOrThrow(),
        requests: () =>
          db.selectFrom('webhook_requests').selectAll().where('webhook_id', '=', id).orderBy('id').execute(),
      }
    },
    /** Inserts events of the default group, and a request for each linked webhook. */
    async events(count = 1, tenant = first): Promise<void> {
      const events: ReportedEvent[] = Array.from({ length: count }, () => ({
        ...tenant,
        event: {
          id: `evt_${eventCount++}`,
          monitor_id: 'mon_1',
          occurred: new Date(clock.now()).toISOString(),
          current_value: ['192.0.2.9'],
          old_state: 'VALID',
          new_state: 'MISMATCH',
          incidence_count: 1,
          domain: {
            domain: 'example.com',
            subdomain: '',
            record_type: 'A',
            expected_value: ['192.0.2.1'],
            is_exact_match: true,
          },
        },
      }))
      await db.transaction().execute((transaction) => insertRequests(transaction, events, clock.now()))
    },
    mails: () => db.selectFrom('mails').selectAll().orderBy('id').execute(),
    HOUR_MS,
  }
}

export type Deliveries = Awaited<ReturnType<typeof givenDeliveries>>
