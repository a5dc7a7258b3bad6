import { expect, test } from 'vitest'
import { type AppResponse, type Call, givenApp, type TestApp } from '#server/testing/test-app.ts'
import { bodyOf, type Fixtures, givenFixtures, pathOf } from './fixtures.ts'
import { invalidInputs } from './invalid-input.ts'
import { type Document, matches, type Operation, readDocument } from './openapi-document.ts'

// These tests read /openapi.json: a new route is tested automatically, or fails with "no example for …".

/** A server without payments responds with the documented 409. */
const ONLY_WITH_PAYMENT = new Set(['deleteOrganizationSubscription', 'createOrganizationSubscriptionPortal'])

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

type Case = { operation: Operation; path: string; body: unknown; own: Fixtures }
type Ask = (sent?: Call, path?: string) => Promise<AppResponse>

test('every operation accepts its documented example and responds like its documented response', async () => {
  const world = await givenApp('sqlite')
  const { differencesFromExample } = await readDocument(world)
  const ofEach = (operation: Operation) => givenFixtures(world, operation.id)
  await eachOperation(world, ofEach, async ({ operation }, ask) => {
    const answer = await ask()
    if (ONLY_WITH_PAYMENT.has(operation.id)) return answer.status === 409 ? [] : [`answered ${answer.status}`]
    const location = answer.status === 201 && !Array.isArray(answer.body) ? answer.headers.location : undefined
    const created = location === undefined ? undefined : await ask({ method: 'GET', body: undefined }, location)
    return [
      ...(answer.status < 300 ? [] : [`answered ${answer.status} ${answer.text}`]),
      ...(created === undefined || created.status === 200 ? [] : [`Location ${location} answers ${created.status}`]),
      ...differencesFromExample(operation, answer),
    ]
  })
})

test('every list accepts every value of every filter', async () => {
  const world = await givenApp('sqlite')
  await eachOperation(world, await sharedFixtures(world), async ({ operation, path }, ask) => {
    const queries = operation.parameters.filter((each) => each.in === 'query')
    const values = queries.flatMap(({ name, schema, example }) => {
      const given = schema.enum ?? schema.examples ?? (example === undefined ? [] : [example])
      const more = schema.type === 'boolean' ? [true, false] : schema.type === 'integer' ? [schema.maximum ?? 1] : []
      return [...given, ...more].map((value) => `${name}=${encodeURIComponent(String(value))}`)
    })
    const problems = []
    for (const query of operation.method === 'GET' ? values : []) {
      const answer = await ask({}, `${path}?${query}`)
      if (answer.status !== 200) problems.push(`${query} answered ${answer.status} ${answer.text}`)
    }
    return problems
  })
})

test('every kind of invalid input is answered with a 400 that names the field', async () => {
  const world = await givenApp('sqlite')
  await eachOperation(world, await sharedFixtures(world), async ({ operation, path, body }, ask) => {
    const problems = []
    for (const invalid of invalidInputs(operation, body)) {
      const separator = path.includes('?') ? '&' : '?'
      const query = invalid.query ? `${separator}${new URLSearchParams(invalid.query)}` : ''
      const answer = await ask('body' in invalid ? { body: invalid.body } : {}, `${path}${query}`)
      const names = Object.keys(answer.body?.errors ?? {})
      if (answer.status !== 400 || !names.includes(invalid.field)) {
        const sent = JSON.stringify(invalid).slice(0, 120)
        problems.push(`${sent} answered ${answer.status} ${answer.text.slice(0, 200)}`)
      }
    }
    return problems
  })
})

test('requests without a key get 401, and writes with a read-only key get 403', async () => {
  const world = await givenApp('sqlite')
  const reader = await world.key('read')
  await eachOperation(world, await sharedFixtures(world), async ({ operation }, ask) => {
    const isRead = operation.method === 'GET'
    return [
      ...unexpected(await ask({ key: null }), 401),
      ...unexpected(await ask({ key: `zw_${'0'.repeat(43)}` }), 401),
      ...(isRead ? [] : unexpected(await ask({ key: reader.key }), 403)),
    ]
  })
})

test('resources of other organizations, unknown ids and invalid ids get 404', async () => {
  const world = await givenApp('sqlite')
  const others = await givenFixtures(world, 'Others')
  await eachOperation(world, await sharedFixtures(world), async ({ operation, own }, ask) => {
    const problems = []
    if (operation.id === 'upsertMonitor') return [] // makes what is not there
    for (const name of [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)) {
      const prefix = own.ids[name]!.slice(0, 4)
      for (const id of [others.ids[name]!, `${prefix}${'0'.repeat(26)}`, 'nothing', '%00', 'x'.repeat(900), '..%2f']) {
        const answer = await ask({}, pathOf(operation, { ...own.ids, [name]: id }))
        problems.push(...unexpected(answer, 404).map((problem) => `${name}=${id.slice(0, 40)}: ${problem}`))
      }
    }
    return problems
  })
})

