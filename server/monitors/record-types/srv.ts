import { fieldRecord, hostField, numberField } from './fields.ts'

/** RFC 2782. The target is read also where it is compressed, which servers must not do. */
export const srv = fieldRecord({
  queryType: 'SRV',
  code: 33,
  parts: 'priority weight port target',
  likelyAt: ['service'],
  fields: [numberField('priority', 16), numberField('weight', 16), numberField('port', 16), hostField],
  isPriorityFirst: true,
})
