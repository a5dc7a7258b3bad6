type File = { path: string; text: string }

/** Names of other programs and libraries. */
const EXTERNAL = new Set(['ETCD_ENABLE_V2', 'getMetricsAsJSON'])

const FILE = /^[\w./@-]+\.(?:tsx?|md|js|sh)$/
const PATH_IN_COMMENT =
  /\b(?:bench|contract|dashboard|deploy|docs|e2e|scripts|server|simulator)\/[\w./-]+\.(?:tsx?|md)\b/g
/** `runCheck`, `RecordType`, `MAX_ROWS`; a single word could be anything. */
const IDENTIFIER = /^(?:[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*|[A-Z][A-Z0-9]*_[A-Z0-9_]+)$/
const COMMENT = /\/\/[^\n]*|\/\*[\s\S]*?\*\//g

/**
 * One line for each file or identifier that does not exist, of those in backticks in documents and in comments of the sources.
 * `others`: more files that have paths and identifiers, such as rules for Prometheus.
 */
export function findUnknownNames(
  documents: readonly File[],
  sources: readonly File[],
  others: readonly File[],
): string[] {
  // The new files of an example: a recipe names them at their code blocks.
  const examples = documents.flatMap(({ text }) => [...text.matchAll(/^```tsx? (\S+)$/gm)].map(([, path]) => path!))
  const paths = [...[...documents, ...sources, ...others].map(({ path }) => path), ...examples]
  const code = [...sources.map(({ text }) => text.replace(COMMENT, '')), ...others.map(({ text }) => text)]
  const identifiers = new Set(code.flatMap((text) => text.match(/[A-Za-z_]\w*/g) ?? []))
  const exists = (name: string) =>
    FILE.test(name)
      ? paths.some((path) => path === name || path.endsWith(`/${name}`))
      : [name, name.replace(/_FILE$/, '')].some((each) => identifiers.has(each))
  const isName = (name: string) => (FILE.test(name) || IDENTIFIER.test(name)) && !EXTERNAL.has(name)
  const comments = sources.flatMap(({ path, text }) =>
    [...text.matchAll(COMMENT)].map(({ 0: comment, index }) => ({ path, text: comment, line: lineAt(text, index) })),
  )
  return [...documents.map((file) => ({ ...file, line: 1 })), ...comments].flatMap(({ path, text, line }) =>
    [...text.matchAll(/`([^`\s]+)`/g), ...text.matchAll(PATH_IN_COMMENT)]
      .map(({ 0: whole, 1: name = whole, index }) => ({ name, line: line + lineAt(text, index) - 1 }))
      .filter(({ name }) => isName(name) && !exists(name))
      .map((unknown) => `${path}:${unknown.line} ${unknown.name} does not exist`),
  )
}

const lineAt = (text: string, index: number) => text.slice(0, index).split('\n').length
