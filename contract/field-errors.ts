import { type Entry, entry, NAME_ERRORS, type Param, plain, VALUE_ERRORS } from './value-errors.ts'

const TYPES: Record<string, string> = {
  string: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  null: 'null',
}
/** `types`: JSON types, separated by commas. */
const typesText = (types: Param) =>
  String(types)
    .replace(/\w+/g, (type) => TYPES[type] ?? type)
    .replaceAll(',', ' or ')
/** `given`: the value as JSON, or its type if it is too long to show. */
const givenText = (given: Param) => TYPES[given] ?? String(given)

const SCHEMA = {
  required: plain('The field is missing.', 'is required.'),
  body_required: entry('The body is missing.', ['fields'], ({ fields }) =>
    fields === '' ? 'is missing. Send an object.' : `is missing. Send an object with ${fields}.`,
  ),
  unknown_field: entry('There is no such field or parameter.', ['allowed'], ({ allowed }) =>
    allowed === '' ? 'is unknown. Remove it.' : `is unknown. Allowed: ${allowed}.`,
  ),
  read_only: plain('Zonewatch sets the field, or another request changes it.', 'cannot be changed here.'),
  invalid_type: entry('The value has the wrong JSON type.', ['allowed', 'given'], ({ allowed, given }) => {
    return `must be ${typesText(allowed)}, not ${givenText(given)}.`
  }),
  invalid_body: entry('The body is not an object.', ['fields', 'given'], ({ fields, given }) => {
    return fields === ''
      ? `must be an object, not ${givenText(given)}.`
      : `must be an object with ${fields}, not ${givenText(given)}.`
  }),
  invalid_choice: entry('The value is not one of the allowed values.', ['allowed'], ({ allowed }) =>
    String(allowed).includes(',') ? `must be one of ${allowed}.` : `must be ${allowed}.`,
  ),
  invalid_list: entry('The list has an entry that is not allowed.', ['allowed'], ({ allowed }) => {
    return `must be a comma-separated list of ${allowed}.`
  }),
  out_of_range: entry('The number is too small or too large.', ['min', 'max', 'given'], ({ min, max, given }) => {
    return `must be from ${min} to ${max}, not ${givenText(given)}.`
  }),
  too_small: entry('The number is too small.', ['min', 'given'], ({ min, given }) => {
    return `must be at least ${min}, not ${givenText(given)}.`
  }),
  too_large: entry('The number is too large.', ['max', 'given'], ({ max, given }) => {
    return `must be at most ${max}, not ${givenText(given)}.`
  }),
  empty: plain('The text is empty.', 'must not be empty.'),
  too_short: entry('The text is too short.', ['min'], ({ min }) => `must have at least ${min} characters.`),
  too_long: entry('The text is too long.', ['max'], ({ max }) => `must have at most ${max} characters.`),
  too_few: entry('The list is too short.', ['min'], ({ min }) =>
    min === 1 ? 'must have at least 1 entry.' : `must have at least ${min} entries.`,
  ),
  too_many_metadata_filters: entry('The query has too many filters of metadata.', ['max'], ({ max }) => {
    return `is one filter too many. At most ${max} pairs of metadata are allowed.`
  }),
  too_many: entry('The list is too long.', ['max'], ({ max }) => `must have at most ${max} entries.`),
  repeated: plain('A parameter or header was sent more than once.', 'was given more than once. Send it once.'),
  invalid_format: entry('The text does not have the required format.', ['format', 'given'], ({ format, given }) => {
    return `must be ${format}, not ${givenText(given)}.`
  }),
  invalid_email: entry('The text is not an email address.', ['given'], ({ given }) => {
    return `must be an email address, not ${givenText(given)}.`
  }),
  invalid_slug: entry('The text is not a slug.', ['given'], ({ given }) => {
    return `must be lower-case letters, digits and single hyphens, 1 to 100 characters, not ${givenText(given)}.`
  }),
  invalid_text: entry('The text is only spaces, or has control characters or line breaks.', ['given'], ({ given }) => {
    return `must be in one line, not only spaces and without control characters, not ${givenText(given)}.`
  }),
  control_characters: entry('The text has control characters or line breaks.', ['given'], ({ given }) => {
    return `must be in one line and without control characters, not ${givenText(given)}.`
  }),
  invalid_metadata_key: entry('A key of the metadata has characters that are not allowed.', ['given'], ({ given }) => {
    return `has the key "${given}". A key is 1 to 40 letters, digits, dots, underscores and hyphens.`
  }),
  invalid_country: entry('The text is not a country code.', ['given'], ({ given }) => {
    return `must be an ISO 3166-1 country code like DE or GB, not ${givenText(given)}.`
  }),
  invalid_currency: entry('The text is not a currency code.', ['given'], ({ given }) => {
    return `must be an ISO 4217 currency code like EUR or USD, not ${givenText(given)}.`
  }),
} as const

