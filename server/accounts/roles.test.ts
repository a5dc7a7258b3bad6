import { expect, test } from 'vitest'
import type { AgentRole } from '#contract/agents.ts'
import { givenSignedInBrowser } from '../testing/accounts.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenApp } from '../testing/test-app.ts'

const ROLES: AgentRole[] = ['viewer', 'member', 'admin', 'owner']
const RANK = (role: AgentRole) => ROLES.indexOf(role)

/** Who may change what a path is about, in the words of the specification; the longest beginning counts. */
const CHANGERS: Record<string, AgentRole> = {
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
  '/agents': 'admin',
  '/api-keys': 'admin',
  '/organization': 'admin',
  '/organization/billing': 'owner',
  '/organization/subscription': 'owner',
}

/** Who reads what is not for everyone. */
const READERS: Record<string, AgentRole> = {
  '/audit-log': 'admin',
  '/api-keys': 'admin',
  '/api-keys/{key}': 'admin',
}

type Document = { paths: Record<string, Record<string, unknown>> }

onBothEngines('every route of the API', (_fresh, engine) => {
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
      // A body that no route takes: anyone who may act gets the error, and nothing is changed.
      const body = ['POST', 'PUT', 'PATCH'].includes(method) ? { body: { no_such_field: 1 } } : {}
      const { status } = await browser.call(url, { method, ...body })
      const needed = method === 'GET' ? (READERS[path] ?? 'viewer') : changerOf(path)
      const isAllowed = RANK(role) >= RANK(needed)
      if ((status !== 403) !== isAllowed || status === 401 || status >= 500) wrong.push(`${method} ${path}: ${status}`)
    }

    expect(wrong).toEqual([])
  })
})

function changerOf(path: string): AgentRole {
  const beginnings = Object.keys(CHANGERS).filter((each) => path === each || path.startsWith(`${each}/`))
  return CHANGERS[beginnings.sort((a, b) => b.length - a.length)[0] ?? '']!
}
