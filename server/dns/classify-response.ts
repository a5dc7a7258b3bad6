import { followCnameChain } from './cname-chain.ts'
import type { Message, ResourceRecord } from './messages.ts'
import { isSubdomain } from './names.ts'
import type { CnameChain, Outcome, Question, QuestionType, RRset } from './outcome.ts'

/**
 * The outcome that a response means for the question. The order of its records counts only if the name has a CNAME record beside others. For a CNAME question the first CNAME is
 * the RRset, and `chain` is as much of the rest of the chain as the response contains.
 */
export function classifyResponse(message: Message, question: Question): Outcome {
  const { rcode, ede } = message
  if (rcode !== 'NOERROR' && rcode !== 'NXDOMAIN') return { kind: 'failure', rcode, ede }

  const direct = directRrset(message.answer, question)
  if (direct && question.type === 'CNAME') return cnameAnswer(message.answer, direct)
  const chain = direct ? [] : followCnameChain(message.answer, question.name)
  if (!Array.isArray(chain)) return chain

  const last = chain.at(-1)?.target ?? question.name
  const rrset = direct ?? rrsetOf(message.answer, last, question.type)
  // The response code applies to the last name of the chain. RFC 6604 section 3.
  if (rcode === 'NXDOMAIN') return rrset ? malformed('NXDOMAIN with an answer') : { kind: 'nxdomain', chain }
  if (rrset) return { kind: 'answer', rrset, chain }
  return withoutRecords(message, question, chain, last)
}

/** The name's own records. Beside a CNAME, which RFC 1034 section 3.6.2 forbids, resolvers follow what comes first in the answer. */
function directRrset(answer: ResourceRecord[], { name, type }: Question): RRset | undefined {
  const first = answer.find((record) => record.name === name && (record.type === type || record.type === 'CNAME'))
  return first?.type === type ? rrsetOf(answer, name, type) : undefined
}

function cnameAnswer(answer: ResourceRecord[], rrset: RRset): Outcome {
  // With two targets no chain can be followed. Both are returned.
  const chain = rrset.values.length > 1 ? [] : followCnameChain(answer, rrset.name)
  return Array.isArray(chain) ? { kind: 'answer', rrset, chain: chain.slice(1) } : chain
}

/** NODATA or a referral. RFC 2308 section 2.2. */
function withoutRecords(message: Message, question: Question, chain: CnameChain, last: string): Outcome {
  if (message.authority.some((record) => record.type === 'SOA')) return { kind: 'nodata', chain }
  if (chain.length > 0) return { kind: 'referral', chain, ...delegation(message, last) }
  if (message.answer.some((record) => record.type === question.type || record.type === 'CNAME')) {
    return malformed('the answer is for another name')
  }
  // A query without RD gets a referral even from a recursive resolver.
  const isRecursive = message.flags.includes('ra') && message.flags.includes('rd')
  const mayRefer = !message.flags.includes('aa') && !isRecursive
  if (!mayRefer || !message.authority.some((record) => record.type === 'NS')) return { kind: 'nodata', chain }
  const referral = delegation(message, last)
  if (referral.zone === undefined) return malformed('the referral is to a zone that does not contain the name')
  return { kind: 'referral', chain, ...referral }
}

function delegation({ authority, additional }: Message, name: string) {
  const zone = authority.find((record) => record.type === 'NS' && isSubdomain(name, record.name))?.name
  const rrset = zone === undefined ? undefined : rrsetOf(authority, zone, 'NS')
  const nameServers = (rrset?.values ?? []).map(targetOf)
  const servers = new Set(nameServers)
  const glue = additional
    .filter(({ name, type }) => (type === 'A' || type === 'AAAA') && servers.has(name))
    .map(({ name, value }) => ({ name, ip: value }))
  return { zone, nameServers, glue, ttl: rrset?.ttl ?? 0 }
}

function rrsetOf(records: ResourceRecord[], name: string, type: QuestionType): RRset | undefined {
  const values: string[] = []
  let ttl = Number.POSITIVE_INFINITY
  for (const record of records) {
    if (record.type !== type || record.name !== name) continue
    values.push(record.value)
    ttl = Math.min(ttl, record.ttl) // RFC 2181 section 5.2
  }
  if (values.length === 0) return undefined
  return { name, type, ttl, values: values.length === 1 ? values : [...new Set(values)].sort() }
}

function targetOf(value: string): string {
  return value === '.' ? '' : value
}

function malformed(reason: string): Outcome {
  return { kind: 'malformed', reason }
}