const REQUEST = {
  invalid_json: entry('The body is not JSON.', ['detail'], ({ detail }) => `is not JSON: ${detail}.`),
  invalid_utf8: plain('The body is not UTF-8.', 'is not UTF-8.'),
  forbidden_name: plain(
    'The body has a field that could change the prototype of an object.',
    'must not have a field named __proto__, or constructor with prototype.',
  ),
  too_deep: entry('The body is nested too deeply.', ['max'], ({ max }) => {
    return `must not be nested deeper than ${max} levels.`
  }),
  too_many_values: entry('The body has too many values.', ['max'], ({ max }) => `must have at most ${max} values.`),
  nul_character: plain('The text has the character U+0000.', 'contains the character U+0000, which is not allowed.'),
  nul_in_name: plain(
    'The name of a field has the character U+0000.',
    'has a field whose name contains the character U+0000, which is not allowed.',
  ),
  unpaired_surrogate: plain(
    'The text is not valid Unicode.',
    'contains an unpaired surrogate, which is not valid Unicode.',
  ),
  surrogate_in_name: plain(
    'The name of a field is not valid Unicode.',
    'has a field whose name contains an unpaired surrogate, which is not valid Unicode.',
  ),
  exactly_one_required: entry('Several fields exclude each other, and one is needed.', ['fields'], ({ fields }) => {
    return `must have exactly one of ${fields}.`
  }),
  invalid_cursor: plain(
    'The cursor belongs to another list, filter or order.',
    'is not a cursor of this list with these filters and this order. Restart from the first page.',
  ),
  two_cursors: plain('`after` and `before` were both sent.', 'cannot be combined with after. Send one of them.'),
  order_conflict: plain('`order_by` contradicts `after_id`.', 'must be recorded when after_id is sent. Leave it out.'),
  format_without_columns: plain(
    '`columns` was sent with a format that has none.',
    'cannot be combined with this format. Leave it out, or send format=csv.',
  ),
  filter_conflict: plain(
    'The filter cannot be combined with this order.',
    'cannot be combined with after_id or order_by=recorded. Leave it out, and filter the events that are returned.',
  ),
  blank_search: plain('The search is empty.', 'must not be empty. Enter a part of a name, an expected value or a tag.'),
  invalid_time: plain(
    'The text is not a time.',
    'must be Unix seconds or ISO 8601, like 1789000000 or 2026-11-21T09:30:00Z.',
  ),
  not_in_future: plain('The time is in the past.', 'must be a time in the future, like 2027-01-31T12:00:00.000Z.'),
  not_after: entry('The end of the period is not after its start.', ['start'], ({ start }) => {
    return `must be later than ${start}.`
  }),
  too_many_gaps: entry('The period has more gaps than are counted.', ['max'], ({ max }) => {
    return `must be later: the period has more than ${max} gaps.`
  }),
  invalid_time_zone: plain('The time zone is unknown.', 'must be an IANA time zone, like UTC or Europe/Berlin.'),
  invalid_idempotency_key: plain(
    'The key is too long, or has characters that are not allowed.',
    'must have 1 to 255 visible ASCII characters without spaces.',
  ),
  above_key_limit: entry('The limit is higher than owners can set.', ['max', 'given'], ({ max, given }) => {
    return `must be from 1 to ${max}, not ${given}. The operator of the server can raise KEY_LIMIT_MAX, or set this limit with the command keys limits.`
  }),
  used_for_another_request: plain(
    'The key belongs to another request.',
    'was used with another path, another body or by a caller with another role within the last 24 hours.',
  ),
  invalid_signature: plain(
    'The signature of a Stripe event is wrong or too old.',
    'does not match STRIPE_WEBHOOK_SECRET, or is too old.',
  ),
  unknown_reference: entry('The organization has nothing with this id or slug.', ['resource'], ({ resource }) =>
    resource === 'group'
      ? 'Unknown group. Use the id or slug of an existing group.'
      : `Unknown ${resource}. Use the id of an existing ${resource}.`,
  ),
  taken: plain('Another resource has this value.', 'is already in use. Use another one.'),
  invalid_group_name: plain(
    'The text is neither the id nor the slug of a group.',
    "must be a group's id, or a slug of lower-case letters, digits and single hyphens (1 to 100 characters).",
  ),
  too_many_links: entry('More webhooks or groups are linked than allowed.', ['count', 'max'], ({ count, max }) => {
    return `has ${count} entries. At most ${max} are allowed.`
  }),
  webhook_has_most_groups: entry('The webhook is linked to as many groups as allowed.', ['count'], ({ count }) => {
    return `is linked to ${count} groups, which is the limit for one webhook.`
  }),
  group_has_most_webhooks: entry('The group has as many webhooks as allowed.', ['count'], ({ count }) => {
    return `has ${count} webhooks, which is the limit for one group. Remove one of them first.`
  }),
} as const

