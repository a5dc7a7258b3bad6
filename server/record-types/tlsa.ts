import { digestLengthError, fieldRecord, hexField, numberField } from './fields.ts'

/** RFC 6698 section 2.1; names of the numbers: RFC 7218. */
export const tlsa = fieldRecord({
  queryType: 'TLSA',
  code: 52,
  parts: 'usage selector matching-type data',
  suggestedFor: ['service'],
  fields: [
    numberField('usage', 8, { 'PKIX-TA': 0, 'PKIX-EE': 1, 'DANE-TA': 2, 'DANE-EE': 3, PRIVCERT: 255 }),
    numberField('selector', 8, { CERT: 0, SPKI: 1, PRIVSEL: 255 }),
    numberField('matching type', 8, { FULL: 0, 'SHA2-256': 1, 'SHA2-512': 2, PRIVMATCH: 255 }),
    hexField('data'),
  ],
  validate: ([, , type, digest]) => digestLengthError('digest', type, digest, { 1: 32, 2: 64 }),
})
