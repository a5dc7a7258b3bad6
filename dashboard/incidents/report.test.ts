import { marked } from 'marked'
import { expect, test } from 'vitest'
import type { Incident, IncidentEntry } from '#contract/incidents.ts'
import type { MonitorResponse } from '#contract/monitors.ts'
import { incidentReport } from './report.ts'

const HOSTILE =
  '`a` | ``b`` <script>alert(1)</script> [x](javascript:alert(1)) ![y](http://evil.example) \n# Heading **bold** \\|'

const incident = {
  ...{ id: 'inc_1', zone: 'example.com', state: 'MISMATCH', cause: 'zone', cause_value: null },
  ...{ opened: '2026-11-21T09:30:00.000Z', resolved: null, monitors: 3, failing: 2, zones: 0 },
  ...{ acknowledged: '2026-11-21T09:40:00.000Z', acknowledged_by: HOSTILE, assignee: null, snoozed_until: null },
  ...{
    note: `first\n${HOSTILE}`,
    headline: `www.example.com answers ${HOSTILE}`,
    advice: `Replace ${HOSTILE}.`,
    first_monitors: [],
  },
} as Incident
const monitor = {
  ...{ id: 'mon_1', domain: 'example.com', subdomain: 'www', record_type: 'TXT', state: 'MISMATCH' },
  ...{ expected_value: ['v=spf1 -all'], current_value: [HOSTILE, '', 'c', 'd'] },
} as MonitorResponse
const entry = {
  id: 'ent_1',
  occurred: '2026-11-21T09:30:00.000Z',
  kind: 'noted',
  actor: HOSTILE,
  detail: HOSTILE,
} as IncidentEntry
const parts = { incident, monitors: [monitor], entries: [entry], url: 'https://z.example/dashboard/incidents/inc_1' }
const report = () => incidentReport({ ...parts, now: Date.parse('2026-11-21T10:30:00.000Z') })

test('a report has the facts, the timeline and the monitors', () => {
  const text = report()
  for (const line of [
    '- Opened: 2026-11-21 09:30 UTC',
    'Open for 1 h at 2026-11-21 10:30 UTC',
    '- Affected: 2 of 3 monitors failing',
  ])
    expect(text).toContain(line)
  expect(text).toContain('And 2 more.')
})

test('records, names and notes cannot break out of their place in the Markdown', () => {
  const html = marked.parse(report(), { async: false })
  for (const element of ['<script', '<strong', '<img', 'href="javascript']) expect(html).not.toContain(element)
  expect([...html.matchAll(/<h[1-6]>/g)].map(([tag]) => tag)).toEqual(['<h1>', '<h2>', '<h2>', '<h2>', '<h2>'])
  expect([...html.matchAll(/<a href="([^"]*)"/g)].map(([, href]) => href)).toEqual([parts.url])
  const cells = [...html.matchAll(/<td>/g)]
  expect(cells).toHaveLength(5)
  expect(html).toContain('&lt;script&gt;alert(1)')
})
