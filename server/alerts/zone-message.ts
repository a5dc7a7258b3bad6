import { plural } from '#contract/wording.ts'
import type { FindingLevel, ZoneFindingCode, ZoneHealth } from '#contract/zone-codes.ts'
import type { IncidentSummary, MonitorSummary } from './alert-message.ts'

/** A finding as messages say it. Written with the zone, because alerts import no checks of zones. */
export type ZoneProblem = {
  code: ZoneFindingCode
  about: string
  level: FindingLevel
  /** Of `zone_gone`: the zone that does not delegate it. */
  parent?: string
  since: number
  text: string
  advice: string
}

/** A zone as messages say it. `problems`: its findings, the most serious first. */
export type ZoneSummary = {
  id: string
  name: string
  health: ZoneHealth
  problems: readonly ZoneProblem[]
}

/** Cuts a text to one line of so many characters. */
type ShortLine = (text: string, maxLength: number) => string

const MAX_TEXT_LENGTH = 300
const MAX_SHARED_VALUE_LENGTH = 60
const MAX_FINDINGS = 5

/** `Zone example.com`, or `1,000 zones that com does not delegate`. */
export function zoneSubject(
  { zones = 0, zone, causeKind = 'zone', causeValue }: IncidentSummary,
  shortLine: ShortLine,
): string {
  if (zones === 1 && causeKind === 'zone') return `Zone ${zone}`
  const count = plural(zones, '1 zone', (number) => `${number} zones`)
  const value = shortLine(causeValue ?? '', MAX_SHARED_VALUE_LENGTH)
  switch (causeKind) {
    case 'parent':
      return `${count} that ${value || 'the root zone'} does not delegate`
    case 'name_server':
      return `${count} on name server ${value}`
    default:
      return count
  }
}

/** What failing zones add to a message: the worst finding of the first one, and what to do about it. `monitors`: the first that fail. */
export function zoneTexts(
  incident: IncidentSummary,
  zones: readonly ZoneSummary[],
  monitors: readonly MonitorSummary[],
  shortLine: ShortLine,
) {
  const short = (text: string) => shortLine(text, MAX_TEXT_LENGTH)
  const [first] = zones as [ZoneSummary, ...ZoneSummary[]]
  const [worst] = first.problems
  const { monitors: members, zones: count = 0 } = incident
  const isOnly = count === 1
  const failing = members - count
  const of = isOnly ? '' : `For ${first.name}: `
  const names = monitors.map(({ name, recordType }) => short(`${name} ${recordType}`))
  const lines = first.problems.slice(0, MAX_FINDINGS).map(({ level, text }) => `${level}: ${short(text)}`)
  return {
    label: first.health,
    text: short(worst ? `${of}${worst.text}` : `${first.name} is in state ${first.health}.`),
    facts: [
      ...(isOnly
        ? [{ name: 'Findings', value: [...lines, ...more(first.problems.length - lines.length)].join('\n') }]
        : [
            {
              name: 'Zones',
              value: listed(
                zones.map(({ name }) => short(name)),
                count,
              ),
            },
          ]),
      ...(failing > 0 ? [{ name: 'Monitors', value: listed(names, failing) }] : []),
    ],
    remedy: worst ? short(`${of}${worst.advice}`) : null,
  }
}

const listed = (names: readonly string[], count: number) => [...names, ...more(count - names.length)].join(', ')
const more = (count: number): string[] => (count > 0 ? [`and ${count.toLocaleString('en')} more`] : [])
