export type Param = string | number
export type Entry<P extends string> = { about: string; params: readonly P[]; text(params: Record<P, Param>): string }
export const entry = <const P extends string>(
  about: string,
  params: readonly P[],
  text: Entry<P>['text'],
): Entry<P> => ({
  about,
  params,
  text,
})
export const plain = (about: string, text: string): Entry<never> => entry(about, [], () => text)

/** Errors of names. */
export const NAME_ERRORS = {
  name_required: plain('The name is missing.', 'Either domain or full_domain is required.'),
  address_not_allowed: entry('The value is an IP address instead of a name.', ['value'], ({ value }) => {
    return `${quoted(value)} is an IP address. Only PTR monitors accept one; use a name.`
  }),
  ptr_required: plain(
    'An IP address can be looked up as PTR only.',
    'must be PTR for an IP address. For another type, use a name.',
  ),
  no_top_level_domain: entry('The name ends in a number.', ['value'], ({ value }) => {
    return `${quoted(value)} ends in a number, which is not a top-level domain. Use a name like www.example.com or, for PTR, a complete IP address.`
  }),
  empty_name: plain('The name is empty.', 'A name must not be empty. For the root, use a single dot.'),
  url_as_name: plain('The name is a URL.', 'A URL is not a DNS name. Use only the host name.'),
  name_too_long: entry('The name is too long, RFC 1035 section 2.3.4.', ['max', 'length'], ({ max, length }) => {
    return `A name has at most ${max} characters; this one has ${length}.`
  }),
  empty_label: plain(
    'The name has an empty label.',
    'A name must not have an empty label. Remove the leading or the double dot.',
  ),
  label_too_long: entry('A label of the name is too long.', ['label', 'max', 'length'], ({ label, max, length }) => {
    return `A label has 1 to ${max} octets; ${quoted(label)} has ${length}.`
  }),
  invalid_international_name: entry('A label is not valid in IDNA.', ['label'], ({ label }) => {
    return `The label ${quoted(label)} is not valid in an internationalized name.`
  }),
  invalid_character: entry('The name has a character that is not allowed.', ['character'], ({ character }) => {
    return `The character "${character}" is not allowed in a name. Use a name like www.example.com.`
  }),
  slash_in_name: plain(
    'The name has a slash, which is allowed only below arpa.',
    'The character "/" is not allowed in a name. Use only the host name, without a URL or path.',
  ),
  not_a_host_name: entry('The value is not a host name.', ['value'], ({ value }) => {
    return `${quoted(value)} is not a host name. Use one like host.example.com.`
  }),
  address_as_host: entry('The value is an IP address instead of a host name.', ['value'], ({ value }) => {
    return `${quoted(value)} is an IP address. Use a host name like host.example.com.`
  }),
  host_ends_in_number: entry('The host name ends in a number.', ['value'], ({ value }) => {
    return `${quoted(value)} ends in a number, so it is not a host name. Use one like host.example.com.`
  }),
} as const

