import { type Static, Type } from 'typebox'
import { Instant, Nullable, pageQuery, StrictObject } from './common.ts'

/** How long quick checks run for a monitor with `until: "valid"`, and the interval of the first ones. */
export const WAIT_HOURS = 72
export const FIRST_INTERVAL_SECONDS = 15
export const MAX_MONITORS_PER_PAGE = 20
export const SETUP_PAGE_DAYS = 30

export const SetupKey = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: '^\\S(.*\\S)?$',
  description: 'your own key for the page, such as the id of your customer. Must not begin or end with a space',
  examples: ['customer-4711'],
})

export const SetupPage = StrictObject(
  {
    id: Type.String({ description: 'Begins with `stp_`.' }),
    created: Instant('When the page was created.'),
    key: Nullable(Type.String({ description: 'Your own key; null for a page that one monitor has for itself.' })),
    url: Type.String({
      description: 'The public link. Anyone who has it sees which records the monitors expect, and whether they exist.',
      examples: ['https://zonewatch.example.com/connect/2vJ8…'],
    }),
    expires: Instant(`When the link stops working, ${SETUP_PAGE_DAYS} days after it was created or renewed.`),
    monitors: Type.Array(Type.String(), { description: 'The ids of the monitors on the page (`mon_…`).' }),
    is_done: Type.Boolean({ description: 'Whether all monitors of the page are VALID.' }),
  },
  {
    title: 'SetupPage',
    description: 'A public page that shows a customer which DNS records to create.',
    examples: [
      {
        id: 'stp_01kaj3x7v8q2n5m4r6t9w0y1zb',
        created: '2026-11-20T08:00:00.000Z',
        key: 'customer-4711',
        url: 'https://zonewatch.example.com/connect/Zk3vD0pQ7m1xT5bJ9sW2eR8yU4iO6aLcHfGnVqXtBwM',
        expires: '2026-12-20T08:00:00.000Z',
        monitors: ['mon_01kaj3x7v8q2n5m4r6t9w0y1zb'],
        is_done: false,
      },
    ],
  },
)
export type SetupPage = Static<typeof SetupPage>

export const SetupPageQuery = StrictObject({
  ...pageQuery('SetupPageOrder', ['created']),
  key: Type.Optional(Type.String({ maxLength: 100, description: 'Only the page with this key.' })),
})
export type SetupPageQuery = Static<typeof SetupPageQuery>

export const WAIT_STATES = ['waiting', 'valid', 'timed_out'] as const

/** The wait of a monitor with `until: "valid"`. */
export const Wait = StrictObject(
  {
    state: Type.Enum(WAIT_STATES, {
      type: 'string',
      description:
        '`waiting`: quick checks are running. `valid`: the expected records were found. `timed_out`: they were not found in time.',
    }),
    started: Instant('When the wait began.'),
    deadline: Instant(`When the wait times out: ${WAIT_HOURS} hours after it began.`),
    ended: Nullable(Instant('When the wait ended; null while the monitor waits.')),
    setup_page: Nullable(
      StrictObject(
        {
          id: SetupPage.properties.id,
          url: SetupPage.properties.url,
          expires: SetupPage.properties.expires,
        },
        { description: 'The public page for the customer; null once it was revoked.' },
      ),
    ),
  },
  { title: 'Wait' },
)
export type Wait = Static<typeof Wait>

/** The state of a record on a public page. */
export const RECORD_STATES = ['waiting', 'wrong', 'found', 'valid', 'timed_out'] as const
export type RecordState = (typeof RECORD_STATES)[number]

const Provider = StrictObject({
  name: Type.String(),
  url: Type.String({ description: 'Where the customer signs in.' }),
  steps: Type.Array(Type.String()),
})

const PublicRecord = StrictObject({
  host: Type.String({ description: 'The name within its zone; `@` for the apex.' }),
  name: Type.String({ description: 'The full name.' }),
  zone: Type.String(),
  type: Type.String(),
  values: Type.Array(StrictObject({ value: Type.String(), priority: Nullable(Type.String()) })),
  state: Type.Enum(RECORD_STATES),
  found: Nullable(
    Type.Array(Type.String(), {
      description: 'What the name servers answer now; null if none of them answered the last query.',
    }),
  ),
  unexpected: Type.Array(Type.String(), { description: 'Records to remove.' }),
  has_other_records: Type.Boolean({ description: 'Whether other records beside these are allowed.' }),
  checked: Nullable(Instant('When the name servers were last queried.')),
  provider: Nullable(Provider),
  advice: Type.Array(Type.String(), {
    description: 'What to do, if the last check of the record says more than that it is missing. Sentences in order.',
  }),
  notes: Type.Array(Type.String(), { description: 'What to know about this record at this provider.' }),
})
export type PublicRecord = Static<typeof PublicRecord>

/** All data that the public page reveals. */
export const PublicPage = StrictObject(
  {
    organization: Type.String(),
    logo: Nullable(Type.String({ description: 'A data URL.' })),
    ttl: Type.Integer({ description: 'Seconds; a suggestion.' }),
    is_done: Type.Boolean(),
    records: Type.Array(PublicRecord),
  },
  { title: 'PublicSetupPage' },
)
export type PublicPage = Static<typeof PublicPage>
