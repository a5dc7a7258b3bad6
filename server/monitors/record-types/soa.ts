import { durationField, type Field, fieldRecord, fieldsOf, hostField, numberField } from './fields.ts'
import type { RecordType } from './record-type.ts'

/** People write it as the mail address that it stands for: the dots before the @ then belong to one label. */
const mailbox: Field = {
  ...hostField,
  parse: (token) => {
    const [, local, domain] = token.raw.match(/^([^@]+)@([^@]+)$/) ?? []
    if (local === undefined) return hostField.parse(token)
    return hostField.parse({ ...token, raw: `${local.replaceAll('.', '\\.')}.${domain}` })
  },
}

const record = fieldRecord({
  queryType: 'SOA',
  code: 6,
  parts: 'a primary name server, a mailbox, a serial, and the times refresh, retry, expire and minimum',
  example: 'ns1.example.com hostmaster.example.com * 3600 900 1209600 300',
  likelyAt: ['apex'],
  fields: [
    hostField,
    mailbox,
    numberField('serial', 32),
    durationField('refresh time'),
    durationField('retry time'),
    durationField('expire time'),
    durationField('minimum'),
  ],
})

/** RFC 1035 section 3.3.13. The serial changes with every change of the zone, so that it is left open unless it is asked for. */
export const soa: RecordType = {
  ...record,
  skipped:
    'SOA is not imported: its serial changes with every change of the zone. Create a monitor with * in its place.',
  asExpected: (value, isExactMatch) => (isExactMatch ? value : fieldsOf(value).with(2, '*').join(' ')),
  isExactByDefault: () => false,
}
