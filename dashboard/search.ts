/** The query string of a page. All values are text, so that URLs stay readable and can be typed. */
export type Search = Record<string, string>

/** Keeps the named parameters that are not empty. For validateSearch of a route. */
export const pickSearch =
  <K extends string>(...names: readonly K[]) =>
  (search: Record<string, unknown>): { [name in K]?: string } =>
    Object.fromEntries(
      names
        .filter((name) => typeof search[name] === 'string' && search[name] !== '')
        .map((name) => [name, search[name]]),
    ) as { [name in K]?: string }

export function parseSearch(text: string): Search {
  return Object.fromEntries(new URLSearchParams(text))
}

export function stringifySearch(search: Record<string, unknown>): string {
  const nonEmpty = Object.entries(search).filter(([, value]) => value !== undefined && value !== null && value !== '')
  const text = new URLSearchParams(nonEmpty.map(([name, value]) => [name, String(value)])).toString()
  return text ? `?${text}` : ''
}
