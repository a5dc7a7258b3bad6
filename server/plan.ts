import { createRequire } from 'node:module'
import type { Plan as PlanAnswer, PlanLimits } from '#contract/subscription.ts'

export type Price = PlanAnswer['prices'][number] & { stripe_price: string }
export type Plan = { id: string; name: string; prices: Price[]; limits: PlanLimits }
/** In the operator's order. At least one is free: the first of these is what an organization has that pays nothing. */
export type Plans = readonly [Plan, ...Plan[]]

export const NO_LIMITS: PlanLimits = {
  monitors: null,
  min_frequency: null,
  event_retention_days: null,
  webhooks: null,
  agents: null,
  api_keys: null,
}

/** What a server offers whose operator sells nothing. */
export const SELF_HOSTED: Plans = [{ id: 'self-hosted', name: 'Self-hosted', prices: [], limits: NO_LIMITS }]

/** Loaded only where PLANS is set: TypeBox takes 20 MB in each process. */
function loadSchema() {
  const require = createRequire(import.meta.url)
  const { Type } = require('typebox') as typeof import('typebox')
  const { Value } = require('typebox/value') as typeof import('typebox/value')
  const { PlanSetting } = require('#contract/subscription.ts') as typeof import('#contract/subscription.ts')
  return { Value, Settings: Type.Array(PlanSetting, { minItems: 1, maxItems: 100 }) }
}

/** Reads the setting PLANS, a JSON list. Limits that are not named are null. `reason` says where and what is wrong. */
export function parsePlans(text: string): { ok: true; plans: Plans } | { ok: false; reason: string } {
  let given: unknown
  try {
    given = JSON.parse(text)
  } catch {
    return { ok: false, reason: 'is not JSON.' }
  }
  const { Value, Settings } = loadSchema()
  const error = Value.Errors(Settings, given)[0]
  if (error || !Value.Check(Settings, given)) {
    return { ok: false, reason: `has an invalid plan: ${error?.instancePath || '/'} ${error?.message}.` }
  }
  const plans = given.map(({ prices, limits, ...plan }) => ({
    ...plan,
    prices: prices ?? [],
    limits: { ...NO_LIMITS, ...limits },
  }))
  const wrong = refusalOf(plans)
  return wrong === null ? { ok: true, plans: plans as unknown as Plans } : { ok: false, reason: wrong }
}

export const isFree = ({ prices }: Plan): boolean => prices.length === 0

/** The plan of those who pay nothing. */
export const freePlan = (plans: Plans): Plan => plans.find(isFree) ?? plans[0]

/** The plan that a Stripe price buys. */
export const planOfPrice = (plans: Plans, stripePrice: string): Plan | undefined =>
  plans.find(({ prices }) => prices.some(({ stripe_price }) => stripe_price === stripePrice))

function refusalOf(plans: Plan[]): string | null {
  const ids = plans.map(({ id }) => id)
  const prices = plans.flatMap(({ prices }) => prices.map(({ stripe_price }) => stripe_price))
  const twice = [...ids, ...prices].find((each, index, all) => all.indexOf(each) !== index)
  if (twice !== undefined) return `names ${twice} twice.`
  if (!plans.some(isFree)) return 'must have one plan without prices, for organizations that do not pay.'
  const slow = plans.find(({ limits }) => (limits.min_frequency ?? 0) > 120)
  return slow ? `has a min_frequency above 120 in the plan ${slow.id}. The maximum is 120 minutes.` : null
}
