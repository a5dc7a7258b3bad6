import { expect, test } from 'vitest'
import type { LoggedRequest } from '#contract/dashboard.ts'
import { groupFirstResults } from './first-results.ts'

/** One letter for each request: f first result, c change, t test, r first result that is retried, u event unknown yet. */
function shapeOf(letters: string): string {
  const requests = [...letters].map((letter, at) => ({
    id: `${at}`,
    event_id: letter === 't' ? null : `${letter}${at}`,
    status: letter === 'r' ? 'RETRYING' : 'DELIVERED',
  })) as LoggedRequest[]
  const eventOf = (event: string) =>
    event.startsWith('u') ? undefined : ({ old_state: /^[fr]/.test(event) ? 'UNSET' : 'VALID' } as const)
  const lines = groupFirstResults(requests, eventOf)
  return lines
    .map((line) => (line.kind === 'one' ? line.request.id : `[${line.requests.map(({ id }) => id)}]`))
    .join(' ')
}

test('consecutive delivered first results are one row, and other requests have their own rows', () => {
  expect(shapeOf('')).toBe('')
  expect(shapeOf('ffff')).toBe('[0,1,2,3]')
  expect(shapeOf('fff')).toBe('0 1 2')
  expect(shapeOf('cfffffct')).toBe('0 [1,2,3,4,5] 6 7')
  expect(shapeOf('ffrffff')).toBe('0 1 2 [3,4,5,6]')
  expect(shapeOf('uuuuu')).toBe('0 1 2 3 4')
})
