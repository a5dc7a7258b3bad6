/** What stands behind the `?` of a page's address: only text, so that addresses stay readable and can be typed. */
export type Search = Record<string, string>

/** Keeps the named parameters that are there. For a route's validateSearch. */
export const searchOf =
  <K extends string>(...names: readonly K[]) =>
  (given: Record<string, unknown>): { [name in K]?: string } =>
    Object.fromEntries(
      names.filter((name) => typeof given[name] === 'string' && given[name] !== '').map((name) => [name, given[name]]),
    ) as { [name in K]?: string }

export function parseSearch(text: string): Search {
  return Object.fromEntries(new URLSearchParams(text))
}

export function stringifySearch(search: Record<string, unknown>): string {
  const filled = Object.entries(search).filter(([, value]) => value !== undefined && value !== null && value !== '')
  const text = new URLSearchParams(filled.map(([name, value]) => [name, String(value)])).toString()
  return text ? `?${text}` : ''
}
