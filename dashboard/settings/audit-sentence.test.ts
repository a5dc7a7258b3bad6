import { expect, test } from 'vitest'
import { AUDIT_ACTIONS, type AuditEntry } from '#contract/audit-log.ts'
import { auditSentence } from './audit-sentence.ts'

const entry = (action: AuditEntry['action'], given: Partial<AuditEntry> = {}): AuditEntry => ({
  id: 'aud_1',
  occurred: '2026-11-21T09:30:00.000Z',
  actor: { type: 'person', id: 'agt_1', label: 'Ada' },
  action,
  object: { type: action.split('.')[0] as AuditEntry['object']['type'], id: '1', label: 'www.example.com A' },
  object_count: 1,
  object_ids: [],
  before: null,
  after: null,
  address: null,
  request_id: null,
  ...given,
})
const group = { type: 'group', id: 'grp_1', label: 'default' } as const
const several = { type: 'monitor', id: null, label: null } as const

test.each<[AuditEntry, string]>([
  [
    entry('job.created', { object: { type: 'job', id: 'job_1', label: 'accept' }, object_count: 300 }),
    'started a job: accept current values as expected',
  ],
  [entry('setup_page.renewed'), 'created a new link for the setup page of www.example.com A'],
  [entry('planned_change.created'), 'planned a change of www.example.com A'],
  [
    entry('monitor.updated', { before: { frequency: 5 }, after: { frequency: 60 } }),
    'changed the interval of monitor www.example.com A from 5 minutes to 60 minutes',
  ],
  [
    entry('monitor.updated', { before: { notify: 'x', group: 'a' }, after: { notify: 'y', group: 'b' } }),
    'changed the webhook notifications and group of monitor www.example.com A',
  ],
  [
    entry('monitor.updated', { before: { expected_value: ['x'.repeat(80)] }, after: { expected_value: ['y'] } }),
    'changed the expected value of monitor www.example.com A',
  ],
  [entry('monitor.created', { object: several, object_count: 25 }), 'created 25 monitors'],
  [
    entry('monitor.updated', { before: { subdomain: '_dmarc' }, after: { subdomain: '_x' } }),
    'changed the subdomain of monitor www.example.com A from _dmarc to _x',
  ],
  [entry('monitor.disabled'), 'disabled monitor www.example.com A'],
  [
    entry('group.monitors_updated', { object: group, object_count: 3, after: { frequency: 30 } }),
    'changed the interval of 3 monitors in group default to 30 minutes',
  ],
  [
    entry('agent.renamed', { before: { name: 'Ada' }, after: { name: 'Ada L.' } }),
    'changed their name from Ada to Ada L.',
  ],
  [
    entry('webhook.updated', { before: { headers: ['A'] }, after: { headers: ['A'] } }),
    'changed the headers of webhook www.example.com A',
  ],
  [
    entry('zone.updated', {
      before: { ignored: [] },
      after: { ignored: [{ code: 'single_network', about: null, reason: 'One', until: null }] },
    }),
    'changed the ignored findings of zone www.example.com A from none to code single_network, reason One',
  ],
])('an entry has a plain sentence', (given, sentence) => {
  expect(auditSentence(given)).toBe(sentence)
})

test.each(AUDIT_ACTIONS)('%s has a sentence without gaps', (action) => {
  const after = { role: 'member', plan: 'team', name: 'x' }
  expect(auditSentence(entry(action, { after }))).toMatch(/^[a-z][^_]*$/)
  expect(auditSentence(entry(action, { after }))).not.toMatch(/undefined|null/)
})