/** Errors of expected values. */
export const VALUE_ERRORS = {
  wrong_number_of_values: entry('There are too few or too many expected values.', ['max', 'count'], (params) => {
    return `There are ${params.count} expected values. Use 1 to ${params.max}.`
  }),
  single_value_only: entry('The type has one record for each name.', ['record_type'], ({ record_type }) => {
    return `A name has only one ${record_type} record. Use one expected value, or set is_exact_match to false.`
  }),
  value_too_long: entry('An expected value is too long.', ['value', 'max'], ({ value, max }) => {
    return `${quoted(value)} is too long. A value has at most ${max} characters.`
  }),
  invalid_record: entry(
    'The value is not a record of the type.',
    ['value', 'record_type', 'format', 'example'],
    ({ value, record_type, format, example }) =>
      `${quoted(value)} is not a valid ${record_type} record. Use the format "${format}", as in ${example}.`,
  ),
  invalid_ipv4: entry('The value is not an IPv4 address.', ['value'], ({ value }) => {
    return `${quoted(value)} is not an IPv4 address. Use one like 192.0.2.1 or, with is_exact_match false, a block like 192.0.2.0/24.`
  }),
  invalid_ipv6: entry('The value is not an IPv6 address.', ['value'], ({ value }) => {
    return `${quoted(value)} is not an IPv6 address. Use one like 2001:db8::1 or, with is_exact_match false, a block like 2001:db8::/32.`
  }),
  block_in_exact_mode: entry('A block of addresses needs flexible matching.', ['value'], ({ value }) => {
    return `${quoted(value)} is a block of addresses. Use a single address, or set is_exact_match to false.`
  }),
  invalid_prefix: entry('The prefix length of the block is invalid.', ['prefix', 'max'], ({ prefix, max }) => {
    return `The prefix "/${prefix}" is invalid. It must be from 0 to ${max}.`
  }),
  bits_beyond_prefix: entry(
    'The address of the block is not its first one.',
    ['address', 'prefix', 'first'],
    ({ address, prefix, first }) =>
      `"${address}/${prefix}" has bits set beyond its prefix. Use ${first}/${prefix} for the block or ${address} for the address.`,
  ),
  invalid_caa: entry('The value is not a CAA property.', ['value'], ({ value }) => {
    return `${quoted(value)} is not a CAA property. Use 0 issue "ca.example" or, without flags, issue "ca.example".`
  }),
  caa_tag_too_long: entry('The CAA tag is too long.', ['value', 'max'], ({ value, max }) => {
    return `The CAA tag of ${quoted(value)} is too long. It must have at most ${max} characters.`
  }),
  invalid_caa_flags: entry('The CAA flags are too large.', ['value'], ({ value }) => {
    return `The CAA flags of ${quoted(value)} are invalid. They must be a number from 0 to 255.`
  }),
  priority_without_host: entry('The MX value is only a priority.', ['value'], ({ value }) => {
    return `${quoted(value)} is a priority without a host. Use both, as in 10 mail.example.com.`
  }),
  invalid_mx: entry('The value is neither a host nor a priority and a host.', ['value'], ({ value }) => {
    return `${quoted(value)} is not "priority host". The priority is a number from 0 to 65535, as in 10 mail.example.com.`
  }),
  invalid_spf: entry('The value is not an SPF record.', ['value'], ({ value }) => {
    return `${quoted(value)} is not an SPF record. It must begin with "v=spf1", as in v=spf1 include:_spf.example.com -all.`
  }),
  record_line_without_quotes: entry('The TXT value is a line of a zone file.', ['value'], ({ value }) => {
    return `${quoted(value)} is a line of a zone file. Enter only the text of the record, or put the text in quotes.`
  }),
  wildcard_as_host: entry('The host name is a wildcard.', ['value'], ({ value }) => {
    return `${quoted(value)} is a wildcard, which no record answers. Use the name that the record has.`
  }),
  empty_text: plain('The TXT value is empty.', 'The text is empty. For an empty TXT record, use "".'),
  invalid_number: entry('A number of the record is invalid.', ['part', 'value', 'max'], ({ part, value, max }) => {
    return `The ${part} ${quoted(value)} is invalid. It must be a number from 0 to ${max}.`
  }),
  invalid_hexadecimal: entry('A part of the record is not hexadecimal.', ['part', 'value'], ({ part, value }) => {
    return `The ${part} ${quoted(value)} is not hexadecimal. Use two digits from 0 to f for each octet.`
  }),
  string_too_long: entry('A string of the record is too long.', ['part', 'length'], ({ part, length }) => {
    return `The ${part} have ${length} octets. At most 255 are allowed.`
  }),
  wrong_digest_length: entry(
    'The digest has another length than its type requires.',
    ['part', 'length', 'type', 'required'],
    ({ part, length, type, required }) => `The ${part} has ${length} octets. Type ${type} has ${required}.`,
  ),
  wildcard_in_exact_mode: plain(
    'A field that is `*` needs flexible matching.',
    'A field with * needs is_exact_match false. Use the complete record, or set is_exact_match to false.',
  ),
  serial_in_flexible_mode: plain(
    'The serial of an SOA record changes too often to be expected.',
    'The serial changes with every change of the zone. Use * for it, or set is_exact_match to true.',
  ),
  unknown_parameter: entry('SVCB and HTTPS: there is no such parameter.', ['parameter'], ({ parameter }) => {
    return `${quoted(parameter)} is not a parameter. Use one like alpn, port or key65400.`
  }),
  repeated_parameter: entry('SVCB and HTTPS: a parameter appears twice.', ['parameter'], ({ parameter }) => {
    return `The parameter ${parameter} appears twice. Remove one.`
  }),
  parameter_not_empty: entry('SVCB and HTTPS: the parameter takes no value.', ['parameter', 'value'], (params) => {
    return `The parameter ${params.parameter} takes no value. Remove ${quoted(params.value)}.`
  }),
  invalid_port: entry('SVCB and HTTPS: the port is invalid.', ['parameter', 'value'], ({ parameter, value }) => {
    return `The value ${quoted(value)} of ${parameter} is not a number from 0 to 65535.`
  }),
  invalid_base64: entry('SVCB and HTTPS: the value is not Base64.', ['parameter', 'value'], ({ parameter, value }) => {
    return `The value ${quoted(value)} of ${parameter} is not in Base64.`
  }),
  invalid_parameter_list: entry('SVCB and HTTPS: `mandatory` is invalid.', ['parameter', 'value'], (params) => {
    return `The value ${quoted(params.value)} of ${params.parameter} is not a list of other parameters such as alpn,port, each once.`
  }),
  invalid_protocols: entry('SVCB and HTTPS: `alpn` is invalid.', ['parameter', 'value'], ({ parameter, value }) => {
    return `The value ${quoted(value)} of ${parameter} is not a list of protocols such as h2,h3.`
  }),
  invalid_ipv4_list: entry('SVCB and HTTPS: `ipv4hint` is invalid.', ['parameter', 'value'], ({ parameter, value }) => {
    return `The value ${quoted(value)} of ${parameter} is not a list of IPv4 addresses.`
  }),
  invalid_ipv6_list: entry('SVCB and HTTPS: `ipv6hint` is invalid.', ['parameter', 'value'], ({ parameter, value }) => {
    return `The value ${quoted(value)} of ${parameter} is not a list of IPv6 addresses.`
  }),
  alias_with_parameters: plain(
    'SVCB and HTTPS: a record with priority 0 has no parameters.',
    'A record with priority 0 is an alias and has no parameters. Remove them.',
  ),
  alpn_required: plain(
    'SVCB and HTTPS: `no-default-alpn` needs `alpn`.',
    'no-default-alpn needs alpn. Use both or neither.',
  ),
  mandatory_parameter_missing: entry(
    'SVCB and HTTPS: `mandatory` names an absent parameter.',
    ['parameter'],
    (params) => {
      return `mandatory names ${params.parameter}, which is not among the parameters. Add it.`
    },
  ),
} as const

/** A value of the request in quotes, shortened. */
function quoted(value: Param): string {
  const text = String(value)
  const characters = Array.from(text.slice(0, 122))
  return `"${characters.length > 60 ? `${characters.slice(0, 60).join('')}…` : text}"`
}
