import { describe, expect, test } from 'vitest'
import type { AgentRole } from '#contract/agents.ts'
import { givenSignedInBrowser } from '../testing/accounts.ts'
import { givenApp } from '../testing/test-app.ts'

const ROLES: AgentRole[] = ['viewer', 'member', 'admin', 'owner']
const rankOf = (role: AgentRole) => ROLES.indexOf(role)

/** The lowest role that may write, by path prefix. The longest prefix counts. */
const WRITE_ROLES: Record<string, AgentRole> = {
  '/monitors': 'member',
  '/groups': 'member',
  '/webhooks': 'member',
  '/events': 'member',
  '/channels': 'admin',
  '/alert-rules': 'member',
  '/incidents': 'member',
  '/alerts': 'member',
  '/jobs': 'member',
  '/setup-pages': 'member',
  '/maintenance-windows': 'member',
  '/planned-changes': 'member',
  '/views': 'member',
  '/zones': 'member',
  '/agents': 'admin',
  '/api-keys': 'admin',
  '/organization': 'admin',
  'DELETE /organization': 'owner',
  '/organization/deletion': 'owner',
  '/organization/billing': 'owner',
  '/organization/subscription': 'owner',
}

/** The lowest role that may read, if not every role may. */
const READ_ROLES: Record<string, AgentRole> = {
  '/audit-log': 'admin',
  '/organization/billing': 'admin',
  '/organization/invoices': 'admin',
  '/api-keys': 'admin',
  '/api-keys/{key}': 'admin',
}

type Document = { paths: Record<string, Record<string, unknown>> }

// Roles are compared before any statement; e2e/api/tenancy.test.ts asks every route on PostgreSQL.
describe('every route of the API', () => {
  const engine = 'sqlite'

  test.each(ROLES)('allows the role %s exactly what it permits', async (role) => {
    const world = await givenApp(engine)
    const browser = await givenSignedInBrowser(world, { name: 'Ada', role })
    const { paths }: Document = (await world.call('/openapi.json')).body
    const operations = Object.entries(paths).flatMap(([path, each]) =>
      Object.keys(each).map((verb) => ({ path, verb })),
    )
    expect(operations.length).toBeGreaterThan(50)

    const wrong: string[] = []
    for (const { path, verb } of operations) {
      const url = path.replaceAll(/\{\w+\}/g, 'nothing_of_this_name')
      const method = verb.toUpperCase()
      // No route accepts this body, so that an allowed request gets an error and changes nothing.
      const body = ['POST', 'PUT', 'PATCH'].includes(method) ? { body: { no_such_field: 1 } } : {}
      const { status } = await browser.call(url, { method, ...body })
      const required =
        method === 'GET' ? (READ_ROLES[path] ?? 'viewer') : (WRITE_ROLES[`${method} ${path}`] ?? writeRoleOf(path))
      const isAllowed = rankOf(role) >= rankOf(required)
      if ((status !== 403) !== isAllowed || status === 401 || status >= 500) wrong.push(`${method} ${path}: ${status}`)
    }

    expect(wrong).toEqual([])
  })
})

function writeRoleOf(path: string): AgentRole {
  const prefixes = Object.keys(WRITE_ROLES).filter((prefix) => path === prefix || path.startsWith(`${prefix}/`))
  return WRITE_ROLES[prefixes.sort((a, b) => b.length - a.length)[0] ?? '']!
}
