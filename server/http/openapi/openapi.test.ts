import { Validator } from '@seriousme/openapi-schema-validator'
import { expect, test } from 'vitest'
import { AGENT_ROLES } from '#contract/agents.ts'
import { NOTIFY, STATES } from '#contract/monitors.ts'
import { RECORD_TYPES } from '#contract/record-types.ts'
import { REQUEST_STATUSES } from '#contract/webhooks.ts'
import { givenApp } from '../../testing/test-app.ts'
import type { Document } from './document.ts'

test('the document is valid OpenAPI 3.1 and needs no key', async () => {
  const { call } = await givenApp('sqlite')
  const { status, body, headers } = await call('/openapi.json', { key: null })
  expect([status, headers['content-type']]).toEqual([200, 'application/json; charset=utf-8'])
  expect(body.openapi).toBe('3.1.0')
  expect(body.info).toMatchObject({ title: 'Zonewatch', version: '1.0.0' })
  const { valid, errors } = await new Validator().validate(structuredClone(body))
  expect([valid, errors]).toEqual([true, undefined])
})

test('the document contains the reference pages and the webhook requests', async () => {
  const { call } = await givenApp('sqlite')
  const { body } = await call('/openapi.json', { key: null })
  for (const word of ['X-Api-Key', 'has_more', 'Retry-After', 'Idempotency-Key', 'If-Match']) {
    expect(body.info.description).toContain(word)
  }
  const tags: Record<string, string> = Object.fromEntries(
    (body as Document).tags!.map(({ name, description }) => [name, description!]),
  )
  expect(tags.Monitors).toContain('`NO_DATA`')
  expect(tags.Webhooks).toContain('| 5 min | 10 min |')
  expect(tags.Webhooks).not.toContain('```mermaid') // the page cannot draw diagrams
  expect([body.info.description, ...Object.values(tags)].join()).not.toMatch(/\]\((?!#|https:|\/docs)/)
  const used = Object.values(body.paths as Document['paths']).flatMap((path) => Object.values(path))
  expect([...new Set(used.flatMap(({ tags }) => tags!))].sort()).toEqual(Object.keys(tags).sort())
  expect(body.webhooks.change.post.parameters.map(({ name }: { name: string }) => name)).toContain(
    'X-Service-Signature',
  )
})

test('optional parts of a request are not required', async () => {
  const { call } = await givenApp('sqlite')
  const { paths } = (await call('/openapi.json', { key: null })).body
  const rotation = paths['/webhooks/{webhook}/rotate-secret'].post.requestBody
  expect(rotation.required).toBe(false)
  expect(rotation.content['application/json'].schema).toEqual({ $ref: '#/components/schemas/SecretRotation' })
  expect(paths['/monitors/{monitor}'].patch.requestBody.required).toBe(true)
  expect(paths['/monitors/{monitor}/check'].post.requestBody).toBeUndefined()
})

test('every shared component is used, and maps have additionalProperties', async () => {
  const { call } = await givenApp('sqlite')
  const { text, body } = await call('/openapi.json', { key: null })
  for (const kind of ['schemas', 'responses', 'headers', 'parameters']) {
    const names = Object.keys(body.components[kind])
    expect(names.filter((name) => !text.includes(`"#/components/${kind}/${name}"`))).toEqual([])
  }
  expect(text).not.toContain('patternProperties')
  // An index signature of texts would not allow the boolean `is_active`, and refuses optional properties.
  const { filter } = body.components.schemas.NewJob.properties
  expect([filter.properties.is_active.type, filter.additionalProperties]).toEqual(['boolean', true])
  const takesMetadata = (path: string) =>
    body.paths[path].get.parameters.some(
      ({ $ref }: { $ref?: string }) => $ref === '#/components/parameters/MetadataFilter',
    )
  const paths = ['/monitors', '/monitors/counts', '/monitors/export', '/groups', '/webhooks']
  expect(paths.map((path) => [path, takesMetadata(path)])).toEqual([
    ['/monitors', true],
    ['/monitors/counts', true],
    ['/monitors/export', true],
    ['/groups', true],
    ['/webhooks', false],
  ])
})

test('bodies, responses and enumerations have names, and nullable types one form', async () => {
  const { call } = await givenApp('sqlite')
  const { text, body } = await call('/openapi.json', { key: null })
  const operations = Object.values(body.paths as Document['paths']).flatMap((path) => Object.values(path))
  const bodies = operations.flatMap(({ requestBody, responses }) => [
    requestBody?.content['application/json']?.schema,
    ...Object.values(responses).map(({ content }) => content?.['application/json']?.schema),
  ])
  const anonymous = bodies.filter((schema) => schema !== undefined && !('$ref' in schema))
  expect(anonymous).toEqual([])
  for (const values of [RECORD_TYPES, STATES, NOTIFY, AGENT_ROLES, REQUEST_STATUSES]) {
    expect(text.split(JSON.stringify(values))).toHaveLength(2)
  }
  // A nullable reference needs anyOf.
  expect(text.replaceAll(/\{"anyOf":\[\{"\$ref":"[^"]+"\},\{"type":"null"\}\]/g, '')).not.toContain('{"type":"null"}')
  const { paths } = body
  const named = (operation: { parameters?: { $ref?: string }[] }) => JSON.stringify(operation.parameters)
  expect(named(paths['/monitors/{monitor}'].patch)).toContain('IfMatch')
  for (const values of text.matchAll(/"name":"order_by"/g)) {
    expect(text.slice(values.index - 300, values.index)).toMatch(/.*"\$ref":"#\/components\/schemas\/\w+Order"/)
  }
  expect(named(paths['/groups/{group}/monitors'].patch)).not.toContain('IfMatch')
  expect(paths['/monitors'].get.responses).toMatchObject({ 405: {}, 414: {}, 431: {} })
  expect(Object.keys(body.components.responses.Conflict.headers)).toContain('Retry-After')
})

/** The method names of generated clients, which must not change. */
const OPERATION_IDS = `
  getHealth getReadiness listMonitors createMonitor countMonitors listGroupMonitors updateGroupMonitors createMonitorsInBulk
  getMonitor updateMonitor deleteMonitor enableMonitor disableMonitor checkMonitor listEvents listMonitorEvents
  getMonitorEvent listGroups createGroup getGroup updateGroup deleteGroup listWebhooks createWebhook getWebhook
  updateWebhook deleteWebhook enableWebhook disableWebhook rotateSecretOfWebhook listWebhookRequests getWebhookRequest
  testWebhook retryWebhookRequest replayWebhook listAgents getAgent updateAgent deleteAgent listAgentInvitations
  createAgentInvitation getAgentInvitation deleteAgentInvitation resendAgentInvitation getOrganization
  updateOrganization getOrganizationBilling updateOrganizationBilling getOrganizationSubscription
  replaceOrganizationSubscription deleteOrganizationSubscription createOrganizationSubscriptionPortal
  listOrganizationPlans listOrganizationInvoices
`

test('every operation has a unique id, a tag, a summary, described parameters and its errors', async () => {
  const { call } = await givenApp('sqlite')
  const { body } = await call('/openapi.json', { key: null })
  const ids: (string | undefined)[] = []
  const wanting: string[] = []
  for (const [path, operations] of Object.entries(body.paths as Document['paths'])) {
    for (const [method, operation] of Object.entries(operations)) {
      if (operation.security) expect(path).toMatch(/^\/(healthz|readyz)$/)
      ids.push(operation.operationId)
      if (!operation.summary || operation.tags?.length !== 1) wanting.push(`${method} ${path}: summary or tag`)
      if (!/^[a-z][A-Za-z]+$/.test(operation.operationId ?? '')) wanting.push(`${method} ${path}: id`)
      if (!operation.description) wanting.push(`${method} ${path}: what it does`)
      for (const parameter of operation.parameters ?? []) {
        if (!parameter.$ref && !parameter.description) wanting.push(`${method} ${path}: ${parameter.name}`)
      }
      expect(Object.keys(operation.responses)).toEqual(
        expect.arrayContaining(['400', ...(operation.security ? [] : ['401', '429']), '500', '503']),
      )
      if (method !== 'get') expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(['413', '415']))
      if (path.includes('{')) expect(Object.keys(operation.responses)).toContain('404')
    }
  }
  expect(new Set(ids).size).toBe(ids.length)
  expect(wanting).toEqual([])
  expect(ids).toEqual(expect.arrayContaining(OPERATION_IDS.trim().split(/\s+/)))
})

test('the page of the API reference loads nothing from other servers', async () => {
  const { call } = await givenApp('sqlite')
  const page = await call('/docs/api', { key: null })
  expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
  expect(page.headers['content-security-policy']).toContain("default-src 'none'")
  const sources = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, source]) => source!)
  expect(sources).toEqual(['/openapi.json', '/docs/api/reference.js', '/docs/api/start.js'])
  for (const source of sources) expect((await call(source, { key: null })).status).toBe(200)
  expect((await call('/docs/api/reference.js', { key: null })).text.length).toBeGreaterThan(1_000_000)
  const root = await call('/', { key: null })
  expect([root.status, root.headers.location]).toEqual([302, '/dashboard'])
})
