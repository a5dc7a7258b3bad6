/*
 * Counters, gauges and histograms. Those of prom-client allocate an object and a string per call, which took 3 % of the CPU time
 * of a check, and loading it takes a tenth of the start time. So prom-client is loaded only to write the text (`expose`).
 */

/** A metric with its series, in the format of prom-client's `getMetricsAsJSON`. Processes send it to the supervisor. */
export type MetricFamily = { name: string; help: string; type: string; aggregator: string; values: Series[] }
type Series = { metricName?: string; labels: Labels; value: number }
type Labels = Record<string, string | number>
type Description = { name: string; help: string }

/** The metrics of a process, in the order of their creation. */
export class Registry {
  readonly #metrics: (() => MetricFamily)[] = []

  /** A metric without labels starts at 0; with labels, it has no series until the first value. */
  counter(name: string, help: string, labels: readonly string[] = []): Values {
    return this.#add(new Values('counter', { name, help }, labels))
  }

  gauge(name: string, help: string, labels: readonly string[] = []): Values {
    return this.#add(new Values('gauge', { name, help }, labels))
  }

  /** `bounds`: in seconds, ascending. */
  histogram(name: string, help: string, bounds: readonly number[], labels: readonly string[] = []): Histogram {
    return this.#add(new Histogram({ name, help }, bounds, labels))
  }

  collect(): MetricFamily[] {
    return this.#metrics.map((family) => family())
  }

  #add<M extends { family(): MetricFamily }>(metric: M): M {
    this.#metrics.push(() => metric.family())
    return metric
  }
}

/** A counter or a gauge: a number for each combination of label values. Label values are passed in the order of the labels. */
export class Values {
  readonly #type: 'counter' | 'gauge'
  readonly #description: Description
  readonly #labels: readonly string[]
  readonly #series = new Map<string, { labels: Labels; value: number }>()

  constructor(type: 'counter' | 'gauge', description: Description, labels: readonly string[]) {
    this.#type = type
    this.#description = description
    this.#labels = labels
    if (labels.length === 0) this.set(0)
  }

  add(count: number, ...values: string[]): void {
    this.#seriesOf(values).value += count
  }

  set(value: number, ...values: string[]): void {
    this.#seriesOf(values).value = value
  }

  clear(): void {
    this.#series.clear()
  }

  family(): MetricFamily {
    return { ...this.#description, type: this.#type, aggregator: 'sum', values: [...this.#series.values()].map(copyOf) }
  }

  #seriesOf(values: string[]): { value: number } {
    const key = values.join(' ')
    const existing = this.#series.get(key)
    if (existing) return existing
    const series = { labels: toLabels(this.#labels, values), value: 0 }
    this.#series.set(key, series)
    return series
  }
}

type Buckets = { labels: Labels; counts: number[]; sum: number }

/** Measures durations. */
class Histogram {
  readonly #description: Description
  readonly #bounds: readonly number[]
  readonly #labels: readonly string[]
  readonly #buckets = new Map<string, Buckets>()

  constructor(description: Description, bounds: readonly number[], labels: readonly string[]) {
    this.#description = description
    this.#bounds = bounds
    this.#labels = labels
    if (labels.length === 0) this.#bucketsOf([])
  }

  observe(ms: number, ...values: string[]): void {
    const seconds = ms / 1_000
    const buckets = this.#bucketsOf(values)
    let index = 0
    while (index < this.#bounds.length && seconds > this.#bounds[index]!) index++
    buckets.counts[index]!++
    buckets.sum += seconds
  }

  /** The series exists before its first value, so that rate() sees it. */
  startAtZero(...values: string[]): void {
    this.#bucketsOf(values)
  }

  family(): MetricFamily {
    const values = [...this.#buckets.values()].flatMap((buckets) => this.#series(buckets))
    return { ...this.#description, type: 'histogram', aggregator: 'sum', values }
  }

  #bucketsOf(values: string[]): Buckets {
    const key = values.join(' ')
    const existing = this.#buckets.get(key)
    if (existing) return existing
    const counts = Array<number>(this.#bounds.length + 1).fill(0)
    const buckets: Buckets = { labels: toLabels(this.#labels, values), counts, sum: 0 }
    this.#buckets.set(key, buckets)
    return buckets
  }

  #series({ labels, counts, sum }: Buckets): Series[] {
    const { name } = this.#description
    let total = 0
    const buckets = counts.map((count, index) => {
      total += count
      return { metricName: `${name}_bucket`, labels: { ...labels, le: this.#bounds[index] ?? '+Inf' }, value: total }
    })
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels: { ...labels }, value: sum },
      { metricName: `${name}_count`, labels: { ...labels }, value: total },
    ]
  }
}

const copyOf = ({ labels, value }: Series): Series => ({ labels: { ...labels }, value })
const toLabels = (names: readonly string[], values: readonly string[]): Labels =>
  Object.fromEntries(names.map((name, index) => [name, values[index]!]))

/** The response to a scrape. */
export type Exposition = { contentType: string; text: string }

/** `process`: a label for each series, so that the restart of a process resets only its own counters. */
export type Part = { families: MetricFamily[]; process?: string }

/** The families of several processes as one text, in the format that the `accept` header requests. */
export async function expose(parts: readonly Part[], accept = ''): Promise<Exposition> {
  const { AggregatorRegistry, Registry } = await import('prom-client')
  const isOpenMetrics = accept.includes('application/openmetrics-text')
  const families = parts.map((part) =>
    part.families.map((family) => ({
      ...family,
      name: isOpenMetrics ? openMetricsName(family) : family.name,
      values: withProcessLabel(family, part),
    })),
  )
  const registry = AggregatorRegistry.aggregate(families)
  if (isOpenMetrics) registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE as never)
  return { contentType: registry.contentType, text: await registry.metrics() }
}

/** In OpenMetrics the name of a counter has no suffix. prom-client adds the suffix to its series. */
const openMetricsName = ({ name, type }: MetricFamily) => (type === 'counter' ? name.replace(/_total$/, '') : name)

const withProcessLabel = ({ values }: MetricFamily, { process }: Part) =>
  process === undefined ? values : values.map((value) => ({ ...value, labels: { ...value.labels, process } }))
