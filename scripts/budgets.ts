import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildDashboard } from './build-dashboard.ts'

/** Kilobytes (1,000 bytes), compressed by Brotli. */
const BUDGETS = {
  'script of the first load': 200,
  'style of the first load': 20,
  'any page in addition': 66,
  // Loaded when somebody searches. It grows with the documentation.
  'search index of the documentation': 120,
}

/** Builds the dashboard if needed, and lists the parts that exceed their budget. */
export async function overBudget(): Promise<string> {
  const sizes = sizesOf(await buildDashboard())
  const lines = Object.entries(BUDGETS).map(([what, limit]) => {
    const size = sizes[what as keyof typeof BUDGETS]
    return { isOver: size > limit, line: `${what}: ${size.toFixed(1)} kB of at most ${limit} kB` }
  })
  return lines.flatMap(({ isOver, line }) => (isOver ? line : [])).join('\n')
}

function sizesOf(folder: string): Record<keyof typeof BUDGETS, number> {
  const assets = join(folder, 'assets')
  const scripts = readdirSync(assets).filter((name) => name.endsWith('.js'))
  const page = readFileSync(join(folder, 'index.html'), 'utf8')
  const first = closure(
    assets,
    [...page.matchAll(/assets\/([\w-]+\.js)/g)].map(([, name]) => name!),
  )
  const isIndex = (name: string) => name.startsWith('docs-index')
  const others = scripts.filter((name) => !first.has(name) && !isIndex(name))
  const additional = others.map((name) =>
    total(
      assets,
      [...closure(assets, [name])].filter((each) => !first.has(each) && !isIndex(each)),
    ),
  )
  const styles = [...page.matchAll(/assets\/([\w-]+\.css)/g)].map(([, name]) => name!)
  return {
    'script of the first load': total(assets, [...first]),
    'style of the first load': total(assets, styles),
    'any page in addition': Math.max(0, ...additional),
    'search index of the documentation': total(assets, scripts.filter(isIndex)),
  }
}

/** These scripts and their static imports, recursively. */
function closure(assets: string, names: readonly string[], seen = new Set<string>()): Set<string> {
  for (const name of names) {
    if (seen.has(name)) continue
    seen.add(name)
    const text = readFileSync(join(assets, name), 'utf8')
    const imported = [...text.matchAll(/(?:from|import)\s*["']\.\/([\w-]+\.js)["']/g)].map(([, each]) => each!)
    closure(assets, imported, seen)
  }
  return seen
}

const total = (assets: string, names: readonly string[]) =>
  names.reduce((sum, name) => sum + readFileSync(join(assets, `${name}.br`)).length, 0) / 1_000
