import { digestLengthError, fieldRecord, hexField, numberField } from './fields.ts'

/** RFC 4255 section 3.1; SHA-256: RFC 6594. */
export const sshfp = fieldRecord({
  queryType: 'SSHFP',
  code: 44,
  parts: 'algorithm fingerprint-type fingerprint',
  suggestedFor: ['host'],
  fields: [numberField('algorithm', 8), numberField('fingerprint type', 8), hexField('fingerprint')],
  validate: ([, type, digest]) => digestLengthError('fingerprint', type, digest, { 1: 20, 2: 32 }),
})
