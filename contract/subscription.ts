import { type Static, Type } from 'typebox'
import { firstExample, Instant, Name, Nullable, pageQuery, SET_BY_SERVER, StrictObject } from './common.ts'

const limit = (description: string) => Nullable(Type.Integer({ minimum: 0, description }))

/** Null means without a limit. */
export const PlanLimits = StrictObject(
  {
    monitors: limit('How many monitors.'),
    min_frequency: limit('The minimum time between two checks, in minutes.'),
    event_retention_days: limit('Days until events are deleted.'),
    webhooks: limit('How many webhooks.'),
    agents: limit('The number of agents, including open invitations.'),
    api_keys: limit('The number of active API keys.'),
  },
  {
    title: 'PlanLimits',
    description: 'The limits of the plan. Null means no limit.',
    examples: [
      { monitors: 500, min_frequency: 5, event_retention_days: 365, webhooks: 20, agents: 10, api_keys: null },
    ],
  },
)
export type PlanLimits = Static<typeof PlanLimits>

export const INTERVALS = ['month', 'year'] as const
export type Interval = (typeof INTERVALS)[number]

const price = {
  currency: Type.String({ pattern: '^[A-Z]{3}$', description: 'ISO 4217.' }),
  amount: Type.Integer({ minimum: 0, description: 'The amount in the smallest unit of the currency (cents).' }),
  interval: Type.Enum(INTERVALS),
}

export const Plan = StrictObject(
  {
    id: Type.String({ examples: ['self-hosted'] }),
    name: Type.String(),
    prices: Type.Array(StrictObject(price), { description: 'Empty: the plan is free.' }),
    limits: PlanLimits,
  },
  {
    title: 'Plan',
    examples: [
      {
        id: 'team',
        name: 'Team',
        prices: [{ currency: 'EUR', amount: 2900, interval: 'month' }],
        limits: firstExample(PlanLimits),
      },
    ],
  },
)
export type Plan = Static<typeof Plan>

/** A plan in the setting PLANS. */
export const PlanSetting = StrictObject({
  id: Type.String({ pattern: '^[a-z0-9]+(-[a-z0-9]+)*$', maxLength: 100 }),
  name: Name,
  prices: Type.Optional(
    Type.Array(StrictObject({ ...price, stripe_price: Type.String({ minLength: 1 }) }), { maxItems: 20 }),
  ),
  limits: Type.Partial(PlanLimits, { additionalProperties: false }),
})
export type PlanSetting = Static<typeof PlanSetting>

export const SUBSCRIPTION_STATUSES = ['active', 'trialing', 'past_due', 'canceled'] as const
export type SubscriptionStatus = (typeof SUBSCRIPTION_STATUSES)[number]

export const Subscription = StrictObject(
  {
    plan: Type.String({ description: 'Id of a plan.' }),
    status: Type.Enum(SUBSCRIPTION_STATUSES),
    quantity: Type.Integer(),
    current_period_start: Nullable(Instant('Null on a free plan.')),
    current_period_end: Nullable(Instant('Null on a free plan.')),
    cancel_at: Nullable(Instant('When the plan ends, if it was canceled.')),
    limits: PlanLimits,
    usage: StrictObject(
      {
        monitors: Type.Integer(),
        min_frequency: Nullable(
          Type.Integer({ description: 'The shortest frequency in use, in minutes; null without monitors.' }),
        ),
        event_retention_days: Nullable(
          Type.Integer({ description: 'The current setting in days; null if events never expire.' }),
        ),
        webhooks: Type.Integer(),
        agents: Type.Integer({ description: 'Open invitations included.' }),
        api_keys: Type.Integer(),
      },
      { description: 'How much of each limit is used.' },
    ),
  },
  {
    title: 'Subscription',
    examples: [
      {
        plan: 'team',
        status: 'active',
        quantity: 1,
        current_period_start: '2026-11-01T00:00:00.000Z',
        current_period_end: '2026-12-01T00:00:00.000Z',
        cancel_at: null,
        limits: firstExample(PlanLimits),
        usage: { monitors: 120, min_frequency: 5, event_retention_days: 365, webhooks: 3, agents: 4, api_keys: 2 },
      },
    ],
  },
)
export type Subscription = Static<typeof Subscription>

export const PlanChoice = StrictObject(
  {
    plan: Type.String({ maxLength: 100, description: 'Id of a plan.' }),
    interval: Type.Optional(Type.Enum(INTERVALS, { description: 'A price of the plan. Default: the first one.' })),
  },
  {
    title: 'PlanChoice',
    examples: [{ plan: 'self-hosted' }],
    'x-elsewhere': {
      status: SET_BY_SERVER,
      quantity: SET_BY_SERVER,
      current_period_start: SET_BY_SERVER,
      current_period_end: SET_BY_SERVER,
      cancel_at: 'is set with DELETE /organization/subscription, which cancels the plan at the end of the period.',
      limits: 'are set by the plan. Leave them out.',
      usage: SET_BY_SERVER,
    },
  },
)
export type PlanChoice = Static<typeof PlanChoice>

export const PaymentPage = StrictObject(
  { url: Type.String({ description: 'Open this URL in a browser. It works once and expires soon.' }) },
  {
    title: 'PaymentPage',
    description: 'The URL where someone pays or confirms. The plan changes when the payment provider reports it.',
    examples: [{ url: 'https://checkout.stripe.com/c/pay/cs_live_a1B2c3' }],
  },
)
export type PaymentPage = Static<typeof PaymentPage>

export const INVOICE_STATUSES = ['draft', 'open', 'paid', 'uncollectible', 'void'] as const
export type InvoiceStatus = (typeof INVOICE_STATUSES)[number]

export const Invoice = StrictObject(
  {
    id: Type.String({ description: "The payment provider's id." }),
    number: Nullable(Type.String()),
    created: Instant('When the invoice was created.'),
    status: Type.Enum(INVOICE_STATUSES),
    currency: Type.String(),
    total: Type.Integer({ description: 'The amount in the smallest unit of the currency (cents).' }),
    amount_due: Type.Integer(),
    amount_paid: Type.Integer(),
    period_start: Instant('The beginning of the billed period.'),
    period_end: Instant('The end of the billed period.'),
    url: Nullable(Type.String({ description: 'A page where the invoice can be read and paid.' })),
    pdf: Nullable(Type.String({ description: 'The document.' })),
  },
  {
    title: 'Invoice',
    examples: [
      {
        id: 'in_1SVmXy2eZvKYlo2C',
        number: 'ZW-0042',
        created: '2026-11-01T00:00:00.000Z',
        status: 'paid',
        currency: 'EUR',
        total: 2900,
        amount_due: 2900,
        amount_paid: 2900,
        period_start: '2026-11-01T00:00:00.000Z',
        period_end: '2026-12-01T00:00:00.000Z',
        url: 'https://invoice.stripe.com/i/example',
        pdf: 'https://invoice.stripe.com/i/example/pdf',
      },
    ],
  },
)
export type Invoice = Static<typeof Invoice>

export const InvoiceQuery = StrictObject(pageQuery('InvoiceOrder', ['created']))
