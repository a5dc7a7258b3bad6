import { fieldRecord, hostField, numberField } from './fields.ts'

/** RFC 2782. A compressed target is accepted, although servers must not send one. */
export const srv = fieldRecord({
  queryType: 'SRV',
  code: 33,
  parts: 'priority weight port target',
  suggestedFor: ['service'],
  fields: [numberField('priority', 16), numberField('weight', 16), numberField('port', 16), hostField],
  isPriorityFirst: true,
})
