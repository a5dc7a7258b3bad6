import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '#server/clock.ts'
import { createDnsClient } from '#server/dns/client.ts'
import { parseDsText } from '#server/dns/dnssec/dnssec-records.ts'
import type { DnssecVerdict } from '#server/dns/dnssec/dnssec-verdict.ts'
import { querySigned } from '#server/dns/dnssec/signed-query.ts'
import { validateResponse } from '#server/dns/dnssec/validate.ts'
import { TYPE } from '#server/dns/dnssec/wire-records.ts'
import { RDATA_FORMATS } from '#server/record-types/record-types.ts'
import { run } from './process.ts'
import { type Server, startServer } from './servers/server.ts'
import { createWorkspace, type Workspace } from './workspace.ts'
import {
  DENIALS,
  FEW_QUESTIONS,
  isRecord,
  isSignature,
  type PreparedZone,
  prepareZone,
  QUESTIONS,
  type Questions,
  type SignedZoneSpec,
} from './zones/broken-zones.ts'

// What Zonewatch makes of the answers of a BIND server, compared with what BIND's own validator, delv, makes of them.

const ALGORITHMS = [
  ...['NSEC3RSASHA1', 'RSASHA256', 'RSASHA512', 'ECDSAP256SHA256', 'ECDSAP384SHA384', 'ED25519', 'ED448'],
]

const BY_DENIAL: Record<string, SignedZoneSpec> = Object.fromEntries(
  Object.entries(DENIALS).map(([name, denial]) => [`${name}.test`, { name: `${name}.test`, denial }]),
)

const HEALTHY: SignedZoneSpec[] = [
  { name: 'rsasha1.test', algorithms: ['RSASHA1'] },
  ...ALGORITHMS.map((algorithm) => ({ name: `${algorithm.toLowerCase()}.test`, algorithms: [algorithm] })),
  ...Object.values(BY_DENIAL),
  { name: 'split.test', isSplit: true },
  { name: 'two-algorithms.test', algorithms: ['RSASHA256', 'ED25519'] },
  { name: 'ds-sha1.test', digest: '1' },
  { name: 'ds-sha384.test', digest: '4' },
  {
    name: 'old-ds.test',
    ds: (ds) =>
      ['1 13 2 00', ...ds].map((text) => (text.endsWith(' 00') ? `${text.slice(0, -2)}${'00'.repeat(32)}` : text)),
  },
]

const isOf = (owner: string, type: string) => (line: string) => isRecord(line, owner, type)
const without = (drop: (line: string) => boolean) => (lines: string[]) => lines.filter((line) => !drop(line))
const changed = (which: (line: string) => boolean, from: string | RegExp, to: string) => (lines: string[]) =>
  lines.map((line) => (which(line) ? line.replace(from, to) : line))

const EXPIRED = ['-s', '20200101000000', '-e', '20210101000000']
const FUTURE = ['-s', '20400101000000', '-e', '20410101000000']
const www = { question: ['www', 'A'] } as const
const nothing = { question: ['nothing', 'A'] } as const

/** GOST. RFC 5933; no longer supported by validators: RFC 9904. */
const UNSUPPORTED = { zone: 'gost.parent.test', ds: `1 12 2 ${'00'.repeat(32)}` }
const PARENT: SignedZoneSpec = {
  name: 'parent.test',
  extra: `gost NS ns.gost\nns.gost A 127.0.0.1\ngost DS ${UNSUPPORTED.ds}`,
}