const WEBHOOKS = {
  invalid_url_length: entry('The URL is empty or too long.', ['max'], ({ max }) => {
    return `The URL must have 1 to ${max} characters.`
  }),
  invalid_url_character: plain(
    'The URL has a space, a backslash or a control character.',
    'The URL must not contain spaces, backslashes or control characters.',
  ),
  malformed_url: plain('The URL is malformed.', 'The URL is malformed. Use one like https://receiver.example/path.'),
  unsupported_scheme: plain('The URL is neither https nor http.', 'The URL must begin with https:// or http://.'),
  credentials_in_url: plain(
    'The URL has a user name or password.',
    'The URL must not contain credentials. Put them in a header such as Authorization.',
  ),
  port_not_allowed: entry('The port is reserved for another protocol.', ['port'], ({ port }) => {
    return `Port ${port} is reserved for another protocol. Use a port that serves HTTP.`
  }),
  invalid_url_host: plain(
    'The host name of the URL is invalid.',
    'The host name is invalid. It must have 1 to 253 characters, and each label 1 to 63.',
  ),
  localhost_not_allowed: plain(
    'The host of the URL is localhost.',
    'localhost is not allowed. Use an address such as 127.0.0.1, and ask the operator to allow its network (WEBHOOK_ALLOWED_NETWORKS).',
  ),
  not_an_address: entry('The host is not an IP address.', ['value'], ({ value }) => `${value} is not an IP address.`),
  address_not_public: entry('The address is not public.', ['address', 'range'], ({ address, range }) => {
    return `${address} is not a public address (${range}). Use another one, or ask the operator to allow its network (WEBHOOK_ALLOWED_NETWORKS).`
  }),
  host_not_public: entry('The host name has an address that is not public.', ['host'], ({ host }) => {
    return `${host} has an address that is not public. Use a public host, or ask the operator to allow its network (WEBHOOK_ALLOWED_NETWORKS).`
  }),
  invalid_webhook_secret: plain(
    'The secret begins with `whsec_`, and the rest is not Base64.',
    'begins with whsec_, but the rest is not padded Base64. Use whsec_ with Base64, a secret without whsec_, or leave it out to generate one.',
  ),
  invalid_header_name: entry('The name of the header is invalid.', ['max'], ({ max }) => {
    return `The name of a header must have 1 to ${max} letters, digits or hyphens.`
  }),
  reserved_header: entry('Zonewatch sets this header itself.', ['header'], ({ header }) => {
    return `Zonewatch sets ${header} itself. Use another name.`
  }),
  invalid_header_value: entry('The value of the header is invalid.', ['header', 'max'], ({ header, max }) => {
    return `The value of ${header} must have at most ${max} visible ASCII characters, spaces or tabs.`
  }),
  repeated_header: entry('The header appears twice.', ['header'], ({ header }) => {
    return `${header} appears twice. Letter case does not matter; remove one.`
  }),
  masked_value: entry('The value is the mask of a secret.', ['header', 'value'], ({ header, value }) => {
    return `${value} is a masked value. Send the real value, or the mask of ${header} to keep the current value.`
  }),
  period_too_large: entry('The period has too many requests.', ['max'], ({ max }) => {
    return `The period has more than ${max} requests. Replay shorter periods.`
  }),
} as const

