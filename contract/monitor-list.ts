import { type Static, type TObject, Type } from 'typebox'
import { pageQuery, StrictObject } from './common.ts'
import { labelFilters, withMetadataFilters } from './labels.ts'
import { Include, STATES } from './monitors.ts'
import { RECORD_TYPES } from './record-types.ts'

/** The query parameters of `GET /monitors`. `server/monitors/list/filter.ts` parses them. */
export const monitorFilters = {
  group: Type.Optional(Type.String({ description: 'Slug or id of a group.', maxLength: 100 })),
  customer: Type.Optional(
    Type.String({
      maxLength: 128,
      description:
        'Only monitors of the group with this external id. If no group has it: only monitors whose metadata has this value for the key `customer`.',
      examples: ['acme'],
    }),
  ),
  ...labelFilters,
  // The server parses it: one state, or several separated by commas.
  state: Type.Optional(
    Type.String({ maxLength: 100, description: `Only monitors in one of these states: ${STATES.join(', ')}.` }),
  ),
  domain: Type.Optional(
    Type.String({ maxLength: 255, description: 'Only monitors with this domain. Ignored if `full_domain` is given.' }),
  ),
  subdomain: Type.Optional(
    Type.String({
      maxLength: 255,
      description: 'Only monitors with this subdomain; empty for the apex. Ignored if `full_domain` is given.',
    }),
  ),
  full_domain: Type.Optional(
    Type.String({
      maxLength: 512,
      description: 'Only monitors with this full name, however it is split into domain and subdomain.',
    }),
  ),
  record_type: Type.Optional(Type.Enum(RECORD_TYPES, { description: 'Only monitors of this record type.' })),
  incident: Type.Optional(
    Type.String({
      maxLength: 40,
      description: 'Only monitors that failed in the incident with this id, also those that have recovered.',
      examples: ['inc_01kaj3x7v8q2n5m4r6t9w0y1zb'],
    }),
  ),
  is_active: Type.Optional(
    Type.Boolean({ description: 'Only enabled monitors (true), or only disabled ones (false).' }),
  ),
  search: Type.Optional(
    Type.String({
      description:
        'Only monitors that contain all of these words: in the name, an expected value, the external id, a tag or the metadata. Letter case does not matter. Accepts URLs, mail addresses and IP addresses too. Without a word of three or more characters: names that begin with this text.',
      minLength: 1,
      maxLength: 512,
      examples: ['shop 192.0.2.1'],
    }),
  ),
  value: Type.Optional(
    Type.String({
      description: 'Only monitors with an expected value that contains this text. Letter case does not matter.',
      minLength: 3,
      maxLength: 255,
      examples: ['192.0.2.'],
    }),
  ),
}
export const MONITOR_ORDERS = [
  'created',
  'name',
  'domain',
  'subdomain',
  'record_type',
  'state',
  'incidence_count',
] as const
export const MonitorQuery = StrictObject(
  { ...pageQuery('MonitorOrder', MONITOR_ORDERS), ...monitorFilters, include: Include },
  withMetadataFilters,
)
const { incident: _, ...otherFilters } = monitorFilters
/** `GET /incidents/{incident}/monitors` names the incident in its path. */
export const IncidentMonitorQuery = StrictObject(
  { ...pageQuery('MonitorOrder', MONITOR_ORDERS), ...otherFilters, include: Include },
  withMetadataFilters,
)
/** Counts stop here. */
export const MAX_COUNTED = 5_000
export const MonitorCounts = StrictObject(
  {
    states: Type.Record(Type.String(), Type.Integer(), {
      description: 'The enabled monitors by state. States that no monitor has are left out.',
    }),
    active: Type.Integer({ description: 'The enabled monitors.' }),
    disabled: Type.Integer({ description: 'The disabled monitors.' }),
    is_partial: Type.Boolean({
      description: `Whether counting stopped after ${MAX_COUNTED.toLocaleString('en')} monitors, so that the numbers are lower bounds.`,
    }),
  },
  {
    title: 'MonitorCounts',
    description: 'How many monitors are in each state.',
    examples: [{ states: { VALID: 130, MISMATCH: 4 }, active: 134, disabled: 6, is_partial: false }],
  },
)
export type MonitorCounts = Static<typeof MonitorCounts>
export const CountsQuery = StrictObject(monitorFilters, withMetadataFilters)

/** In addition: `metadata.<key>`. */
export type MonitorFilters = Static<TObject<typeof monitorFilters>>
export type MonitorQuery = Static<typeof MonitorQuery>
