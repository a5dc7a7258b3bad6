import { fieldRecord, hostField, numberField, stringField } from './fields.ts'

/** RFC 3403 section 4.1. The case of the flags does not matter; that of the services is compared as it is written. */
export const naptr = fieldRecord({
  queryType: 'NAPTR',
  code: 35,
  parts: 'order preference flags services expression replacement',
  likelyAt: [],
  fields: [
    numberField('order', 16),
    numberField('preference', 16),
    stringField('flags', { isUpperCase: true }),
    stringField('services'),
    stringField('expression'),
    hostField,
  ],
})
