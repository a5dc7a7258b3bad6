import { createRequire } from 'node:module'
import type { PlanLimits, Plan as PlanResponse } from '#contract/subscription.ts'
import type { PlanSettings } from './plan-schema.ts'

export type Price = PlanResponse['prices'][number] & { stripe_price: string }
export type Plan = { id: string; name: string; prices: Price[]; limits: PlanLimits }
/** In the order of the setting. At least one is free. */
export type Plans = readonly [Plan, ...Plan[]]

export const NO_LIMITS: PlanLimits = {
  monitors: null,
  min_frequency: null,
  event_retention_days: null,
  webhooks: null,
  agents: null,
  api_keys: null,
}

/** For servers without PLANS. */
export const SELF_HOSTED: Plans = [{ id: 'self-hosted', name: 'Self-hosted', prices: [], limits: NO_LIMITS }]

/** Loaded only if PLANS is set, because TypeBox takes 20 MB in each process. */
function loadSchema(): typeof import('./plan-schema.ts') {
  return createRequire(import.meta.url)('#server/plan-schema.ts')
}

/** Parses the setting PLANS, a JSON array. An absent limit becomes null. */
export function parsePlans(text: string): { ok: true; plans: Plans } | { ok: false; reason: string } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { ok: false, reason: 'is not JSON.' }
  }
  const wrong = loadSchema().findWrongPlan(value)
  if (wrong) return { ok: false, reason: `has an invalid plan: ${wrong.path} ${wrong.message}.` }
  const plans = (value as PlanSettings).map(({ prices, limits, ...plan }) => ({
    ...plan,
    prices: prices ?? [],
    limits: { ...NO_LIMITS, ...limits },
  }))
  const reason = findInconsistency(plans)
  return reason === null ? { ok: true, plans: plans as unknown as Plans } : { ok: false, reason }
}

export const isFree = ({ prices }: Plan): boolean => prices.length === 0

/** The plan of organizations that do not pay: the first free one. */
export const freePlan = (plans: Plans): Plan => plans.find(isFree) ?? plans[0]

/** The plan that a Stripe price buys. */
export const planOfPrice = (plans: Plans, stripePrice: string): Plan | undefined =>
  plans.find(({ prices }) => prices.some(({ stripe_price }) => stripe_price === stripePrice))

function findInconsistency(plans: Plan[]): string | null {
  const ids = plans.map(({ id }) => id)
  const prices = plans.flatMap(({ prices }) => prices.map(({ stripe_price }) => stripe_price))
  const duplicate = [...ids, ...prices].find((id, index, all) => all.indexOf(id) !== index)
  if (duplicate !== undefined) return `names ${duplicate} twice.`
  if (!plans.some(isFree)) return 'must have one plan without prices, for organizations that do not pay.'
  const tooSlow = plans.find(({ limits }) => (limits.min_frequency ?? 0) > 120)
  return tooSlow ? `has a min_frequency above 120 in the plan ${tooSlow.id}. The maximum is 120 minutes.` : null
}
