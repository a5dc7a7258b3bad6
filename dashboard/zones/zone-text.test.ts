import { expect, test } from 'vitest'
import type { Zone } from '#contract/zones.ts'
import { countsText, namedByText, serialsText } from './zone-text.ts'

const NONE = { critical: 0, error: 0, warning: 0, info: 0, ignored: 0 }
const server = (more: Partial<Zone['servers'][number]> = {}): Zone['servers'][number] => ({
  ...{ name: 'ns1.example.com', is_delegated: true, is_in_zone: true, ip_addresses: [], state: 'answers' },
  ...{ serial: 1, tcp: true, ...more },
})

test('findings are counted by level', () => {
  expect(countsText({ health: 'critical', findings: { ...NONE, critical: 1, error: 1, warning: 2, ignored: 1 } })).toBe(
    '1 critical, 1 error, 2 warnings, 1 ignored',
  )
  expect(countsText({ health: 'ok', findings: NONE })).toBe('No findings')
  expect(countsText({ health: 'unknown', findings: NONE })).toBe('Waiting for the first look')
})

test('the serials of name servers that answer are compared', () => {
  expect(serialsText({ servers: [] })).toBe('–')
  expect(serialsText({ servers: [server(), server()] })).toBe('2, in sync')
  expect(serialsText({ servers: [server(), server({ serial: 2 })] })).toBe('2, 2 serials')
  expect(serialsText({ servers: [server(), server({ state: 'silent', serial: null })] })).toBe('1 of 2 answers')
})

test('a name server is named by the parent zone, the zone, or both', () => {
  expect(namedByText(server())).toBe('Parent and zone')
  expect(namedByText(server({ is_in_zone: false }))).toBe('Only the parent zone')
  expect(namedByText(server({ is_delegated: false }))).toBe('Only the zone')
})
