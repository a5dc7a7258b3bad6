import type { MonitorState } from '#contract/monitors.ts'

/** `owner` and `recordType` of the one where `count` is 1; the lists are there where all of them have the same. */
export type Fault = {
  state: MonitorState
  domain: string
  count: number
  owner: string
  recordType: string
  current?: readonly string[]
  expected?: readonly string[]
  /** The sentence of the check, for a single one. */
  reason?: string
}

/** What is wrong, in one sentence for people. Pure. */
export function titleOf(fault: Fault): string {
  const { state, count, owner, recordType, domain } = fault
  const one = count === 1
  const records = one ? `the ${recordType} record of ${owner}` : `${count} records of ${domain}`
  const names = one ? owner : `${count} names of ${domain}`
  switch (state) {
    case 'MISMATCH':
      // Not "the A record of": behind a CNAME that is another name's.
      return one ? `${owner} (${recordType}) answers ${answers(fault)}.` : `${records} answer ${answers(fault)}.`
    case 'NOT_FOUND':
      return fault.reason ?? `${names} ${one ? 'does' : 'do'} not exist (NXDOMAIN).`
    case 'NO_DATA':
      return fault.reason ?? `${names} ${one ? `has no ${recordType} record` : 'have no record of the monitored type'}.`
    case 'TIMEOUT':
      return `No name server answers for ${records}.`
    case 'INVALID':
      return fault.reason ?? `The lookup of ${records} fails.`
    case 'BAD_SETUP':
      return fault.reason ?? `${names} ${one ? 'is' : 'are'} misconfigured.`
    case 'UNSET':
    case 'VALID':
      return `${capital(records)} ${one ? 'is' : 'are'} valid.`
  }
}

/** Where the texts are too long for a sentence, what differs is on the monitor's own page. */
function answers({ current, expected }: Fault): string {
  const [found, wanted] = [briefly(current), briefly(expected)]
  if (found === undefined) return 'other values than expected'
  return wanted === undefined ? `${found}, which is not expected` : `${found} instead of ${wanted}`
}

const MOST_VALUES = 3
const MOST_CHARACTERS = 60

function briefly(values: readonly string[] | undefined): string | undefined {
  if (!values || values.length === 0 || values.length > MOST_VALUES) return undefined
  if (values.some((value) => value.length > MOST_CHARACTERS || value.trim() === '')) return undefined
  return values.length === 1 ? values[0] : `${values.slice(0, -1).join(', ')} and ${values.at(-1)}`
}

const capital = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`
