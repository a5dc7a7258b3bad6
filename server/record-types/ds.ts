import { digestLengthError, fieldRecord, hexField, numberField } from './fields.ts'

/** RFC 4034 section 5.1. Names of the algorithms: appendix A.1, RFC 5155, 5702, 6605 and 8080. */
export const ds = fieldRecord({
  queryType: 'DS',
  code: 43,
  parts: 'key-tag algorithm digest-type digest',
  suggestedFor: ['apex'],
  fields: [
    numberField('key tag', 16),
    numberField('algorithm', 8, {
      ...{ DSA: 3, RSASHA1: 5, 'RSASHA1-NSEC3-SHA1': 7, RSASHA256: 8, RSASHA512: 10 },
      ...{ ECDSAP256SHA256: 13, ECDSAP384SHA384: 14, ED25519: 15, ED448: 16 },
    }),
    numberField('digest type', 8, { 'SHA-1': 1, SHA1: 1, 'SHA-256': 2, SHA256: 2, 'SHA-384': 4, SHA384: 4 }),
    hexField('digest'),
  ],
  validate: ([, , type, digest]) => digestLengthError('digest', type, digest, { 1: 20, 2: 32, 4: 48 }),
})
