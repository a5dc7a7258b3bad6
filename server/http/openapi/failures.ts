export type Shape = { method: string; path: string; isRepeatable: boolean; takesIfMatch: boolean }

/** Every error status that an operation can answer, beside what any server can. */
export function errorStatusesOf({ method, path, isRepeatable, takesIfMatch }: Shape): number[] {
  const writes = method !== 'get'
  const creates = ['post', 'put', 'patch'].includes(method)
  const changes = method === 'patch' || method === 'delete'
  const statuses: [number, boolean][] = [
    [400, true],
    [401, true],
    [402, creates],
    [403, writes],
    [404, path.includes('{')],
    [405, true],
    [409, writes],
    [412, changes || takesIfMatch],
    // Also where no body is taken: one may be sent.
    [413, writes],
    [414, true],
    [415, writes],
    [422, isRepeatable || method === 'post'],
    [429, true],
    [431, true],
    [500, true],
    [503, true],
  ]
  return statuses.flatMap(([status, isPossible]) => (isPossible ? [status] : []))
}