/** `code`: the expected cause for `question`. */
const BROKEN: (SignedZoneSpec & { question: readonly [string, string]; code: string })[] = [
  { name: 'expired.test', times: EXPIRED, ...www, code: 'signature_expired' },
  { name: 'expired-nsec3.test', times: EXPIRED, denial: DENIALS.nsec3!, ...nothing, code: 'signature_expired' },
  { name: 'future.test', times: FUTURE, ...www, code: 'signature_not_yet_valid' },
  { name: 'wrong-ds.test', ds: (ds) => ds.map((text) => text.replace(/....$/, '0000')), ...www, code: 'no_key_for_ds' },
  { name: 'other-ds.test', ds: () => [`1 13 2 ${'00'.repeat(32)}`], ...www, code: 'no_key_for_ds' },
  {
    name: 'unsigned.test',
    damage: without((line) => isSignature(line) || /\sNSEC\s/.test(line)),
    ...www,
    code: 'keys_unsigned',
  },
  { name: 'no-keys.test', damage: without(isOf('', 'DNSKEY')), ...www, code: 'no_keys' },
  {
    name: 'unsigned-keys.test',
    damage: without((line) => isOf('', 'DNSKEY')(line) && isSignature(line)),
    ...www,
    code: 'keys_unsigned',
  },
  {
    name: 'missing.test',
    damage: without((line) => isOf('www', 'A')(line) && isSignature(line)),
    ...www,
    code: 'missing_signature',
  },
  {
    name: 'tampered.test',
    damage: changed(isOf('www', 'A'), '192.0.2.1', '192.0.2.66'),
    ...www,
    code: 'invalid_signature',
  },
  {
    name: 'added.test',
    damage: (lines) => [...lines, `www.added.test. 300 IN A 192.0.2.66`],
    ...www,
    code: 'invalid_signature',
  },
  {
    name: 'tampered-ttl.test',
    damage: changed((line) => isOf('www', 'A')(line) && isSignature(line), /\bA 13 3 300 /, 'A 13 3 600 '),
    ...www,
    code: 'invalid_signature',
  },
  {
    name: 'missing-nsec.test',
    damage: without((line) => isOf('large', 'NSEC')(line)),
    ...nothing,
    code: 'bad_denial',
  },
  {
    name: 'nsec-bitmap.test',
    damage: changed((line) => isOf('www', 'NSEC')(line) && !isSignature(line), ' A TXT', ' TXT'),
    question: ['www', 'MX'],
    code: 'invalid_signature',
  },
  {
    name: 'unsigned-nsec3.test',
    denial: DENIALS.nsec3!,
    damage: without((line) => /\sNSEC3\s/.test(line) && isSignature(line)),
    ...nothing,
    code: 'missing_signature',
  },
  {
    name: 'one-algorithm.test',
    algorithms: ['RSASHA256', 'ED25519'],
    damage: without((line) => isOf('www', 'A')(line) && isSignature(line) && / A 8 /.test(line)),
    ...www,
    code: 'secure',
  },
  { name: UNSUPPORTED.zone, ds: () => [UNSUPPORTED.ds], trustedFrom: PARENT.name, ...www, code: 'unsigned' },
]

let workspace: Workspace
let named: Server
let dns: ReturnType<typeof createDnsClient>
const zones = new Map<string, PreparedZone>()

beforeAll(async () => {
  workspace = await createWorkspace()
  const { folder, port } = workspace
  for (const spec of [PARENT, ...HEALTHY, ...BROKEN]) zones.set(spec.name, await prepareZone(folder, spec))
  const config = join(folder, 'named.conf')
  await writeFile(config, configText(folder, port))
  const address = { ip: '127.0.0.1', port }
  named = await startServer({
    name: 'BIND',
    command: 'named',
    args: ['-f', '-c', config, '-n', '1'],
    address,
    ready: { name: 'nsec.test', type: 'SOA' },
  })
  dns = createDnsClient({ servers: [], clock: systemClock, formats: RDATA_FORMATS })
})

afterAll(async () => {
  await dns?.close()
  await named?.stop()
  await workspace?.remove()
})

