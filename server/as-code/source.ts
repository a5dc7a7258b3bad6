import { type Document, isCollection, isMap, isScalar, LineCounter, type Node, parseDocument, visit } from 'yaml'

/** A place in a file, from 1. */
export type Place = { file: string; line: number; column: number }
export type Complaint = { place: Place; text: string }

export type Source = {
  value: unknown
  /** The place of a value, or of a key of it. */
  placeOf(path: readonly (string | number)[], key?: string): Place
}

export const MAX_FILE_BYTES = 8 * 1_024 * 1_024
const MAX_ALIASES = 100

/** Parses a file. Returns complaints if it is not one document of plain data. */
export function parseSource(
  file: string,
  text: string,
): { ok: true; source: Source } | { ok: false; complaints: Complaint[] } {
  const counter = new LineCounter()
  const at = (offset: number): Place => {
    const { line, col } = counter.linePos(offset)
    return { file, line: Math.max(1, line), column: Math.max(1, col) }
  }
  const refuse = (complaints: Complaint[]) => ({ ok: false as const, complaints })
  const start = { file, line: 1, column: 1 }
  if (Buffer.byteLength(text) > MAX_FILE_BYTES)
    return refuse([{ place: start, text: `The file is larger than ${MAX_FILE_BYTES / 1_024 / 1_024} MiB. Split it.` }])
  try {
    // Repeated keys are found below: the library compares each key with each other.
    const document = parseDocument(text, { lineCounter: counter, uniqueKeys: false, prettyErrors: false, merge: false })
    if (document.errors.some(({ message }) => message.includes('call stack'))) throw new RangeError()
    const errors = document.errors.map(({ pos, message }) => ({ place: at(pos[0]), text: message }))
    const complaints = [...errors, ...repeatedKeys(document, at)]
    if (complaints.length > 0) return refuse(complaints)
    const value = document.toJS({ maxAliasCount: MAX_ALIASES })
    return { ok: true, source: { value, placeOf: (path, key) => at(offsetOf(document, path, key)) } }
  } catch (error) {
    if (error instanceof RangeError) return refuse([{ place: start, text: 'The values are nested too deeply.' }])
    if (!(error instanceof ReferenceError)) throw error
    return refuse([
      { place: start, text: `The aliases of the file repeat too much: at most ${MAX_ALIASES} are expanded.` },
    ])
  }
}

function repeatedKeys(document: Document, at: (offset: number) => Place): Complaint[] {
  const complaints: Complaint[] = []
  visit(document, {
    Map(_, map) {
      const seen = new Set<unknown>()
      for (const { key } of map.items) {
        const name = isScalar(key) ? key.value : undefined
        const place = at((key as Node | null)?.range?.[0] ?? 0)
        if (typeof name !== 'string') complaints.push({ place, text: 'A key must be text.' })
        else if (seen.has(name)) complaints.push({ place, text: `The key ${name} is repeated.` })
        seen.add(name)
      }
    },
  })
  return complaints
}

/** Of the deepest value of the path that the file has. */
function offsetOf(document: Document, path: readonly (string | number)[], key?: string): number {
  let node: unknown = document.contents
  let offset = 0
  for (const step of path) {
    offset = (node as Node | null)?.range?.[0] ?? offset
    const next = isCollection(node) ? node.get(step, true) : undefined
    if (next === undefined) break
    node = next
  }
  if (key !== undefined && isMap(node)) {
    const pair = node.items.find((item) => isScalar(item.key) && item.key.value === key)
    offset = (pair?.key as Node | undefined)?.range?.[0] ?? node.range?.[0] ?? offset
    return offset
  }
  return (node as Node | null)?.range?.[0] ?? offset
}
