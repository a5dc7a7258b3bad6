import { findTemplateError, http } from '#server/alerts/channel-types/http.ts'
import { expandSchedule } from '#server/alerts/maintenance.ts'
import { matchesPattern } from '#server/alerts/name-pattern.ts'
import { HORIZON_DAYS } from '#server/alerts/recurrence.ts'
import { digestAt, quietUntil } from '#server/alerts/rule-schedule.ts'
import { requestedLabels } from '#server/groups/labels.ts'
import { findTooLarge } from '#server/http/json.ts'
import { csvRecords } from '#server/monitors/import/csv-records.ts'
import { indexed, parseSearch, type Search } from '#server/monitors/list/search.ts'
import { countEventLoopTurns } from '#server/testing/event-loop-turns.ts'
import { SAMPLE_MESSAGES } from '#server/testing/sample-messages.ts'

/**
 * Text of a user, or of a zone that a user monitors, that makes the server compute. `bound`: of the work. `test`: the file that counts
 * its steps or proves that they are linear. `steps`: those of the worst text that is accepted, and how many there may be.
 */
export type UserText = {
  text: string
  work: string
  bound: string
  test?: string
  steps?: () => Promise<[taken: number, most: number]> | [taken: number, most: number]
}

const up = (max: number) => Array.from({ length: max }, (_, index) => index + 1).join()
const DAY_MS = 24 * 60 * 60_000
/** Up to two week-years at the ends, and the days before the current occurrence. */
const EXTRA_DAYS = 2 * 371

