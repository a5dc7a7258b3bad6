import type { FastifyRequest } from 'fastify'

/**
 * Where a browser says that a request was begun: `here` in a page of this server or by the person, `elsewhere` in another
 * site, or `unsaid`. `Sec-Fetch-Site` counts before `Origin`; neither can be set by a page.
 */
export function startOf({ headers, host }: FastifyRequest, baseUrl: string): 'here' | 'elsewhere' | 'unsaid' {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin' || site === 'none' ? 'here' : 'elsewhere'
  const { origin } = headers
  if (origin === undefined) return 'unsaid'
  const isOurs = origin === new URL(baseUrl).origin || (URL.canParse(origin) && new URL(origin).host === host)
  return isOurs ? 'here' : 'elsewhere'
}
