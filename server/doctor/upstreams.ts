import { randomBytes } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { ServerAddress } from '../dns/outcome.ts'
import { formatServer } from '../dns/server-address.ts'
import { type Probe, type ProbeQuery, probe } from './dns-probe.ts'
import { type Finding, failure, ok, warning } from './finding.ts'

const A = 1
const NS = 2
const DNSKEY = 48
const TIMEOUT_MS = 3_000
/** Checks wait for the recursive servers. With slower answers they fall behind. */
const SLOW_MS = 500
/** A zone with wrong signatures on purpose: a validating resolver answers SERVFAIL. */
const BOGUS_NAME = 'dnssec-failed.org'

export type UpstreamOptions = {
  clock: Clock
  /** A name that resolves. */
  knownName: string | undefined
  timeoutMs?: number
}

/** Checks one recursive server: UDP, latency, TCP, EDNS, truncation, DNSSEC and NXDOMAIN. */
export async function checkUpstream(server: ServerAddress, options: UpstreamOptions): Promise<Finding[]> {
  const { clock, knownName, timeoutMs = TIMEOUT_MS } = options
  const check = (what: string) => `upstream ${formatServer(server)} ${what}`
  const query = (question: Omit<ProbeQuery, 'transport'>, transport: 'udp' | 'tcp' = 'udp') =>
    probe(server, { ...question, transport }, clock, timeoutMs)
  const known = knownName === undefined ? { name: '', type: NS } : { name: knownName, type: A }
  const udp = await query(known)
  if (udp.kind === 'none') {
    const remedy = 'Check the address in DNS_SERVERS, that the server runs, and that UDP port 53 to it is open.'
    return [failure(check('UDP'), udp.reason, remedy)]
  }
  // The first query has filled the server's cache.
  const cached = await query(known)
  const [tcp, edns, short, long] = await Promise.all([
    query(known, 'tcp'),
    query({ ...known, edns: { payload: 1_232, dnssecOk: false } }),
    query({ name: '', type: DNSKEY, edns: { payload: 512, dnssecOk: true } }),
    query({ name: '', type: DNSKEY, edns: { payload: 512, dnssecOk: true } }, 'tcp'),
  ])
  const bogus = await query({ name: BOGUS_NAME, type: A, edns: { payload: 1_232, dnssecOk: true } })
  const denied = await query({ name: `zonewatch-${randomBytes(10).toString('hex')}.com`, type: A })
  return [
    udpFinding(check('UDP'), udp, knownName),
    latencyFinding(check('latency'), cached.kind === 'answer' ? cached : udp),
    tcpFinding(check('TCP'), tcp),
    ednsFinding(check('EDNS'), edns),
    truncationFinding(check('truncation'), short, long),
    validationFinding(check('DNSSEC'), bogus),
    nxdomainFinding(check('NXDOMAIN'), denied),
  ]
}

type Answer = Extract<Probe, { kind: 'answer' }>

function udpFinding(check: string, { rcode, isRecursive, answers }: Answer, knownName: string | undefined): Finding {
  if (rcode === 'REFUSED') {
    return failure(
      check,
      'answers REFUSED',
      'Allow the address of this machine in the server, or remove it from DNS_SERVERS.',
    )
  }
  if (!isRecursive) {
    return failure(check, 'does not resolve for others (no RA flag)', 'DNS_SERVERS must name recursive resolvers.')
  }
  if (rcode !== 'NOERROR' || (knownName !== undefined && answers === 0)) {
    const what = `answers ${rcode} with ${answers} records for ${knownName ?? 'the root'}`
    return failure(check, what, 'Check the resolver and its internet connection; without one, set DNS_CANARIES=off.')
  }
  return ok(check, 'resolves')
}

function latencyFinding(check: string, { ms }: Answer): Finding {
  if (ms < SLOW_MS) return ok(check, `${ms} ms`)
  return warning(check, `${ms} ms for a cached answer`, 'Use a resolver nearby. Every check waits for it.')
}

function tcpFinding(check: string, tcp: Probe): Finding {
  if (tcp.kind === 'answer') return ok(check, 'answers')
  return failure(check, tcp.reason, 'Open TCP port 53 to it. Long answers (TXT, SPF) need TCP.')
}

function ednsFinding(check: string, edns: Probe): Finding {
  if (edns.kind === 'answer' && edns.hasEdns) return ok(check, 'answers with EDNS')
  const what = edns.kind === 'none' ? edns.reason : `answers ${edns.rcode} without EDNS`
  return warning(
    check,
    what,
    'Update the resolver or the firewall in between. Without EDNS, the reasons of failures are missing.',
  )
}