/** Everything of that kind, in one list. docs/explanation/security.md has it as a table. */
export const USER_TEXTS: readonly UserText[] = [
  {
    text: 'JSON of a request',
    work: 'parsing',
    bound: '1 MiB, bulk requests 16 MiB; 100,000 values, 32 levels; counted before it is parsed',
    test: 'e2e/security/large-bodies.test.ts',
    steps: () => {
      const json = Buffer.from(JSON.stringify(Array(99_000).fill('a "quoted" text')))
      const steps = { taken: 0 }
      if (findTooLarge(json, steps)) throw new Error('is refused')
      return [steps.taken, json.length]
    },
  },
  {
    text: 'Recurrence rule of a maintenance window',
    work: 'the next occurrences, when it is saved and every 16 occurrences',
    bound: 'each day of 10 years is looked at once',
    test: 'server/alerts/recurrence.test.ts',
    steps: () => {
      const rrule = `FREQ=YEARLY;BYWEEKNO=${up(53)};BYDAY=MO,TU,WE,TH,FR,SA,SU;BYSETPOS=366`
      const from = Date.UTC(2026, 0, 1)
      const steps = { taken: 0 }
      expandSchedule({ from, to: from + DAY_MS, rrule, timezone: 'Europe/Berlin' }, from, 1_000, steps)
      return [steps.taken, HORIZON_DAYS + EXTRA_DAYS]
    },
  },
  {
    text: 'Quiet hours and digest of an alert rule',
    work: 'the end of the quiet hours, the time of the next digest',
    bound: '6 conversions of a local time; a digest combines at most 1,000 alerts and names 20',
    steps: () => {
      let taken = 0
      const { toZonedDateTimeISO } = Temporal.Instant.prototype
      const { with: withTime } = Temporal.ZonedDateTime.prototype
      try {
        Temporal.Instant.prototype.toZonedDateTimeISO = function (zone) {
          taken++
          return toZonedDateTimeISO.call(this, zone)
        }
        Temporal.ZonedDateTime.prototype.with = function (...args) {
          taken++
          return withTime.apply(this, args)
        }
        const now = Date.UTC(2026, 0, 1, 23, 30)
        quietUntil({ quiet_from: 22 * 60, quiet_until: 7 * 60, timezone: 'Europe/Berlin' }, now)
        digestAt({ digest: 'daily', timezone: 'Europe/Berlin' }, now)
      } finally {
        Temporal.Instant.prototype.toZonedDateTimeISO = toZonedDateTimeISO
        Temporal.ZonedDateTime.prototype.with = withTime
      }
      return [taken, 7]
    },
  },
  {
    text: 'Name pattern of an alert rule or window',
    work: 'comparison with each monitor that fails',
    bound:
      '253 characters, each part between two `*` is searched once, in a statement with at most 253 × 253 comparisons; 50 rules and 50 windows',
    steps: () => {
      const name = new CountedText('a'.repeat(253))
      matchesPattern(`${'*a'.repeat(126)}b`, name as never)
      return [name.searches, 126]
    },
  },
  {
    text: 'Template of an HTTP channel',
    work: 'a message',
    bound: '10,000 characters, 30 names; each value is inserted once and has at most some thousand characters',
    test: 'server/alerts/channel-types/channel-types.test.ts',
    steps: () => {
      const template = JSON.stringify(['{{title}}'.repeat(30)])
      if (findTemplateError(template) || !findTemplateError(JSON.stringify('{{title}}'.repeat(31)))) return [1, 0]
      const { body } = http.request(
        { ...SAMPLE_MESSAGES.failing!, title: '{{title}}' },
        { endpoint: 'https://alerts.example.com/', template },
      )
      return [body.split('{{title}}').length - 1, 30]
    },
  },
  {
    text: 'Filters of lists, jobs and views: names, tags, metadata',
    work: 'conditions of a statement',
    bound: '20 tags and 20 pairs of metadata',
    test: 'server/monitors/labels.test.ts',
    steps: () => {
      const metadata = Array.from({ length: 20 }, (_, index) => [`metadata.key${index}`, 'x'])
      const labels = requestedLabels({
        tag: Array.from({ length: 20 }, (_, index) => `t${index}`).join(),
        ...Object.fromEntries(metadata),
      })
      return [labels.length, 40]
    },
  },
  {
    text: 'Search of monitors',
    work: 'lookups in an index of trigrams, comparison of the matches',
    bound: '255 characters; 60 trigrams are looked up; a page of a rare result reads at most 10,000 rows',
    test: 'server/monitors/list/search.test.ts',
    steps: () => {
      const texts = [up(90), 'abcdefgh '.repeat(28), 'a.b.c.d.e '.repeat(25), 'x'.repeat(255)]
      const counts = texts.map((text) => trigramsOf(parseSearch(text.slice(0, 255))))
      return [Math.max(...counts), 60]
    },
  },
  {
    text: 'CSV of an import',
    work: 'reading its cells',
    bound:
      '1 MiB, 5,000 rows, 100 cells of 65,536 characters a line; other requests are answered after every 2,048 characters',
    test: 'server/monitors/import/csv.test.ts',
    steps: async () => await charactersBetweenTurns('"a","b",', csvRecords, 2_048),
  },
  {
    text: 'Zone file of an import',
    work: 'reading its records',
    bound: '1 MiB, 5,000 rows, entries of 16,384 characters, names of 2,000; other requests are answered in between',
    test: 'server/monitors/import/zone-file.test.ts',
  },
  {
    text: 'Expected values',
    work: 'parsing and comparison by record type',
    bound: '10 values of 1,000 characters; every regular expression is linear',
    test: 'e2e/security/hostile-text.test.ts',
  },
  {
    text: 'Records of a monitored zone',
    work: 'parsing, comparison, the reason of a verdict',
    bound:
      '64 KiB of an answer; an event stores 64 KiB of values, a diagnosis 16 KiB; every regular expression is linear',
    test: 'e2e/security/hostile-text.test.ts',
  },
  {
    text: 'Any other text in a request: names, URLs, headers, cursors, external ids',
    work: 'validation by the schema',
    bound: 'the lengths in the API description, at most 10,000 errors; every pattern is linear',
    test: 'e2e/security/regular-expressions.test.ts',
  },
  {
    text: 'Passwords',
    work: 'scrypt, about 50 ms beside the event loop',
    bound: '128 characters, and limits of attempts for each account and network',
    test: 'server/accounts/attempt-limits.test.ts',
  },
]

/** The table of the document. */
export const userTextTable = (): string =>
  [
    '| Text | What Zonewatch computes | Bound |',
    '|---|---|---|',
    ...USER_TEXTS.map(({ text, work, bound }) => `| ${text} | ${work} | ${bound} |`),
    '',
  ].join('\n')

/** Counts how often it is searched. */
class CountedText extends String {
  searches = 0
  override indexOf(text: string, from?: number): number {
    this.searches++
    return super.indexOf(text, from)
  }
}

const trigramsOf = ({ words }: Search) =>
  indexed(words).reduce((sum, [form = '']) => sum + Math.max(0, Array.from(form).length - 2), 0)

/** How many characters are read between two turns of the event loop. */
async function charactersBetweenTurns(
  part: string,
  read: (text: string) => AsyncIterable<unknown>,
  most: number,
): Promise<[number, number]> {
  const text = part.repeat(Math.floor(1_048_576 / part.length))
  const work = async () => {
    for await (const _ of read(text));
  }
  const turns = await countEventLoopTurns(work())
  return [Math.floor(text.length / (turns + 1)), most]
}
