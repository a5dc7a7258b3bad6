import { expect, test } from 'vitest'
import type { Evidence } from '../dns/outcome.ts'
import { diagnosisText } from './diagnosis.ts'

function evidenceOf(server: string, values: string[]): Evidence {
  return {
    server,
    transport: 'udp',
    rcode: 'NOERROR',
    flags: ['aa'],
    ede: [],
    ms: 1,
    outcome: { kind: 'answer', rrset: { name: 'a', type: 'TXT', ttl: 60, values }, chain: [] },
  }
}

test('every path says whether it is recursive or authoritative', () => {
  const authoritative: Evidence = {
    ...evidenceOf('192.0.2.53:53', ['x']),
    path: 'authoritative',
    name: 'ns1.example.com',
  }
  const { paths } = JSON.parse(diagnosisText('why', 'how', [evidenceOf('192.0.2.1:53', ['x']), authoritative]))
  expect(paths.map(({ path, name }: Evidence) => [path, name])).toEqual([
    ['recursive', undefined],
    ['authoritative', 'ns1.example.com'],
  ])
})

test('however much was answered, it stays within its size, and keeps how it began and how it ended', () => {
  const texts = Array.from({ length: 500 }, (_, at) => `${at} ${'"'.repeat(4_000)}`)
  const evidence = Array.from({ length: 60 }, (_, at) => evidenceOf(`server ${at}`, at % 20 === 0 ? texts : ['short']))
  const text = diagnosisText('why', 'how', [...evidence, evidenceOf('last', ['x'])])
  expect(text.length).toBeLessThanOrEqual(16_384)
  const { reason, decided, paths } = JSON.parse(text)
  expect([reason, decided, paths.at(-1).server]).toEqual(['why', 'how', 'last'])
})
