/**
 * Compiles a schema when it is first used, and once for each text of it: of one route and another the refusals are alike.
 * Compiling all of them took a quarter of a start, and most processes use few. Returns what compiles, or gives what was compiled.
 */
export function oncePerSchema<T>(compile: (schema: object) => T): (schema: object) => () => T {
  const compiled = new Map<string, T>()
  return (schema) => {
    let own: T | undefined
    return () => {
      if (own !== undefined) return own
      const text = JSON.stringify(schema)
      own = compiled.get(text) ?? compile(schema)
      compiled.set(text, own)
      return own
    }
  }
}
