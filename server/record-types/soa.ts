import { fieldError } from '#contract/field-errors.ts'
import { durationField, type Field, fieldRecord, fieldsOf, hostField, numberField } from './fields.ts'
import { type RecordType, refused } from './record-type.ts'

/** Also accepts a mail address. The dots before its @ belong to one label. */
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
  parts: 'mname rname serial refresh retry expire minimum',
  suggestedFor: ['apex'],
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

/** RFC 1035 section 3.3.13. A flexible monitor ignores the serial, which changes with every change of the zone. */
export const soa: RecordType = {
  ...record,
  skipped:
    'SOA is not imported because the serial changes with every change of the zone. Create a monitor with * for the serial.',
  parseExpected: (text, isExactMatch) => {
    const parsed = record.parseExpected(text, isExactMatch)
    if (!parsed.ok || isExactMatch || withoutSerial(parsed.value) === parsed.value) return parsed
    return refused(fieldError('serial_in_flexible_mode'))
  },
  asExpected: (value, isExactMatch) => (isExactMatch ? value : withoutSerial(value)),
  flexibleView: withoutSerial,
  isExactByDefault: () => false,
}

function withoutSerial(value: string): string {
  return fieldsOf(value).with(2, '*').join(' ')
}
