import { expect, test } from 'vitest'
import { importsOf, refusalOf, wrongImports } from './import-rule.ts'

test('imports that run along the arrows are accepted', () => {
  expect(refusalOf('server/checks/record-checks.ts', 'server/events/store.ts')).toBeUndefined()
  expect(refusalOf('server/checks/record-checks.ts', 'server/checks/verdict.ts')).toBeUndefined()
  expect(refusalOf('server/dns/client.ts', 'server/clock.ts')).toBeUndefined()
  expect(refusalOf('server/events/routes.ts', 'contract/events.ts')).toBeUndefined()
  expect(refusalOf('server/accounts/account-routes.ts', 'server/accounts/sign-in-routes.ts')).toBeUndefined()
  expect(refusalOf('dashboard/api.ts', 'contract/events.ts')).toBeUndefined()
  expect(refusalOf('server/cli/serve.ts', 'server/app.ts')).toBeUndefined()
  expect(refusalOf('simulator/judge.ts', 'server/checks/run-check.ts')).toBeUndefined()
})

test('an import against the arrows is refused with a sentence that names both files and the reason', () => {
  const wrong = { from: 'server/events/store.ts', to: 'server/checks/verdict.ts' }

  expect(wrongImports([wrong])).toEqual([
    'server/events/store.ts must not import server/checks/verdict.ts: checks builds on events, not the other way round; see ARCHITECTURE.md.',
  ])
})

test.each([
  ['server/monitors/store.ts', 'server/testing/database.ts'],
  ['server/webhooks/webhook-store.ts', 'server/app.ts'],
  ['server/app.ts', 'server/main.ts'],
  ['server/http/server.ts', 'server/cli/prepare-database.ts'],
  ['server/dns/client.ts', 'server/database/database.ts'],
  ['server/events/store.ts', 'server/database/engine.ts'],
  ['server/monitors/routes.ts', 'server/database/database.ts'],
  ['server/monitors/external-id-routes.ts', 'server/database/database.ts'],
  ['server/accounts/sign-in-routes.ts', 'server/database/database.ts'],
  ['server/checks/record-checks.ts', 'server/events/routes.ts'],
  ['server/checks/record-checks.ts', 'server/webhooks/webhook-routes.ts'],
  ['server/webhooks/webhook-store.ts', 'server/webhooks/webhook-routes.ts'],
  ['contract/events.ts', 'server/clock.ts'],
  ['contract/events.ts', 'dashboard/api.ts'],
  ['examples/receiver.ts', 'server/clock.ts'],
  ['server/http/server.ts', 'dashboard/api.ts'],
  ['simulator/world/truth.ts', 'server/checks/verdict.ts'],
  ['simulator/judge.ts', 'server/checks/rounds.ts'],
  ['server/checks/run-check.ts', 'simulator/judge.ts'],
  ['server/new-folder/thing.ts', 'server/dns/client.ts'],
])('%s may not import %s', (from, to) => {
  expect(refusalOf(from, to)).toBeDefined()
})

test('a test may import what it needs', () => {
  expect(refusalOf('server/dns/client.test.ts', 'server/testing/dns-server.ts')).toBeUndefined()
})

test('every way of writing an import is read', () => {
  const source = `
import { a } from './a.ts'
import type { b } from '../dns/b.ts'
import './c.ts'
import {
  d,
} from '#contract/d.ts'
export { e } from './e.ts'
const f = await import('./f.ts')
import fs from 'node:fs'`

  expect(importsOf('server/checks/x.ts', source).map(({ to }) => to)).toEqual([
    'server/checks/a.ts',
    'server/dns/b.ts',
    'server/checks/c.ts',
    'contract/d.ts',
    'server/checks/e.ts',
    'server/checks/f.ts',
  ])
})
