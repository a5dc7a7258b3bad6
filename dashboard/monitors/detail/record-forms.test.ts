import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { tokenize, toQuotedStrings, unescapeOctets } from '#server/record-types/presentation.ts'
import { type RecordSet, recordForms } from './record-forms.ts'

const set = (more: Partial<RecordSet>): RecordSet => ({
  ...{ name: 'www.example.com', zone: 'example.com', type: 'A', ttl: 300, data: ['192.0.2.1', '192.0.2.2'] },
  ...more,
})
const formsOf = (given: RecordSet): Record<string, string> =>
  Object.fromEntries(recordForms(given).map(({ id, text }) => [id, text]))

/** What dnscontrol reads: the calls with their arguments. */
function callsOf(script: string): unknown[] {
  const record =
    (name: string) =>
    (...values: unknown[]) => [name, ...values]
  const names = ['A', 'AAAA', 'CNAME', 'MX', 'NS', 'TXT', 'CAA', 'SRV', 'PTR', 'TTL', 'D_EXTEND']
  return runInNewContext(`JSON.stringify(${script})`, Object.fromEntries(names.map((name) => [name, record(name)])), {
    timeout: 1_000,
  }) as never
}
const dnscontrolOf = (given: RecordSet) => JSON.parse(callsOf(formsOf(given).dnscontrol!) as never)

/** The strings of HCL that are not templates; throws for an interpolation. */
function hclTexts(text: string): string[] {
  return [...text.matchAll(/"((?:[^"\\\n]|\\.)*)"/g)].map(([, raw]) => {
    if (/[$%]\{/.test(raw!)) throw new Error(`interpolates: ${raw}`)
    return JSON.parse(`"${raw}"`) as string
  })
}

const HOSTILE = [
  '"; $' + '{file("/etc/passwd")} %{ if true } $$' + '{x} \\',
  "') ); process.exit(1) // <!-- </script> `$" + '{1}`',
  'a: b\n- c\t# d\r\u2028\u2029 é \u0007',
  `${'x'.repeat(300)}"${'\\'.repeat(5)}`,
  'v=DKIM1; k=rsa; p=AB" "CD',
]

describe('the record in the forms that people paste', () => {
  test('addresses', () => {
    const forms = formsOf(set({}))
    expect(forms.bind).toBe('www.example.com. 300 IN A 192.0.2.1\nwww.example.com. 300 IN A 192.0.2.2')
    expect(JSON.parse(forms.cloudflare!).posts[1]).toEqual({
      ...{ type: 'A', name: 'www.example.com', ttl: 300, content: '192.0.2.2' },
    })
    expect(JSON.parse(forms.route53!).Changes[0].ResourceRecordSet).toEqual({
      ...{ Name: 'www.example.com.', Type: 'A', TTL: 300 },
      ResourceRecords: [{ Value: '192.0.2.1' }, { Value: '192.0.2.2' }],
    })
    expect(hclTexts(forms.terraform!)).toEqual([
      ...['aws_route53_record', 'record', 'www.example.com', 'A', '192.0.2.1', '192.0.2.2'],
    ])
    expect(parseYaml(forms.octodns!)).toEqual({ www: { type: 'A', ttl: 300, values: ['192.0.2.1', '192.0.2.2'] } })
    expect(dnscontrolOf(set({})).slice(0, 3)).toEqual([
      'D_EXTEND',
      'example.com',
      ['A', 'www', '192.0.2.1', ['TTL', 300]],
    ])
  })

  test('mail servers, certificates and services at the name of the zone', () => {
    const mx = set({ name: 'example.com', type: 'MX', data: ['10 mail.example.com.'] })
    expect(JSON.parse(formsOf(mx).cloudflare!).posts[0]).toMatchObject({ priority: 10, content: 'mail.example.com' })
    expect(parseYaml(formsOf(mx).octodns!)).toEqual({
      '': { type: 'MX', ttl: 300, value: { preference: 10, exchange: 'mail.example.com.' } },
    })
    expect(dnscontrolOf(mx)[2]).toEqual(['MX', '@', 10, 'mail.example.com.', ['TTL', 300]])
    const caa = set({ type: 'CAA', data: ['0 issue "ca.example; a=b"'] })
    expect(parseYaml(formsOf(caa).octodns!)).toMatchObject({
      www: { value: { flags: 0, tag: 'issue', value: 'ca.example; a=b' } },
    })
    const srv = set({ type: 'SRV', data: ['1 2 443 host.example.'] })
    expect(dnscontrolOf(srv)[2]).toEqual(['SRV', 'www', 1, 2, 443, 'host.example.', ['TTL', 300]])
  })

  test('a form that cannot hold the record is left out', () => {
    expect(Object.keys(formsOf(set({ type: 'DS', data: ['1 13 2 AB'] })))).toEqual(['bind', 'route53', 'terraform'])
    const elsewhere = set({ name: 'edge.provider.example', zone: undefined })
    expect(Object.keys(formsOf(elsewhere))).toEqual(['bind', 'cloudflare', 'route53', 'terraform'])
    const binary = set({ type: 'TXT', data: ['"\\255"'] })
    expect(Object.keys(formsOf(binary))).toEqual(['bind', 'cloudflare', 'route53', 'terraform'])
    expect(JSON.parse(formsOf(binary).route53!).Changes[0].ResourceRecordSet.ResourceRecords[0].Value).toBe('"\\377"')
  })

  test.each(HOSTILE)('no text breaks out of its place: %j', (text) => {
    const given = set({ type: 'TXT', data: [toQuotedStrings(text)] })
    const forms = formsOf(given)
    const lines = forms.bind!.split('\n')
    expect(lines).toHaveLength(1)
    const read = (data: string) => Buffer.concat(tokenize(data)!.map(({ raw }) => unescapeOctets(raw))).toString()
    expect(read(lines[0]!.replace('www.example.com. 300 IN TXT ', ''))).toBe(text)
    expect(read(JSON.parse(forms.cloudflare!).posts[0].content)).toBe(text)
    const decimal = (data: string) =>
      data.replace(/\\([0-7]{3}|.)/g, (each, octal) =>
        octal.length === 3 ? `\\${String(parseInt(octal, 8)).padStart(3, '0')}` : each,
      )
    expect(read(decimal(JSON.parse(forms.route53!).Changes[0].ResourceRecordSet.ResourceRecords[0].Value))).toBe(text)
    const texts = hclTexts(forms.terraform!)
    expect(texts).toHaveLength(5)
    expect(read(decimal(`"${texts[4]!.replaceAll('""', '" "')}"`))).toBe(text)
    const { www } = parseYaml(forms.octodns!) as { www: { value: string } }
    expect(www.value.replaceAll('\\;', ';')).toBe(text)
    expect(dnscontrolOf(given)).toEqual(['D_EXTEND', 'example.com', ['TXT', 'www', text, ['TTL', 300]]])
  })
})
