import type { DiagnosisPath, DnsOutcome } from '#contract/diagnosis.ts'

/**
 * A server and its exchanges, in their order. `answers`: the exchanges with its different answers to the question of the monitor; if there are
 * none, the last exchange. `standing`: whether its last answer is that of most name servers, or of
 * most resolvers if no name server answered; undefined if it gave none.
 */
export type QueriedServer = {
  path: DiagnosisPath['path']
  server: string
  name: string | undefined
  exchanges: DiagnosisPath[]
  answers: DiagnosisPath[]
  standing: 'agrees' | 'differs' | undefined
}

/** The servers in the order in which they were queried, and how many of those that answered agree. */
export function groupByServer(paths: readonly DiagnosisPath[]) {
  const byServer = new Map<string, DiagnosisPath[]>()
  for (const path of paths) {
    const key = `${path.path} ${path.name ?? ''} ${path.server}`
    byServer.set(key, [...(byServer.get(key) ?? []), path])
  }
  const servers = [...byServer.values()].map((exchanges): QueriedServer => {
    const { path, server, name } = exchanges[0]!
    const own = exchanges.filter((each) => each.question === undefined)
    const answers = differentAnswers(own.filter(isAnswered))
    const last = own.at(-1) ?? exchanges.at(-1)!
    return { path, server, name, exchanges, answers: answers.length > 0 ? answers : [last], standing: undefined }
  })
  const answering = servers.filter(({ answers }) =>
    answers.some((each) => each.question === undefined && isAnswered(each)),
  )
  // What the zone's own name servers publish counts; without their answers, what the resolvers return.
  const own = answering.filter(({ path }) => path === 'authoritative')
  const most = mostCommon((own.length > 0 ? own : answering).map(lastAnswer))
  // The answers of a rotating RRset are its parts.
  const isRotating = servers.some(({ answers }) => answers.filter(hasRecords).length > 1)
  for (const server of answering) {
    const last = lastAnswer(server)
    const isPart = isRotating && hasRecords(last) && hasRecords(most!)
    server.standing = isPart || agree(last, most!) ? 'agrees' : 'differs'
  }
  const agreeing = answering.filter(({ standing }) => standing === 'agrees').length
  return { servers, answering: answering.length, agreeing, silent: servers.filter(isSilent).length }
}

/** Whether none of its exchanges got a usable answer, whatever was asked. */
function isSilent({ exchanges }: QueriedServer): boolean {
  return exchanges.every(({ outcome }) => outcome !== null && FAILING.has(outcome.kind))
}

const FAILING: ReadonlySet<DnsOutcome['kind']> = new Set(['timeout', 'unreachable', 'failure', 'lame', 'malformed'])

/** Whether it brought an answer or a denial. A referral is one if it has a CNAME record: the server is not responsible for the target. */
export function isAnswered({ outcome }: DiagnosisPath): boolean {
  if (outcome === null || FAILING.has(outcome.kind)) return false
  return outcome.kind !== 'referral' || outcome.chain.length > 0
}

export const hasRecords = ({ outcome }: DiagnosisPath): boolean => outcome?.kind === 'answer'

function differentAnswers(answers: readonly DiagnosisPath[]): DiagnosisPath[] {
  return answers.filter((one, index) => !answers.slice(0, index).some((other) => agree(one, other)))
}

const lastAnswer = ({ answers }: QueriedServer): DiagnosisPath => answers.at(-1)!

function mostCommon(answers: readonly DiagnosisPath[]): DiagnosisPath | undefined {
  const count = (one: DiagnosisPath) => answers.filter((other) => agree(one, other)).length
  return answers.reduce<DiagnosisPath | undefined>(
    (best, one) => (best && count(best) >= count(one) ? best : one),
    undefined,
  )
}

/** RRsets are sets, and TTLs run down. A server that knows only the beginning of a CNAME chain agrees with one that followed it. */
export function agree({ outcome: one }: DiagnosisPath, { outcome: other }: DiagnosisPath): boolean {
  if (!one || !other) return false
  const [chain, otherChain] = [chainOf(one), chainOf(other)]
  const isStart = (start: string[], whole: string[]) => start.every((target, index) => whole[index] === target)
  if (one.kind === 'referral') return isStart(chain, otherChain)
  if (other.kind === 'referral') return isStart(otherChain, chain)
  if (one.kind !== other.kind || chain.join() !== otherChain.join()) return false
  return one.kind !== 'answer' || other.kind !== 'answer' || areSameSets(one.rrset.values, other.rrset.values)
}

const chainOf = (outcome: DnsOutcome): string[] => ('chain' in outcome ? outcome.chain.map(({ target }) => target) : [])

const areSameSets = (one: readonly string[], other: readonly string[]) =>
  [...new Set(one)].sort().join('\n') === [...new Set(other)].sort().join('\n')

/** When the cache that gave the answer drops it; undefined if that is unknown. */
export function cachedUntil({ at, outcome }: DiagnosisPath): string | undefined {
  if (at === undefined || outcome === null) return undefined
  const ttls = 'chain' in outcome ? outcome.chain.map(({ ttl }) => ttl) : []
  if (outcome.kind === 'answer') ttls.push(outcome.rrset.ttl)
  return ttls.length === 0 ? undefined : new Date(Date.parse(at) + Math.min(...ttls) * 1_000).toISOString()
}

type Counts = Omit<ReturnType<typeof groupByServer>, 'servers'>

/** Such as "3 of 4 servers agree; 1 gave no usable answer". */
export function agreementText({ answering, agreeing, silent }: Counts): string {
  const failing = silent === 0 ? '' : `; ${silent} gave no usable answer`
  if (answering === 0) return `No server gave a usable answer.`
  if (answering === 1) return `One server answered${failing}.`
  const servers =
    agreeing === answering
      ? `All ${answering} servers that answered agree`
      : `${agreeing} of ${answering} servers that answered agree`
  return `${servers}${failing}.`
}
