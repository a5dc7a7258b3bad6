import { expect, test } from 'vitest'
import type { MonitorResponse } from '#contract/monitors.ts'
import { curlOf } from './curl.ts'

const monitor: MonitorResponse = {
  id: 'mon_1',
  created: '2026-11-21T09:30:00.000Z',
  domain: 'example.com',
  subdomain: '',
  record_type: 'TXT',
  expected_value: ["it's $here"],
  current_value: null,
  is_exact_match: true,
  state: 'UNSET',
  incidence_count: 0,
  last_checked: null,
  is_active: true,
  notify: 'immediately',
  frequency: 10,
  group: 'production',
}

test('the create command has the API fields, quoted for the shell', () => {
  const { create } = curlOf(monitor, 'https://watch.example.com/')
  expect(create).toContain("curl -X POST 'https://watch.example.com/monitors'")
  const [, body] = /-d '([\s\S]*)'$/.exec(create)!
  expect(body).toContain(`it'\\''s $here`)
  expect(JSON.parse(body!.replaceAll(`'\\''`, "'"))).toEqual({
    domain: 'example.com',
    subdomain: '',
    record_type: 'TXT',
    expected_value: ["it's $here"],
    is_exact_match: true,
    notify: 'immediately',
    frequency: 10,
    group: 'production',
  })
})

test('the command contains a variable instead of the API key', () => {
  const { show, create } = curlOf(monitor, 'https://watch.example.com')
  for (const command of [show, create]) expect(command).toContain('"X-Api-Key: $ZONEWATCH_KEY"')
  expect(show).toContain("'https://watch.example.com/monitors/mon_1?include=frequency,group,diagnosis'")
})
