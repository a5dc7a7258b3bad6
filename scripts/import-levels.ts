import { resolveName } from './import-rule.ts'

type File = { path: string; text: string }

/** The maximum length of a chain of imports. */
const MAX_LEVELS = 10

/** The errors about circular imports and long import chains of the server. Type imports do not count. */
export function tooManyLevels(files: readonly File[], limit = MAX_LEVELS): string[] {
  const chain = longestChain(files.filter(isProduct))
  const path = chain.join(' → ')
  if (isCircle(chain)) return [`These files import each other in a circle: ${path}.`]
  if (chain.length <= limit) return []
  return [
    `${chain.length} files import one another in a row, and ${limit} may: ${path}. Move what is shared down, or join files that are one concept.`,
  ]
}

/** The longest chain of imports, or a circle, which ends with its first file. */
export function longestChain(files: readonly File[]): string[] {
  const imports = new Map(files.map((file) => [file.path, staticImportsOf(file)]))
  const longestChains = new Map<string, string[]>()
  const chainFrom = (path: string, importers: readonly string[]): string[] => {
    const found = longestChains.get(path)
    if (found) return found
    if (importers.includes(path)) return [...importers.slice(importers.indexOf(path)), path]
    let longest: string[] = []
    for (const next of imports.get(path)!) {
      if (!imports.has(next)) continue
      const chain = chainFrom(next, [...importers, path])
      if (isCircle(chain)) return chain
      if (chain.length > longest.length) longest = chain
    }
    longestChains.set(path, [path, ...longest])
    return [path, ...longest]
  }
  const chains = files.map(({ path }) => chainFrom(path, []))
  return chains.find(isCircle) ?? chains.reduce((a, b) => (b.length > a.length ? b : a), [])
}

const isCircle = (chain: readonly string[]) => new Set(chain).size < chain.length

function staticImportsOf({ path, text }: File): string[] {
  const found = text.matchAll(/^(?:import|export)\s+(?!type\b)([^'";]*?\bfrom\s*)?['"]([^'"]+\.ts)['"]/gm)
  return [...found].flatMap(([, names = '', name]) => {
    const importedNames = /\{([^}]*)\}/
      .exec(names)?.[1]
      ?.split(',')
      .map((each) => each.trim())
    const isOnlyTypes = importedNames?.every((each) => each === '' || each.startsWith('type '))
    const to = isOnlyTypes ? undefined : resolveName(path, name!)
    return to === undefined ? [] : [to]
  })
}

/** Tests may import everything. */
const isProduct = ({ path }: File) => path.startsWith('server/') && !/\.test\.ts$|^server\/testing\//.test(path)
