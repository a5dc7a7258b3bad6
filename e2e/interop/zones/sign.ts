import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from '../process.ts'
import type { Zone } from './zone.ts'

/** `key`: the zone's DNSKEY record as one line of a zone file, for the trust anchors of the validating servers. */
export type SignedZone = Zone & { key: string }

/** The validity of signatures as `YYYYMMDDHHMMSS`, by default a month from an hour ago. */
export type Validity = { from: string; to: string }

/** Signs a zone file in place with a new key that signs everything. */
export async function signZone(folder: string, zone: Zone, validity?: Validity): Promise<SignedZone> {
  const name = await run('dnssec-keygen', ['-q', '-a', 'ECDSAP256SHA256', '-f', 'KSK', '-K', folder, zone.name])
  const key = join(folder, name.trim())
  const times = validity ? ['-s', validity.from, '-e', validity.to] : []
  const keyText = await readFile(`${key}.key`, 'utf8')
  await writeFile(zone.file, `${await readFile(zone.file, 'utf8')}${keyText}`)
  await run('dnssec-signzone', [
    '-q',
    '-z',
    '-P',
    '-d',
    folder,
    ...times,
    '-o',
    zone.name,
    '-f',
    zone.file,
    zone.file,
    key,
  ])
  return { ...zone, key: lineOf(keyText) }
}

/** Changes a signed record without signing it again. */
export async function forge({ file }: Zone, from: string, to: string): Promise<void> {
  const text = await readFile(file, 'utf8')
  if (!text.includes(from)) throw new Error(`${file} does not contain ${from}`)
  await writeFile(file, text.replaceAll(from, to))
}

function lineOf(keyText: string): string {
  const line = keyText.split('\n').find((line) => line !== '' && !line.startsWith(';'))
  if (line === undefined) throw new Error('The key file contains no key.')
  return line
}
