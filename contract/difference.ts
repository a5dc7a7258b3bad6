import { type Static, Type } from 'typebox'
import { adviceFor } from './advice.ts'
import { StrictObject } from './common.ts'
import type { VerdictReason } from './reasons.ts'

const texts = (description: string) => Type.Array(Type.String(), { description })

/** How the current values differ from the expected ones. */
export const Difference = StrictObject(
  {
    missing: texts('Expected values that no record matches.'),
    unexpected: texts('Observed values that are not expected; empty if `is_exact_match` is false.'),
    matched: texts('Expected values that a record matches.'),
    changes: Type.Array(
      StrictObject({
        action: Type.Enum(['add', 'remove'], { type: 'string' }),
        name: Type.String({ description: 'The name of the record: the end of the CNAME chain, if there is one.' }),
        type: Type.String({ description: 'The type of the record in the zone: TXT for SPF.' }),
        value: Type.String(),
      }),
      { description: 'The records to add and remove so that the monitor becomes VALID; empty if it already is.' },
    ),
    truncated: Type.Optional(Type.Literal(true, { description: 'Present if lists or values were shortened to fit.' })),
  },
  {
    title: 'Difference',
    description: 'What is different from the expected values, and what to change.',
    examples: [
      {
        missing: ['192.0.2.1'],
        unexpected: ['192.0.2.99'],
        matched: [],
        changes: [
          { action: 'add', name: 'www.example.com', type: 'A', value: '192.0.2.1' },
          { action: 'remove', name: 'www.example.com', type: 'A', value: '192.0.2.99' },
        ],
      },
    ],
  },
)
export type Difference = Static<typeof Difference>

/** Null if the verdict has no values: after failures, and for verdicts of older versions. */
export function differenceOf(verdict: VerdictReason): Difference | null {
  const { params } = verdict
  if (!('missing' in params)) return null
  const { missing, record, truncated } = params
  const { unexpected, matched } = 'matched' in params ? params : { unexpected: [], matched: [] }
  // A name can have only one CNAME or SPF record, so the new one does not stand beside it, also in flexible mode.
  const { remove = unexpected, extend = [] } = adviceFor(verdict)?.params ?? {}
  const removed = [...remove, ...extend]
  const change = (action: 'add' | 'remove') => (value: string) => ({ action, ...record, value })
  return {
    missing,
    unexpected,
    matched,
    changes: [...missing.map(change('add')), ...removed.map(change('remove'))],
    ...(truncated && { truncated }),
  }
}