test('an unsupported method gets 405 and the supported ones in Allow', async () => {
  const world = await givenApp('sqlite')
  const { operations, validate } = await readDocument(world)
  const { ids, key } = await givenFixtures(world, 'Own')
  for (const operation of operations) {
    const possible = operations.filter(({ path }) => path === operation.path).map(({ method }) => method)
    for (const method of METHODS.filter((each) => !possible.includes(each))) {
      const answer = await world.call(pathOf(operation, ids), { method, key, body: {} })
      expect([method, operation.path, answer.status, validate(null, answer)]).toEqual([method, operation.path, 405, []])
      expect(answer.headers.allow?.split(', ').filter((each) => each !== 'HEAD')).toEqual([...new Set(possible)].sort())
    }
  }
})

test('the health endpoints respond as documented, even if the server is not ready', async () => {
  const world = await givenApp('sqlite')
  const { open, validate } = await readDocument(world)
  const answers = async () => {
    const all = await Promise.all(
      open.map(async (operation) => [operation, await world.call(operation.path, { key: null })] as const),
    )
    for (const [operation, answer] of all)
      expect([operation.path, validate(operation, answer)]).toEqual([operation.path, []])
    return all.map(([{ path }, { status }]) => `${path} ${status}`)
  }
  expect(await answers()).toEqual(['/healthz 200', '/readyz 200'])
  world.deps.loopHealth.report('scheduler', world.deps.clock.elapsed() - 60_000)
  expect(await answers()).toEqual(['/healthz 200', '/readyz 503'])
})

test('paths outside of the API answer unsupported methods with 405 too', async () => {
  const world = await givenApp('sqlite')
  for (const path of ['/healthz', '/readyz', '/openapi.json', '/docs', '/dashboard/api/me', '/']) {
    for (const key of [null, undefined]) {
      const answer = await world.call(path, { method: 'PUT', body: {}, ...(key === undefined ? {} : { key }) })
      expect([path, answer.status, answer.headers.allow]).toEqual([path, 405, expect.stringContaining('GET')])
    }
  }
  const { key } = await world.key('read')
  for (const path of ['/monitors/bulk', '/monitors/bulk/?limit=1']) {
    const answer = await world.call(path, { key })
    expect([answer.status, answer.headers.allow]).toEqual([405, 'POST'])
  }
  expect((await world.call('/agents/invitations', { method: 'PATCH', body: {} })).headers.allow).toBe('GET, HEAD, POST')
})

test('a body that is not JSON gets 415, and truncated JSON gets 400', async () => {
  const world = await givenApp('sqlite')
  await eachOperation(world, await sharedFixtures(world), async ({ operation }, ask) => {
    if (!operation.body) return []
    return [
      ...unexpected(await ask({ raw: '<x/>', headers: { 'content-type': 'application/xml' } }), 415),
      ...unexpected(await ask({ raw: '{"a":' }), 400),
      ...unexpected(await ask({ raw: '{"__proto__":{}}' }), 400),
      ...unexpected(await ask({ raw: '['.repeat(200_000) + ']'.repeat(200_000) }), 400),
    ]
  })
})

/** For requests that change nothing: one organization for all operations. */
async function sharedFixtures(world: TestApp): Promise<() => Promise<Fixtures>> {
  const shared = await givenFixtures(world, 'Own')
  return async () => shared
}

/** Asks every operation; whatever is answered must be as the document says. */
async function eachOperation(
  world: TestApp,
  fixturesFor: (operation: Operation) => Promise<Fixtures>,
  work: (one: Case, ask: Ask) => Promise<string[]>,
): Promise<void> {
  const document = await readDocument(world)
  const problems: string[] = []
  for (const operation of document.operations) {
    const own = await fixturesFor(operation)
    const path = pathOf(operation, own.ids)
    const body = bodyOf(operation, own.ids)
    const one = { operation, path, body, own }
    const found = await work(one, asking(world, document, one, problems))
    problems.push(...found.map((problem) => `${operation.id}: ${problem}`))
  }
  expect(document.operations.length).toBeGreaterThan(20)
  expect(problems).toEqual([])
}

function asking(
  world: TestApp,
  { operations, validate }: Document,
  { operation, path, body, own }: Case,
  problems: string[],
): Ask {
  return async (sent = {}, at = path) => {
    const method = sent.method ?? operation.method
    const hasBody = operation.body && !('raw' in sent) && !('body' in sent)
    const answer = await world.call(at, { method, key: own.key, ...(hasBody ? { body } : {}), ...sent })
    const asked =
      method === operation.method
        ? operation
        : operations.find((each) => each.method === method && matches(each.path, at))
    for (const problem of validate(asked ?? null, answer))
      problems.push(`${operation.id}: ${problem} (${answer.status})`)
    return answer
  }
}

const unexpected = ({ status, text }: AppResponse, expected: number): string[] =>
  status === expected ? [] : [`answered ${status} instead of ${expected}: ${text.slice(0, 200)}`]