const ALERTS = {
  secret_needed_again: entry(
    'The address changes, and the secret is masked or missing.',
    ['field'],
    ({ field }) =>
      `must be sent again, because ${field} changes: a stored secret is sent only to the address that it was saved with.`,
  ),
  too_far_ahead: entry('The time is too far in the future.', ['days'], ({ days }) => {
    return `must be within ${days} days from now.`
  }),
  needs_field: entry('The field requires another field.', ['field'], ({ field }) => {
    return `needs ${field} as well. Send both, or null for both.`
  }),
  excluded_by_digest: plain(
    'A digest is sent at fixed times, without repetition and escalation.',
    'cannot be combined with a digest. Set it to null, or digest to none.',
  ),
  escalates_to_itself: plain(
    'The escalation channel already receives the first message.',
    'is already in channels. Use another channel.',
  ),
  equal_times: plain(
    'The quiet hours begin and end at the same time.',
    'must differ from the start of the quiet hours.',
  ),
  invalid_image: entry('The data URL is no such image, or too large.', ['max'], ({ max }) => {
    return `must be a PNG, JPEG or WebP image of at most ${max} bytes.`
  }),
  no_recipients: plain('The channel has no recipients.', 'must have at least one address, unless owners is true.'),
  too_many_unconfirmed: entry('Too many addresses are not confirmed yet.', ['max'], ({ max }) => {
    return `would leave more than ${max} addresses unconfirmed. Wait until some are confirmed.`
  }),
  unknown_template_name: entry('The template has an unknown name.', ['given', 'allowed'], ({ given, allowed }) => {
    return `has the unknown name ${given}. Allowed: ${allowed}.`
  }),
  too_many_placeholders: entry('The template has too many names.', ['max'], ({ max }) => {
    return `must have at most ${max} names in double braces.`
  }),
  invalid_template: plain(
    'The template is not JSON.',
    'must be JSON, with each name inside a text: {"message": "{{title}}"}.',
  ),
} as const

const WAITS = {
  needs_until: plain('The field requires `until`.', 'needs `until`. Send `"until": "valid"` with it.'),
  too_many_waiting: entry('Too many monitors of the organization are waiting.', ['max'], ({ max }) => {
    return `would let more than ${max} monitors wait at a time. Stop some with PATCH /monitors/{monitor} and \`"until": null\`, or try again later.`
  }),
  too_many_on_page: entry('The setup page has too many monitors.', ['max'], ({ max }) => {
    return `would have more than ${max} monitors. Use another key.`
  }),
} as const

const PLANS = {
  not_a_zone_name: entry('The name is a top-level domain, an address or a wildcard.', ['value'], ({ value }) => {
    return `must be the name of a zone below a top-level domain, like example.com, not ${value}.`
  }),
  same_as_expected: plain(
    'The new values are the same as the expected values.',
    'is what the monitor already expects. Send other values.',
  ),
  invalid_rrule: plain(
    'The text is not a supported recurrence rule (RFC 5545).',
    'must be a recurrence rule of RFC 5545 like FREQ=WEEKLY;BYDAY=SU: FREQ is DAILY, WEEKLY, MONTHLY or YEARLY, INTERVAL at most 1000, COUNT at most 366, and times of day are left out.',
  ),
  no_occurrence: entry('The recurrence rule has no occurrence soon enough.', ['years'], ({ years }) => {
    return `has no occurrence in the next ${years} years, and later ones are not computed. Change the rule.`
  }),
  window_too_long: entry('The period is too long.', ['days'], ({ days }) => {
    return `must be at most ${days} days after from.`
  }),
  time_out_of_range: entry('The time is too early or too late.', ['min', 'max'], ({ min, max }) => {
    return `must be from ${min} to ${max}.`
  }),
} as const

