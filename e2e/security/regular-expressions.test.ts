import { globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { getConsumedChars, getFirstConsumedChar, hasSomeDescendant, isPotentiallyEmpty } from 'regexp-ast-analysis'
import { analyse } from 'scslre'
import { parseAst } from 'vite'
import { expect, test } from 'vitest'

type Parsed = ReturnType<typeof analyse>['parsed']
type Alternative = Parsed['pattern']['alternatives'][number]
type Element = Alternative['elements'][number]

/** The reasons why matching may take more than linear time. Empty for a linear pattern. */
function whyNotLinear(pattern: RegExp): string[] {
  const { parsed, reports } = analyse({ source: pattern.source, flags: pattern.flags })
  return [
    ...reports.map(({ type, character }) => `${type} of ${character.literal.source}`),
    ...(pattern.sticky ? [] : restarts(parsed)),
  ]
}

/**
 * A match that fails after a repetition restarts one character later. If the repetition matches characters that a match can
 * start with, the time is quadratic. The library finds only the simple forms of this.
 */
function restarts({ pattern, flags }: Parsed): string[] {
  const begins = pattern.alternatives.flatMap((alternative) => beginsOf(alternative.elements))
  const found: string[] = []
  hasSomeDescendant(pattern, (node) => {
    if (node.type !== 'Quantifier' || node.max !== Number.POSITIVE_INFINITY || !canFailAfter(node)) return false
    const consumed = getConsumedChars(node, flags).chars
    const isBegin = begins.some((begin) => !getFirstConsumedChar(begin, 'ltr', flags).char.isDisjointWith(consumed))
    if (isBegin) found.push(`Restart in ${node.raw}`)
    return false
  })
  return found

  /** The characters that a match can start with, if the pattern does not start with ^. */
  function beginsOf(elements: readonly Element[]): Element[] {
    const [first, ...rest] = elements
    if (!first) return []
    if (first.type === 'Assertion') return first.kind === 'start' && !flags.multiline ? [] : beginsOf(rest)
    if (first.type === 'Group' || first.type === 'CapturingGroup') {
      const each = first.alternatives.map((alternative) => beginsOf([...alternative.elements, ...rest]))
      return each.flat()
    }
    return isPotentiallyEmpty(first, flags) ? [first, ...beginsOf(rest)] : [first]
  }

  function canFailAfter(element: Element): boolean {
    const { parent } = element
    if (parent.type === 'Quantifier') return canFailAfter(parent)
    if (parent.type !== 'Alternative') return true
    const after = parent.elements.slice(parent.elements.indexOf(element) + 1)
    if (after.some((next) => !isPotentiallyEmpty(next, flags) || hasSomeDescendant(next, isAssertion))) return true
    const around = parent.parent
    return around.type !== 'Pattern' && (around.type === 'Assertion' || canFailAfter(around))
  }
}

const isAssertion = ({ type }: { type: string }) => type === 'Assertion'

/** Every regular expression of the sources by its position, and the number of those created at run time. */
function patternsOf(path: string): { literals: [place: string, pattern: RegExp][]; made: number } {
  const text = readFileSync(path, 'utf8')
  const literals: [string, RegExp][] = []
  let made = 0
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    if ('regex' in node && 'start' in node) {
      const { pattern, flags } = node.regex as { pattern: string; flags: string }
      literals.push([`${path}:${text.slice(0, Number(node.start)).split('\n').length}`, new RegExp(pattern, flags)])
    } else if ('callee' in node && (node.callee as { name?: string }).name === 'RegExp') made++
    for (const child of Object.values(node)) visit(child)
  }
  visit(parseAst(text, { lang: path.endsWith('x') ? 'tsx' : 'ts' }, path))
  return { literals, made }
}

const sources = globSync('{server,contract,dashboard}/**/*.{ts,tsx}').filter(
  (path) => !/\.test\.tsx?$|^server\/testing\//.test(path),
)

test('every regular expression of the product takes linear time', () => {
  const found = sources.flatMap((path) => patternsOf(path).literals)
  expect(found.length).toBeGreaterThan(100)
  const wrong = found.flatMap(([place, pattern]) => whyNotLinear(pattern).map((why) => `${place} ${pattern}: ${why}`))
  expect(wrong).toEqual([])
})

test('regular expressions created at run time never contain user input', () => {
  const places = sources.flatMap((path) => (patternsOf(path).made > 0 ? [path] : []))
  expect(places.sort()).toEqual([
    'dashboard/monitors/list/appearance.ts',
    'dashboard/monitors/list/query.ts',
    'server/groups/labels.ts',
    'server/groups/resolve.ts',
    'server/http/csv.ts',
    'server/http/errors.ts',
    'server/monitors/import/import-plan.ts',
    'server/monitors/known-labels.ts',
    'server/monitors/list/export.ts',
  ])
})

test('every pattern of the API description takes linear time', async () => {
  const paths = globSync('contract/*.ts').filter((path) => !path.endsWith('.test.ts'))
  const files = paths.map((path) => basename(path, '.ts'))
  const schemas = await Promise.all(files.map((file) => import(`../../contract/${file}.ts`)))
  const patterns = new Set<string>()
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    if ('pattern' in value && typeof value.pattern === 'string') patterns.add(value.pattern)
    for (const child of Object.values(value)) visit(child)
  }
  visit(schemas)
  expect(patterns.size).toBeGreaterThan(5)
  const wrong = [...patterns].flatMap((source) =>
    whyNotLinear(new RegExp(source, 'u')).map((why) => `${source}: ${why}`),
  )
  expect(wrong).toEqual([])
})

test.each([
  /^(?:\d+[smhdw]?)+$/i,
  /^\s*(\(?)\s*("(?:[^"\\]|\\.)*"(?:\s*"(?:[^"\\]|\\.)*")*)\s*(\)?)\s*$/su,
  /"((?:[^"\\]|\\.)*)"/gsu,
  /https?:\/\/\S+\/dashboard\/invitations\/[\w-]+/,
  /^```mermaid\n.*?^```\n+/gms,
  /\s*\n\s*/g,
  /\/+$/,
  /^-+|-+$/g,
])('%s is found to be slower', (pattern) => {
  expect(whyNotLinear(pattern)).not.toEqual([])
})
