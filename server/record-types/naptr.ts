import { fieldRecord, hostField, numberField, stringField } from './fields.ts'

/** RFC 3403 section 4.1. Letter case matters in the services, not in the flags. */
export const naptr = fieldRecord({
  queryType: 'NAPTR',
  code: 35,
  parts: 'order preference flags services expression replacement',
  suggestedFor: [],
  fields: [
    numberField('order', 16),
    numberField('preference', 16),
    stringField('flags', { isUpperCase: true }),
    stringField('services'),
    stringField('expression'),
    hostField,
  ],
})
