import { pino } from 'pino'
import { expect, test } from 'vitest'
import { OutageLog } from './outage-log.ts'
import { markDatabaseError } from './unavailable.ts'

test('an outage is one line when it begins, one a minute with the number of errors, and one when it ends', () => {
  const { log, outages, lines, wait } = givenLog()
  for (let second = 0; second < 150; second++) {
    log.error({ err: databaseError() }, 'Due checks could not be read or updated. Retrying.')
    log.child({ reqId: 'req-1' }).warn({ err: databaseError() }, 'The database is unavailable.')
    wait(1_000)
  }
  outages.wrote(log)
  wait(5_000)
  outages.wrote(log)
  outages.wrote(log)

  expect(lines()).toEqual([
    {
      level: 50,
      reason: 'connect ECONNREFUSED 127.0.0.1:5432',
      msg: expect.stringMatching(/^The database is unavailable/),
    },
    { level: 50, errors: 121, reason: expect.any(String), msg: 'The database is still unavailable.' },
    { level: 50, errors: 241, reason: expect.any(String), msg: 'The database is still unavailable.' },
    { level: 30, errors: 300, seconds: 149, msg: 'The database is available again.' },
  ])
})

test('a database that fails every few seconds is one outage, although other writes succeed', () => {
  const { log, outages, lines, wait } = givenLog()
  for (let count = 0; count < 10; count++) {
    log.error({ err: databaseError() }, 'A request failed.')
    wait(4_000)
    outages.wrote(log)
  }
  expect(lines()).toHaveLength(1)
})

test('errors of other networks with the same code, other database errors and lines without an error are logged as before', () => {
  const { log, lines } = givenLog()
  log.error({ err: refused() }, 'Stripe cannot be reached.')
  log.error({ err: markDatabaseError(new Error('syntax error')) }, 'A request failed with an unexpected error.')
  log.info('Started.')
  expect(lines().map(({ msg }) => msg)).toEqual([
    'Stripe cannot be reached.',
    'A request failed with an unexpected error.',
    'Started.',
  ])
})

const refused = () => Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:5432'), { code: 'ECONNREFUSED' })
const databaseError = () => markDatabaseError(refused())

function givenLog() {
  let elapsed = 0
  const written: string[] = []
  const outages = new OutageLog({ elapsed: () => elapsed })
  const log = pino(
    { base: null, timestamp: false, hooks: outages.hooks },
    { write: (line: string) => written.push(line) },
  )
  return {
    log,
    outages,
    lines: () => written.map((line) => JSON.parse(line)),
    wait: (ms: number) => {
      elapsed += ms
    },
  }
}
