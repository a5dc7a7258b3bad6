import type { Family } from './families.ts'

/** What is answered to a scrape. */
export type Exposition = { contentType: string; text: string }

/** `process`: a label that each of its series gets, so that the restart of one process resets its own counters only. */
export type Part = { families: Family[]; process?: string }

/** The families of several processes as one text, in the format that `accept` asks for. */
export async function expose(parts: readonly Part[], accept = ''): Promise<Exposition> {
  const { AggregatorRegistry, Registry } = await import('prom-client')
  const isOpen = accept.includes('application/openmetrics-text')
  const families = parts.map((part) =>
    part.families.map((family) => ({
      ...family,
      name: isOpen ? openName(family) : family.name,
      values: seriesOf(family, part),
    })),
  )
  const registry = AggregatorRegistry.aggregate(families)
  if (isOpen) registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE as never)
  return { contentType: registry.contentType, text: await registry.metrics() }
}

/** OpenMetrics names a counter without its suffix, and prom-client adds the suffix to each series again. */
const openName = ({ name, type }: Family) => (type === 'counter' ? name.replace(/_total$/, '') : name)

const seriesOf = ({ values }: Family, { process }: Part) =>
  process === undefined ? values : values.map((value) => ({ ...value, labels: { ...value.labels, process } }))
