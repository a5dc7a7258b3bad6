import { type Static, Type } from 'typebox'
import { Email } from './agents.ts'
import { Instant, Name, Nullable, ONE_LINE, SET_BY_SERVER, Slug, StrictObject } from './common.ts'

/** The size of the image. Its data URL has a third more characters. */
export const MAX_LOGO_BYTES = 32_768

const settings = {
  timezone: Type.String({ description: 'An IANA name.', examples: ['Europe/Berlin'], maxLength: 64 }),
  event_retention_days: Nullable(
    Type.Integer({
      minimum: 1,
      maximum: 36_500,
      description: 'Days until events are deleted; null for the maximum of the plan.',
    }),
  ),
  alert_emails: Type.Array(Type.String(), {
    description: 'Addresses that are notified when a webhook is paused, in addition to the owners.',
  }),
  logo: Nullable(
    Type.String({
      maxLength: 44_000,
      pattern: '^data:image/(?:png|jpeg|webp);base64,[A-Za-z0-9+/]+={0,2}$',
      description: `a PNG, JPEG or WebP image of at most ${MAX_LOGO_BYTES / 1024} KiB, as a data URL. Public setup pages show it.`,
      examples: ['data:image/png;base64,iVBORw0KGgo='],
    }),
  ),
}

export const Organization = StrictObject(
  {
    id: Type.String({ description: 'Begins with `org_`.' }),
    name: Type.String(),
    slug: Type.String(),
    created: Instant('When the organization was created.'),
    settings: StrictObject(settings),
  },
  {
    title: 'Organization',
    examples: [
      {
        id: 'org_01kaj3x7v8q2n5m4r6t9w0y1zb',
        name: 'Example',
        slug: 'example',
        created: '2026-11-20T08:00:00.000Z',
        settings: {
          timezone: 'Europe/Berlin',
          event_retention_days: 365,
          alert_emails: ['dns@example.com'],
          logo: null,
        },
      },
    ],
  },
)
export type Organization = Static<typeof Organization>

export const OrganizationChange = StrictObject(
  {
    name: Type.Optional(Name),
    slug: Type.Optional(Slug),
    settings: Type.Optional(
      StrictObject({
        timezone: Type.Optional(settings.timezone),
        event_retention_days: Type.Optional(settings.event_retention_days),
        alert_emails: Type.Optional(Nullable(Type.Array(Email, { maxItems: 20 }))),
        logo: Type.Optional(settings.logo),
      }),
    ),
  },
  {
    title: 'OrganizationChange',
    examples: [{ name: 'Example', settings: { timezone: 'Europe/Berlin' } }],
    'x-elsewhere': {
      id: SET_BY_SERVER,
      created: SET_BY_SERVER,
      timezone: 'belongs inside `settings`.',
      event_retention_days: 'belongs inside `settings`.',
      alert_emails: 'belongs inside `settings`.',
      logo: 'belongs inside `settings`.',
      billing: 'is changed with PATCH /organization/billing.',
      plan: 'is changed with PUT /organization/subscription.',
    },
  },
)
export type OrganizationChange = Static<typeof OrganizationChange>

/** Days until a requested deletion begins. */
export const DELETION_DAYS = 7

export const OrganizationDeletion = StrictObject(
  {
    requested: Nullable(Instant('When the deletion was requested; null if it was not.')),
    requested_by: Nullable(Type.String({ description: 'The name of who requested it.' })),
    deletes: Nullable(Instant('When everything is deleted, unless an owner cancels the deletion before.')),
  },
  {
    title: 'OrganizationDeletion',
    examples: [
      {
        requested: '2026-11-20T08:00:00.000Z',
        requested_by: 'Ada Example',
        deletes: '2026-11-27T08:00:00.000Z',
      },
    ],
  },
)
export type OrganizationDeletion = Static<typeof OrganizationDeletion>

export const OrganizationDeletionQuery = StrictObject({
  name: Type.String({ description: 'The name of the organization, to confirm the deletion.', maxLength: 250 }),
})

const line = (description: string, maxLength = 250) =>
  Nullable(Type.String({ maxLength, pattern: ONE_LINE, description }))
const billing = {
  name: line('A person or a company.'),
  email: Nullable(Email),
  line1: line('Street and number.'),
  line2: line('The second line of the address.'),
  zipcode: line('Postal code.', 40),
  city: line('City.'),
  state: line('State or region.'),
  country: Nullable(
    Type.String({ pattern: '^[A-Za-z]{2}$', description: 'an ISO 3166-1 country code of two letters' }),
  ),
  vat: line('VAT identification number.', 40),
  currency: Nullable(
    Type.String({ pattern: '^[A-Za-z]{3}$', description: 'an ISO 4217 currency code of three letters' }),
  ),
}

export const Billing = StrictObject(billing, {
  title: 'Billing',
  description: 'The billing details. A field is null if it is not set.',
  examples: [
    {
      name: 'Example GmbH',
      email: 'billing@example.com',
      line1: 'Example Street 1',
      line2: null,
      zipcode: '10115',
      city: 'Berlin',
      state: null,
      country: 'DE',
      vat: 'DE123456789',
      currency: 'EUR',
    },
  ],
})
export type Billing = Static<typeof Billing>

export const BillingChange = StrictObject(
  {
    name: Type.Optional(billing.name),
    email: Type.Optional(billing.email),
    line1: Type.Optional(billing.line1),
    line2: Type.Optional(billing.line2),
    zipcode: Type.Optional(billing.zipcode),
    city: Type.Optional(billing.city),
    state: Type.Optional(billing.state),
    country: Type.Optional(billing.country),
    vat: Type.Optional(billing.vat),
    currency: Type.Optional(billing.currency),
  },
  { title: 'BillingChange', examples: [{ name: 'Example GmbH', city: 'Berlin', country: 'DE' }] },
)
export type BillingChange = Static<typeof BillingChange>
