import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from '../process.ts'

/** How a zone is signed, and what is wrong with it. */
export type SignedZoneSpec = {
  name: string
  /** Each signs the whole zone. */
  algorithms?: readonly string[]
  /** Options of dnssec-signzone. */
  denial?: readonly string[]
  times?: readonly string[]
  /** A key for the keys and another one for the rest. */
  isSplit?: true
  /** What happens to the signed zone: each line is one record. */
  damage?: (lines: string[]) => string[]
  /** The DS records at the parent, from those of the keys. */
  ds?: (ds: string[]) => string[]
  digest?: '1' | '2' | '4'
  /** More records. */
  extra?: string
  /** The zone above whose key a validator begins with, instead of the DS records. */
  trustedFrom?: string
}

/** `ds`: `60485 5 1 2BB183…`. */
export type PreparedZone = { name: string; file: string; ds: string[]; trust: { root: string; anchors: string } }

const NSEC3: readonly string[] = ['-3', '-', '-H', '0']
export const DENIALS: Record<string, readonly string[]> = {
  nsec: [],
  nsec3: NSEC3,
  'nsec3-salt': ['-3', 'aabbccdd', '-H', '10'],
  'nsec3-optout': [...NSEC3, '-A'],
}

const CONTENT = `
@ SOA ns hostmaster 1 3600 600 86400 300
@ NS ns
ns A 127.0.0.1
www A 192.0.2.1
www A 192.0.2.2
www TXT "text" "More Text"
Mixed.CASE MX 10 MAIL.Example.COM.
*.w A 192.0.2.3
*.w TXT "wildcard"
c.w A 192.0.2.4
alias CNAME www
*.walias CNAME www
d DNAME e
x.e A 192.0.2.5
a.b.c TXT "below empty non-terminals"
sub NS ns.sub
ns.sub A 127.0.0.1
signed NS ns.sub
signed DS 1 13 2 0000000000000000000000000000000000000000000000000000000000000000
srv SRV 1 2 3 WWW
caa CAA 0 issue "ca.example"
large TXT ${Array.from({ length: 12 }, (_, index) => `"${String(index).padEnd(200, 'x')}"`).join(' ')}
`

export type Questions = readonly (readonly [name: string, type: string])[]

/** Names below the zone, with a type, whose answers differ in kind. */
export const QUESTIONS: Questions = [
  ['', 'SOA'],
  ['', 'DNSKEY'],
  ['', 'MX'],
  ['www', 'A'],
  ['www', 'TXT'],
  ['www', 'MX'],
  ['mixed.case', 'MX'],
  ['nothing', 'A'],
  ['x.nothing', 'A'],
  ['zzz', 'A'],
  ['a.w', 'A'],
  ['b.a.w', 'TXT'],
  ['a.w', 'MX'],
  ['x.c.w', 'A'],
  ['*.w', 'A'],
  ['b.c', 'A'],
  ['alias', 'A'],
  ['alias', 'MX'],
  ['alias', 'CNAME'],
  ['a.walias', 'A'],
  ['a.walias', 'MX'],
  ['x.d', 'A'],
  ['x.d', 'MX'],
  ['y.d', 'A'],
  ['sub', 'DS'],
  ['signed', 'DS'],
  ['srv', 'SRV'],
  ['caa', 'CAA'],
  ['large', 'TXT'],
]

export const FEW_QUESTIONS = QUESTIONS.filter(([name]) =>
  ['', 'www', 'nothing', 'a.w', 'alias', 'x.d', 'sub'].includes(name),
)

/** Writes and signs a zone. */
export async function prepareZone(folder: string, spec: SignedZoneSpec): Promise<PreparedZone> {
  const { name, algorithms = ['ECDSAP256SHA256'], denial = [], times = [], isSplit, damage, digest = '2' } = spec
  const file = join(folder, `${name}.zone`)
  const keys: string[] = []
  for (const algorithm of algorithms) {
    const bits = algorithm.includes('RSA') ? ['-b', '1024'] : []
    const newKey = async (...flags: string[]) =>
      (await run('dnssec-keygen', ['-q', '-a', algorithm, ...bits, ...flags, '-K', folder, name])).trim()
    keys.push(await newKey('-f', 'KSK'), ...(isSplit ? [await newKey()] : []))
  }
  const keyTexts = await Promise.all(keys.map((key) => readFile(join(folder, `${key}.key`), 'utf8')))
  await writeFile(file, [`$ORIGIN ${name}.`, '$TTL 300', CONTENT, spec.extra ?? '', ...keyTexts].join('\n'))
  const options = ['-q', '-P', ...(isSplit ? [] : ['-z']), '-O', 'full', '-d', folder, ...denial, ...times]
  const paths = keys.map((key) => join(folder, key))
  await run('dnssec-signzone', [...options, '-o', name, '-f', file, file, ...paths])
  if (damage) {
    const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '' && !line.startsWith(';'))
    await writeFile(file, `${damage(lines).join('\n')}\n`)
  }
  const keySigning = keys.filter((_, index) => !isSplit || index % 2 === 0)
  const texts = await Promise.all(
    keySigning.map((key) =>
      run('dnssec-dsfromkey', [
        `-${digest === '4' ? 'a' : digest}`,
        ...(digest === '4' ? ['SHA-384'] : []),
        join(folder, key),
      ]),
    ),
  )
  const own = texts.map((text) =>
    text
      .trim()
      .replace(/^.* DS /, '')
      .replace(/^(\S+ \S+ \S+) (.*)$/, (_, head, hex) => `${head} ${hex.replaceAll(' ', '')}`),
  )
  const ds = spec.ds?.(own) ?? own
  const anchors = join(folder, `${name}.anchors`)
  const anchorLines = ds.map((text) => `"${name}" static-ds ${text.replace(/ ([0-9A-Fa-f]+)$/, ' "$1"')};`)
  await writeFile(anchors, `trust-anchors { ${anchorLines.join(' ')} };\n`)
  const { trustedFrom: root = name } = spec
  return { name, file, ds, trust: { root, anchors: join(folder, `${root}.anchors`) } }
}

/** Whether a line is the record, or a signature of it. `owner`: relative to the zone. */
export function isRecord(line: string, owner: string, type: string): boolean {
  const [name = '', , , own, covered] = line.split(/\s+/)
  const isOwner = owner === '' ? /^[^.]+\.test\.$/.test(name) : name.toLowerCase().startsWith(`${owner}.`)
  return isOwner && (own === type || (own === 'RRSIG' && covered === type))
}

export const isSignature = (line: string): boolean => line.split(/\s+/)[3] === 'RRSIG'
