import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { PlanSetting } from '#contract/subscription.ts'

const PLANS = Type.Array(PlanSetting, { minItems: 1, maxItems: 100 })

export type PlanSettings = Static<typeof PLANS>

/** Whether the value of the setting PLANS has the right shape; else where it has not, as a JSON pointer, and why. */
export function findWrongPlan(value: unknown): { path: string; message: string } | undefined {
  const error = Value.Errors(PLANS, value)[0]
  return error && { path: error.instancePath || '/', message: error.message }
}
