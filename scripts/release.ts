import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { buildClient } from './build-client.ts'
import { startAndStop } from './start-and-stop.ts'

/**
 * `npm run release [FOLDER]`: builds what a release publishes, from the working tree: the packages of the server and of the client, the
 * list of their parts (SBOM), the notes from the changelog, and the checksums of all of them. It publishes and signs nothing.
 */
export async function buildRelease(folder: string): Promise<void> {
  const { name, version } = JSON.parse(readFileSync('package.json', 'utf8')) as { name: string; version: string }
  const { version: clientVersion } = JSON.parse(readFileSync('client/package.json', 'utf8')) as { version: string }
  if (clientVersion !== version)
    throw new Error(`package.json has version ${version}, client/package.json ${clientVersion}. Make them equal.`)
  const notes = notesOf(readFileSync('CHANGELOG.md', 'utf8'), version)
  mkdirSync(folder, { recursive: true })
  const before = readdirSync(folder)
  if (before.length > 0) throw new Error(`${folder} is not empty. Choose another folder.`)

  npm(['run', 'package'])
  npm(['pack', './build', '--pack-destination', folder])
  const client = join(folder, 'client')
  const wrong = await startAndStop(async (url) => {
    buildClient(await (await fetch(`${url}/openapi.json`)).text(), client)
  })
  if (wrong) throw new Error(wrong)
  npm(['pack', client, '--pack-destination', folder])
  rmSync(client, { recursive: true })
  writeFileSync(join(folder, `${name}-${version}.cdx.json`), npm(['sbom', '--omit=dev', '--sbom-format=cyclonedx']))
  writeFileSync(join(folder, 'NOTES.md'), notes)
  const sums = readdirSync(folder).map((file) => {
    const sum = createHash('sha256').update(readFileSync(join(folder, file)))
    return `${sum.digest('hex')}  ${file}\n`
  })
  writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''))
}

/** What the changelog says of a version. Throws if it says nothing. */
export function notesOf(changelog: string, version: string): string {
  const sections = changelog.split(/^(?=## )/m)
  const section = sections.find((each) => each.startsWith(`## [${version}]`))
  const notes = section?.split('\n').slice(1).join('\n').trim()
  if (!notes) throw new Error(`CHANGELOG.md has no section for ${version}. Rename [Unreleased], and begin a new one.`)
  return `${notes}\n`
}

const npm = (args: readonly string[]): string =>
  execFileSync('npm', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 64 * 1024 * 1024 })

if (import.meta.main) {
  const folder = resolve(process.argv[2] ?? 'release')
  await buildRelease(folder)
  process.stdout.write(`${readFileSync(join(folder, 'SHA256SUMS'), 'utf8')}in ${folder}\n`)
}