const ACCOUNTS = {
  required_for_new_account: plain(
    'A new account needs a name and a password.',
    'is required. Sign in first, or choose a name and a password for a new account.',
  ),
  invalid_link: plain(
    'The link in an email is no longer valid.',
    'is invalid. The link was used, has expired, or the account has changed; request a new one.',
  ),
  common_password: plain(
    'The password is one of the most used ones.',
    'is one of the most used passwords. Choose a longer one, such as several words.',
  ),
  other_name: entry('The name is not that of the organization.', ['name'], ({ name }) => {
    return `must be the name of the organization: ${name}.`
  }),
  wrong_password: plain('The password is wrong.', 'is wrong.'),
  wrong_code: plain(
    'The code is wrong or expired.',
    'is wrong or expired. Enter the current code of your authenticator app.',
  ),
  used_code: plain('The code was already used.', 'was already used. Wait for the next code in your authenticator app.'),
  wrong_backup_code: plain('The recovery code is wrong or used.', 'is wrong or already used.'),
  no_such_price: entry('The plan has no price for this interval.', ['plan'], ({ plan }) => {
    return `is not a price of the plan ${plan}.`
  }),
} as const

const JOBS = {
  empty_filter: plain(
    'The filter of a job is empty.',
    'must have at least one field. To select every monitor, send all: true instead.',
  ),
  empty_change: plain('The change of a job is empty.', 'must have at least one field to change.'),
  not_for_action: entry('The field does not belong to the action of the job.', ['action'], ({ action }) => {
    return `cannot be combined with the action ${action}. Leave it out.`
  }),
} as const

const IMPORT = {
  zone_empty: plain('The zone file has no records.', 'has no records. Paste lines like www 300 IN A 192.0.2.1.'),
  csv_empty: plain('The CSV file is empty.', 'is empty. Its first line must name the columns: name, type, value.'),
  csv_columns_missing: entry('Columns are missing in the first line of the CSV file.', ['missing'], ({ missing }) => {
    return `must begin with a line of column names. Missing: ${missing}. Allowed: name (or domain and subdomain), type, value, priority, exact, group, notify and frequency.`
  }),
  too_many_rows: entry('The file has too many monitors.', ['max'], ({ max }) => {
    return `has more than ${max} monitors. Import at most ${max} at a time.`
  }),
  origin_required: plain(
    'The zone file has relative names and no origin.',
    'is required, because the file has relative names (without a final dot) and no $ORIGIN.',
  ),
} as const

/**
 * The errors of fields: a code, its parameters and a template, which says what is wrong, what is allowed and what to do. Codes and
 * parameter names are stable, so a translation replaces only the templates. `X-Error-Fields` contains codes and parameters.
 */
export const FIELD_ERRORS = {
  ...SCHEMA,
  ...REQUEST,
  ...NAME_ERRORS,
  ...VALUE_ERRORS,
  ...WEBHOOKS,
  ...ALERTS,
  ...WAITS,
  ...PLANS,
  ...ACCOUNTS,
  ...JOBS,
  ...IMPORT,
} as const
export type FieldCode = keyof typeof FIELD_ERRORS
export type FieldError = { code: FieldCode; params: Readonly<Record<string, Param>>; text: string }

type ParamsOf<C extends FieldCode> = Record<(typeof FIELD_ERRORS)[C]['params'][number], Param>
/** Empty for a code without parameters. */
type FieldErrorArguments<C extends FieldCode> = [keyof ParamsOf<C>] extends [never] ? [] : [params: ParamsOf<C>]

export function fieldError<C extends FieldCode>(code: C, ...[params]: FieldErrorArguments<C>): FieldError {
  const { text } = FIELD_ERRORS[code] as Entry<string>
  return { code, params: params ?? {}, text: text(params ?? {}) }
}