function configText(folder: string, port: number): string {
  const texts = [...zones.values()].map(({ name, file }) => `zone "${name}" { type primary; file "${file}"; };`)
  return `
options {
    directory "${folder}";
    port ${port};
    listen-on { 127.0.0.1; };
    listen-on-v6 { none; };
    pid-file none;
    lock-file none;
    session-keyfile none;
    recursion no;
    dnssec-validation no;
    check-names primary ignore;
};
controls { };
logging { channel output { stderr; severity warning; }; category default { output; }; };
${texts.join('\n')}
`
}

async function validate({ name: zone, ds }: PreparedZone, name: string, type: string): Promise<DnssecVerdict> {
  const question = { name, type: TYPE[type as keyof typeof TYPE] }
  const [keyResponse, response] = await Promise.all(
    [{ name: zone, type: TYPE.DNSKEY }, question].map((each) =>
      querySigned(dns, named.address, each, { timeoutMs: 10_000, zone }),
    ),
  )
  const records = ds.map((text) => parseDsText(text)!)
  return validateResponse({
    zone,
    ds: records,
    keyResponse: keyResponse!,
    response: response!,
    question,
    now: Date.now(),
  })
}

/** What delv says, in the words of a verdict. */
async function delv({ trust: { root, anchors } }: PreparedZone, name: string, type: string): Promise<string> {
  const server = [`@${named.address.ip}`, '-p', String(named.address.port)]
  const args = [...server, '-a', anchors, `+root=${root}`, name, type]
  // Failures are in its standard error.
  const output = await run('sh', ['-c', 'delv "$@" 2>&1', 'delv', ...args])
  // A CNAME chain has one line for each zone or part of it.
  const states = [...output.matchAll(/^; (?:negative response, )?(fully validated|unsigned answer)$/gm)].map(
    ([, state]) => state,
  )
  const hasFailed = /^;; resolution failed: (?!ncache )/m.test(output)
  if (states.length > 0 && !hasFailed) return states.includes('unsigned answer') ? 'unsigned' : 'secure'
  return 'bogus'
}

/** The AD bit is not set for denials that rest on opt-out (RFC 5155 section 9.2). delv makes this difference only for wildcards. */
function kindOf(verdict: DnssecVerdict, reference: string): string {
  const isOptOut = verdict.kind === 'unsigned' && verdict.reason === 'opt_out'
  return isOptOut && reference === 'secure' ? 'secure' : verdict.kind
}

async function compareAll(zone: PreparedZone, questions: Questions): Promise<{ ours: string[]; delv: string[] }> {
  const ours: string[] = []
  const theirs: string[] = []
  await Promise.all(
    questions.map(async ([owner, type]) => {
      const name = owner === '' ? zone.name : `${owner}.${zone.name}`
      const [verdict, reference] = await Promise.all([validate(zone, name, type), delv(zone, name, type)])
      const question = `${name} ${type}`
      ours.push(`${question}: ${kindOf(verdict, reference)}`)
      theirs.push(`${question}: ${reference}`)
    }),
  )
  return { ours: ours.sort(), delv: theirs.sort() }
}

describe.each(HEALTHY)('$name', ({ name }) => {
  test('every answer is what delv says, and none is bogus', async () => {
    const { ours, delv } = await compareAll(zones.get(name)!, name in BY_DENIAL ? QUESTIONS : FEW_QUESTIONS)

    expect(ours).toEqual(delv)
    expect(ours.filter((line) => !/: (?:secure|unsigned)$/.test(line))).toEqual([])
  })
})

describe.each(BROKEN)('$name', ({ name, question: [owner, type], code }) => {
  test('every answer is what delv says', async () => {
    const { ours, delv } = await compareAll(zones.get(name)!, FEW_QUESTIONS)

    expect(ours).toEqual(delv)
  })

  test(`${owner} ${type}: ${code}`, async () => {
    const verdict = await validate(zones.get(name)!, `${owner}.${name}`, type)

    expect(verdict.kind === 'bogus' ? verdict.cause.code : verdict.kind).toBe(code)
  })
})
