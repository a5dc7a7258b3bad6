type Json = { [key: string]: unknown }

/**
 * Replaces every schema that has a `title` by a reference to it, in place, and returns them by title: so a generated client
 * has one type `Monitor`, however many operations answer with one. Throws when one title stands for two schemas.
 */
export function hoistTitled(root: unknown): Record<string, unknown> {
  const schemas: Record<string, unknown> = {}
  const texts: Record<string, string> = {}

  const visit = (value: unknown): unknown => {
    if (value === null || typeof value !== 'object') return value
    if (Array.isArray(value)) return value.map(visit)
    const visited = Object.fromEntries(Object.entries(value as Json).map(([key, each]) => [key, visit(each)]))
    const { title } = visited
    if (typeof title !== 'string' || !('type' in visited || 'anyOf' in visited)) return visited
    const text = JSON.stringify(visited)
    texts[title] ??= text
    if (texts[title] !== text) throw new Error(`Two schemas have the title ${title}.`)
    schemas[title] = visited
    return { $ref: `#/components/schemas/${title}` }
  }

  const paths = root as Json
  for (const [path, operations] of Object.entries(paths)) paths[path] = visit(operations)
  return schemas
}