/** For an answer of about 1,000 octets, of which the query allows 512 over UDP. */
function truncationFinding(check: string, short: Probe, long: Probe): Finding {
  const remedy = 'Update the resolver or the firewall in between. Long answers do not arrive.'
  if (short.kind === 'none') return failure(check, `a long answer: ${short.reason}`, remedy)
  if (short.octets > 512) return warning(check, `sends ${short.octets} octets, although the query allows 512`, remedy)
  if (short.isTruncated) {
    if (long.kind === 'answer' && !long.isTruncated) return ok(check, 'truncated over UDP, complete over TCP')
    return failure(
      check,
      `truncates over UDP, and over TCP: ${long.kind === 'none' ? long.reason : 'truncated too'}`,
      remedy,
    )
  }
  if (long.kind === 'answer' && long.answers > short.answers) {
    return failure(check, `omits ${long.answers - short.answers} records over UDP without the truncation flag`, remedy)
  }
  return ok(check, 'not needed: the answer was short')
}

function validationFinding(check: string, bogus: Probe): Finding {
  if (bogus.kind === 'answer' && bogus.rcode === 'SERVFAIL') return ok(check, `validates (${BOGUS_NAME} fails)`)
  if (bogus.kind === 'answer' && bogus.answers > 0) {
    const remedy = 'Turn on validation, or use a resolver that validates. Otherwise forged answers are accepted.'
    return warning(check, `does not validate (${BOGUS_NAME} resolves)`, remedy)
  }
  const what = bogus.kind === 'none' ? bogus.reason : bogus.rcode
  return ok(check, `not known (${BOGUS_NAME}: ${what})`)
}

function nxdomainFinding(check: string, denied: Probe): Finding {
  const remedy = 'Use a resolver that does not rewrite NXDOMAIN (look for "search assistance" or filters).'
  if (denied.kind === 'none') return warning(check, denied.reason, 'Check the resolver and its internet connection.')
  if (denied.rcode === 'NXDOMAIN') return ok(check, 'a name that does not exist is denied')
  if (denied.answers > 0)
    return failure(check, `invents ${denied.answers} records for a name that does not exist`, remedy)
  return warning(check, `answers ${denied.rcode} for a name that does not exist`, remedy)
}

/** Checks whether the root servers can be queried, so that iterative resolution works. */
export async function checkRoots(
  roots: readonly ServerAddress[],
  { clock, timeoutMs = TIMEOUT_MS }: Pick<UpstreamOptions, 'clock' | 'timeoutMs'>,
): Promise<Finding[]> {
  const check = 'roots'
  if (roots.length === 0) {
    const remedy = 'Remove DNS_ROOTS, unless your resolvers override names of public zones.'
    return [warning(check, 'off (DNS_ROOTS): recursive resolvers alone confirm changes', remedy)]
  }
  const query = { name: '', type: NS, recursionDesired: false, transport: 'udp' as const }
  const probes = await Promise.all(
    roots.map(async (root) => ({ root, response: await probe(root, query, clock, timeoutMs) })),
  )
  const answering = probes.filter(({ response }) => response.kind === 'answer')
  if (answering.length === 0) {
    const remedy =
      'Open UDP and TCP port 53 to the internet, or set DNS_ROOTS=off. Zonewatch cannot query the name servers of zones.'
    return [failure(check, `none of ${roots.length} root servers answers: port 53 is closed`, remedy)]
  }
  const intercepted = answering.find(
    ({ response }) => response.kind === 'answer' && (!response.isAuthoritative || response.isRecursive),
  )
  if (intercepted) {
    const what = `something else answers for the root server ${intercepted.root.ip}`
    return [failure(check, what, 'A router redirects port 53. Exempt this machine, or set DNS_ROOTS=off.')]
  }
  const first = answering[0]!.root
  const tcp = await probe(first, { ...query, transport: 'tcp' }, clock, timeoutMs)
  if (tcp.kind === 'none') {
    return [
      warning(check, `answer over UDP, not over TCP (${tcp.reason})`, 'Open TCP port 53 to the internet as well.'),
    ]
  }
  const count = (isIpv6: boolean) => {
    const all = probes.filter(({ root }) => root.ip.includes(':') === isIpv6)
    return `${all.filter(({ response }) => response.kind === 'answer').length} of ${all.length}`
  }
  return [ok(check, `answer: IPv4 ${count(false)}, IPv6 ${count(true)}`)]
}
