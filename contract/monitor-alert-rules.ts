import { type Static, Type } from 'typebox'
import { StrictObject } from './common.ts'

const ruleReasons = [
  'matches',
  'inactive',
  'group',
  'name',
  'tag',
  'type',
  'state',
  'never_valid',
  'no_channel',
] as const
const MonitorRule = StrictObject({
  rule_id: Type.String(),
  name: Type.String({ description: 'The name of the rule.' }),
  applies: Type.Boolean({ description: 'Whether a failure of the monitor is sent by the rule.' }),
  reason: Type.Enum(ruleReasons, {
    type: 'string',
    description:
      'Why the rule applies or not. `state`: it applies only to the failures in `states`. `never_valid`: it applies after the monitor has been valid once. `no_channel`: all of its channels are disabled. Other values name the field of the rule that does not match.',
  }),
  states: Type.Array(Type.String(), { description: 'The failures that are sent. Empty: every failure.' }),
  delay: Type.Integer({ description: 'Minutes.' }),
  channels: Type.Array(StrictObject({ id: Type.String(), name: Type.String() }), {
    description: 'The active channels of the rule.',
  }),
  also_sent_by: Type.Array(Type.String(), {
    description:
      'Names of other rules that apply and send to one of the same channels. That channel receives each failure twice.',
  }),
})
export const MonitorAlertRules = StrictObject(
  { data: Type.Array(MonitorRule, { description: 'Every rule, oldest first.' }) },
  {
    title: 'MonitorAlertRules',
    examples: [
      {
        data: [
          {
            rule_id: 'rul_01kaj3x7v8q2n5m4r6t9w0y1zb',
            name: 'All monitors',
            applies: true,
            reason: 'matches',
            states: [],
            delay: 10,
            channels: [{ id: 'chn_01kaj3x7v8q2n5m4r6t9w0y1zb', name: 'Email to owners' }],
            also_sent_by: [],
          },
        ],
      },
    ],
  },
)
export type MonitorAlertRules = Static<typeof MonitorAlertRules>
export type MonitorRule = Static<typeof MonitorRule>
