import { resolveName } from './import-rule.ts'

type File = { path: string; text: string }

/** As many files may import one another in a row. A change that needs more shortens another chain, or moves what is shared down. */
const MAX_LEVELS = 10

/** What is wrong with how deep the files of the server are stacked; nothing where it is fine. Types do not count: they are gone when the server runs. */
export function tooManyLevels(files: readonly File[], most = MAX_LEVELS): string[] {
  const chain = longestChain(files.filter(isProduct))
  const row = chain.join(' → ')
  if (isCircle(chain)) return [`These files import each other in a circle: ${row}.`]
  if (chain.length <= most) return []
  return [
    `${chain.length} files import one another in a row, and ${most} may: ${row}. Move what is shared down, or join files that are one concept.`,
  ]
}

/** The longest row of files of which each imports the next, or a circle where there is one: it ends with the file that it begins with. */
export function longestChain(files: readonly File[]): string[] {
  const imports = new Map(files.map((file) => [file.path, staticImportsOf(file)]))
  const known = new Map<string, string[]>()
  const chainFrom = (path: string, above: readonly string[]): string[] => {
    const found = known.get(path)
    if (found) return found
    if (above.includes(path)) return [...above.slice(above.indexOf(path)), path]
    let longest: string[] = []
    for (const next of imports.get(path)!) {
      if (!imports.has(next)) continue
      const chain = chainFrom(next, [...above, path])
      if (isCircle(chain)) return chain
      if (chain.length > longest.length) longest = chain
    }
    known.set(path, [path, ...longest])
    return [path, ...longest]
  }
  const chains = files.map(({ path }) => chainFrom(path, []))
  return chains.find(isCircle) ?? chains.reduce((a, b) => (b.length > a.length ? b : a), [])
}

const isCircle = (chain: readonly string[]) => new Set(chain).size < chain.length

function staticImportsOf({ path, text }: File): string[] {
  const found = text.matchAll(/^(?:import|export)\s+(?!type\b)([^'";]*?\bfrom\s*)?['"]([^'"]+\.ts)['"]/gm)
  return [...found].flatMap(([, names = '', name]) => {
    const given = /\{([^}]*)\}/
      .exec(names)?.[1]
      ?.split(',')
      .map((each) => each.trim())
    const isOnlyTypes = given?.every((each) => each === '' || each.startsWith('type '))
    const to = isOnlyTypes ? undefined : resolveName(path, name!)
    return to === undefined ? [] : [to]
  })
}

/** The simulator and what is only for tests are built on the whole server. */
const isProduct = ({ path }: File) =>
  path.startsWith('server/') && !/\.test\.ts$|^server\/testing\/|^server\/checks\/simulator\//.test(path)
