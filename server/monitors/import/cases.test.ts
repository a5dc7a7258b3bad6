import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { ImportRow } from '#contract/dashboard.ts'
import { formatServer } from '../../dns/server-address.ts'
import { givenDnsServer } from '../../testing/dns.ts'
import { givenApp } from '../../testing/test-app.ts'

// Each input of `cases/` is a file as a provider or a person wrote it, with other names and addresses. docs/recipes/add-an-import-case.md.

const FOLDER = new URL('./cases/', import.meta.url)
const inputs = readdirSync(FOLDER).filter((file) => !file.endsWith('.expected'))

test.each(inputs)('import of %s', async (file) => {
  const [name, kind] = file.split('.') as [string, 'zone' | 'csv']
  const expected = readFileSync(new URL(`${name}.expected`, FOLDER), 'utf8')
    .trimEnd()
    .split('\n')
  const origin = expected[0]?.match(/^origin (.*)$/)?.[1]
  const dns = await givenDnsServer()
  dns.set('a.example', 'A', ['203.0.113.1'])
  dns.set('proxied.a.example', 'A', ['203.0.113.2'])
  dns.set('shop.a.example', 'A', ['203.0.113.3'])
  dns.set('shop.a.example', 'AAAA', ['2001:db8::3'])
  const world = await givenApp('sqlite', { DNS_SERVERS: formatServer(dns.address) })
  const body = { [kind]: readFileSync(new URL(file, FOLDER), 'utf8'), ...(origin !== undefined && { origin }) }

  const { body: plan } = await world.call('/dashboard/api/import', { method: 'POST', body })

  expect((plan.rows as ImportRow[]).map(rowText)).toEqual(origin === undefined ? expected : expected.slice(1))
})

function rowText({ result, full_domain, record_type, is_exact_match, expected_value, reason }: ImportRow): string {
  const values = expected_value.join(' | ') || '-'
  const text = `${result} ${full_domain} ${record_type || '-'} ${is_exact_match ? 'exact' : 'flexible'} ${values}`
  return reason === '' ? text : `${text} # ${reason}`
}
