/*
 * Counters, gauges and histograms. prom-client's own build an object and a text for each call, which took 3 % of the CPU time of
 * a check, and loading it takes a tenth of the start of a process; it writes the text when somebody scrapes (`expose`).
 */

/** A metric with its series, as prom-client's `getMetricsAsJSON` gives it. It travels between processes. */
export type Family = { name: string; help: string; type: string; aggregator: string; values: Series[] }
type Series = { metricName?: string; labels: Labels; value: number }
type Labels = Record<string, string | number>
type About = { name: string; help: string }

/** The metrics of a process, in the order in which they were made. */
export class Registry {
  readonly #metrics: (() => Family)[] = []

  /** `labels`: names of the labels. Without any it begins with 0. */
  counter(name: string, help: string, labels: readonly string[] = []): Numbers {
    return this.#add(new Numbers('counter', { name, help }, labels))
  }

  gauge(name: string, help: string, labels: readonly string[] = []): Numbers {
    return this.#add(new Numbers('gauge', { name, help }, labels))
  }

  /** `bounds`: in seconds, ascending. */
  histogram(name: string, help: string, bounds: readonly number[], labels: readonly string[] = []): Histogram {
    return this.#add(new Histogram({ name, help }, bounds, labels))
  }

  collect(): Family[] {
    return this.#metrics.map((family) => family())
  }

  #add<M extends { family(): Family }>(metric: M): M {
    this.#metrics.push(() => metric.family())
    return metric
  }
}

/** A counter or a gauge: a number for each combination of label values, which are given in the order of the labels. */
export class Numbers {
  readonly #type: 'counter' | 'gauge'
  readonly #about: About
  readonly #labels: readonly string[]
  readonly #numbers = new Map<string, { labels: Labels; value: number }>()

  constructor(type: 'counter' | 'gauge', about: About, labels: readonly string[]) {
    this.#type = type
    this.#about = about
    this.#labels = labels
    if (labels.length === 0) this.set(0)
  }

  add(count: number, ...values: string[]): void {
    this.#at(values).value += count
  }

  set(value: number, ...values: string[]): void {
    this.#at(values).value = value
  }

  /** No series are left. */
  clear(): void {
    this.#numbers.clear()
  }

  family(): Family {
    return { ...this.#about, type: this.#type, aggregator: 'sum', values: [...this.#numbers.values()].map(copyOf) }
  }

  #at(values: string[]): { value: number } {
    const key = values.join(' ')
    const known = this.#numbers.get(key)
    if (known) return known
    const made = { labels: labelled(this.#labels, values), value: 0 }
    this.#numbers.set(key, made)
    return made
  }
}

type Buckets = { labels: Labels; counts: number[]; sum: number }

/** Measures durations. */
class Histogram {
  readonly #about: About
  readonly #bounds: readonly number[]
  readonly #labels: readonly string[]
  readonly #buckets = new Map<string, Buckets>()

  constructor(about: About, bounds: readonly number[], labels: readonly string[]) {
    this.#about = about
    this.#bounds = bounds
    this.#labels = labels
    if (labels.length === 0) this.#at([])
  }

  /** `values`: of the labels, in their order. */
  observe(ms: number, ...values: string[]): void {
    const seconds = ms / 1_000
    const buckets = this.#at(values)
    let at = 0
    while (at < this.#bounds.length && seconds > this.#bounds[at]!) at++
    buckets.counts[at]!++
    buckets.sum += seconds
  }

  family(): Family {
    const values = [...this.#buckets.values()].flatMap((buckets) => this.#series(buckets))
    return { ...this.#about, type: 'histogram', aggregator: 'sum', values }
  }

  #at(values: string[]): Buckets {
    const key = values.join(' ')
    const known = this.#buckets.get(key)
    if (known) return known
    const counts = Array<number>(this.#bounds.length + 1).fill(0)
    const made: Buckets = { labels: labelled(this.#labels, values), counts, sum: 0 }
    this.#buckets.set(key, made)
    return made
  }

  #series({ labels, counts, sum }: Buckets): Series[] {
    const { name } = this.#about
    let total = 0
    const buckets = counts.map((count, at) => {
      total += count
      return { metricName: `${name}_bucket`, labels: { ...labels, le: this.#bounds[at] ?? '+Inf' }, value: total }
    })
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels: { ...labels }, value: sum },
      { metricName: `${name}_count`, labels: { ...labels }, value: total },
    ]
  }
}

const copyOf = ({ labels, value }: Series): Series => ({ labels: { ...labels }, value })
const labelled = (names: readonly string[], values: readonly string[]): Labels =>
  Object.fromEntries(names.map((name, at) => [name, values[at]!]))

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
