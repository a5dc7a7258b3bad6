import { WaitTimeoutError } from './error.ts'
import { type ClientOptions, type RequestOptions, send, sleep } from './send.ts'

/** What an operation takes and returns. The built package has `Operations`, all of them, generated from the OpenAPI document. */
export type Operation = { input: { path?: unknown; query?: unknown; body?: unknown }; output: unknown }

type Present<Part> = [Exclude<Part, undefined>] extends [never] ? object : Exclude<Part, undefined>
type BodyOf<Input> = Input extends { body: infer Body }
  ? { body: Body }
  : Input extends { body?: infer Body }
    ? [Exclude<Body, undefined>] extends [never]
      ? object
      : { body?: Exclude<Body, undefined> }
    : object
/** Parameters of path and query under their names; the content of the request as `body`. */
export type InputOf<O extends Operation> = Present<O['input']['path']> &
  Omit<Present<O['input']['query']>, keyof Present<O['input']['path']>> &
  BodyOf<O['input']>

type ItemOf<Output> = Output extends { data: (infer Item)[]; after: unknown } ? Item : never
type ResultOf<Output> = [ItemOf<Output>] extends [never] ? Promise<Output> : Pages<Output, ItemOf<Output>>
type Method<O extends Operation> =
  object extends InputOf<O>
    ? (input?: InputOf<O>, options?: RequestOptions) => ResultOf<O['output']>
    : (input: InputOf<O>, options?: RequestOptions) => ResultOf<O['output']>

/** One page when awaited, all items when iterated. A request is sent when one of the two begins. */
export interface Pages<Page, Item> extends PromiseLike<Page>, AsyncIterable<Item> {}

type MonitorOf<Ops> = Ops extends { getMonitor: { output: infer Output } } ? Output : never
type JobOf<Ops> = Ops extends { getJob: { output: infer Output } } ? Output : never
type EventOf<Ops> = Ops extends { listEvents: { output: infer Output } } ? ItemOf<Output> : never
type NewMonitorsOf<Ops> = Ops extends { createMonitorsInBulk: { input: { body: infer Body } } } ? Body : never
type NewMonitorOf<Ops> = NewMonitorsOf<Ops> extends { monitors: (infer Item)[] } ? Item : never

type Waiting = {
  /** When to give up. Default: 600. */
  timeoutSeconds?: number
  /** How long to wait between two requests. Default: 1, and then longer, up to 10. */
  pollSeconds?: number
  signal?: AbortSignal
}
type Following = {
  /** The id of the last event that you read. Without it, events from now on. */
  afterId?: string
  /** How long to wait when there are no further events. Default: 5. */
  pollSeconds?: number
  signal?: AbortSignal
}
type InBulk<Ops> = Omit<NewMonitorsOf<Ops>, 'monitors'> & RequestOptions

export type Helpers<Ops> = {
  /** Creates any number of monitors, 1,000 in a request (all or none of these), and yields them in the same order. */
  createMonitors(
    monitors: Iterable<NewMonitorOf<Ops>> | AsyncIterable<NewMonitorOf<Ops>>,
    options?: InBulk<Ops>,
  ): AsyncGenerator<MonitorOf<Ops>>
  /** Yields every event after a position, in the order of recording, and then each new one. Ends only with its signal. */
  followEvents(options?: Following): AsyncGenerator<EventOf<Ops>>
  /** Resolves when the monitor is VALID. Rejects with a `WaitTimeoutError` that says what is missing. */
  waitUntilValid(monitor: string, options?: Waiting): Promise<MonitorOf<Ops>>
  /** Resolves when the job ended, in whichever state. */
  waitForJob(job: string, options?: Waiting): Promise<JobOf<Ops>>
}
export type ClientOf<Ops extends { [Name in keyof Ops]: Operation }> = {
  [Name in keyof Ops]: Method<Ops[Name]>
} & Helpers<Ops>

/** The shapes that the helpers below rely on. */
type Page = { data: { id: string }[]; after: string | null; has_more: boolean }
type Monitor = { id: string; state: string; reason?: { text: string } | null }
type Job = { id: string; state: string; done: number; total: number | null }
type Calls = Record<string, (input: object, options?: RequestOptions) => Promise<unknown>>

const MAX_BULK = 1_000

/** @param routes method and path of each operation, such as `GET /monitors/{monitor}` */
export function clientOf<Ops extends { [Name in keyof Ops]: Operation }>(
  routes: Record<keyof Ops, string>,
  options: ClientOptions,
): ClientOf<Ops> {
  const calls: Calls = {}
  for (const [name, route] of Object.entries<string>(routes)) {
    const [path = '', method = 'GET'] = route.split(' ')
    calls[name] = (input = {}, request = {}) => {
      const { body, ...query } = input as Record<string, unknown>
      const filled = path.replace(/\{(\w+)\}/g, (_, parameter: string) => {
        const value = query[parameter]
        delete query[parameter]
        if (value === undefined || value === null || value === '') throw new TypeError(`${parameter} is missing.`)
        return encodeURIComponent(String(value))
      })
      const get = (more: object) => send(options, { method, path: filled, query: { ...query, ...more }, body }, request)
      // A promise that sends nothing before it is used: a list that is iterated begins with a page of 100.
      return name.startsWith('list') ? (pagesOf(get) as unknown as Promise<unknown>) : get({})
    }
  }
  return { ...calls, ...helpersOf(calls) } as unknown as ClientOf<Ops>
}

function pagesOf(get: (query: object) => Promise<unknown>): Pages<unknown, unknown> {
  return {
    // biome-ignore lint/suspicious/noThenProperty: it is a promise on purpose
    then: (resolved, rejected) => get({}).then(resolved, rejected),
    async *[Symbol.asyncIterator]() {
      for (let after: string | null | undefined; after !== null; ) {
        const page = (await get(after === undefined ? { limit: 100 } : { limit: 100, after })) as Partial<Page>
        yield* page.data ?? []
        after = page.after ?? null
      }
    },
  }
}

function helpersOf(calls: Calls) {
  return {
    async *createMonitors(
      monitors: Iterable<object> | AsyncIterable<object>,
      { signal, idempotencyKey, ...options }: RequestOptions = {},
    ) {
      let chunk: object[] = []
      let number = 0
      const create = async () => {
        // One key for each request, the same when the whole is repeated.
        const key = idempotencyKey === undefined ? {} : { idempotencyKey: `${idempotencyKey}-${number++}` }
        const body = { ...options, monitors: chunk }
        chunk = []
        return (await calls.createMonitorsInBulk!({ body }, { ...(signal && { signal }), ...key })) as Monitor[]
      }
      for await (const monitor of monitors) if (chunk.push(monitor) === MAX_BULK) yield* await create()
      if (chunk.length > 0) yield* await create()
    },

    async *followEvents({ afterId, pollSeconds = 5, signal }: Following = {}) {
      const request = signal ? { signal } : {}
      const read = (query: object) => calls.listEvents!({ limit: 100, ...query }, request) as Promise<Page>
      let position = afterId
      if (position === undefined) {
        const newest = await read({ order_by: 'recorded', order_way: 'desc', limit: 1 })
        position = newest.data[0]?.id
      }
      for (;;) {
        const page = await read(position === undefined ? { order_by: 'recorded' } : { after_id: position })
        for (const event of page.data) {
          yield event
          position = event.id
        }
        if (!page.has_more) await sleep(1_000 * pollSeconds, signal)
      }
    },

    async waitUntilValid(monitor: string, options: Waiting = {}) {
      const read = () => calls.getMonitor!({ monitor, include: ['reason'] }, options) as Promise<Monitor>
      const isDone = ({ state }: Monitor) => state === 'VALID'
      const said = ({ state, reason }: Monitor) => `${monitor} is ${state}${reason ? `: ${reason.text}` : '.'}`
      return await poll(read, isDone, said, options)
    },

    async waitForJob(job: string, options: Waiting = {}) {
      const read = () => calls.getJob!({ job }, options) as Promise<Job>
      const isDone = ({ state }: Job) => state !== 'queued' && state !== 'running'
      const said = ({ state, done, total }: Job) => `${job} is ${state}, ${done} of ${total ?? 'unknown'} done.`
      return await poll(read, isDone, said, options)
    },
  }
}

async function poll<T>(
  read: () => Promise<T>,
  isDone: (value: T) => boolean,
  said: (value: T) => string,
  { timeoutSeconds = 600, pollSeconds, signal }: Waiting,
): Promise<T> {
  const end = Date.now() + 1_000 * timeoutSeconds
  for (let seconds = pollSeconds ?? 1; ; seconds = pollSeconds ?? Math.min(10, seconds * 1.5)) {
    const value = await read()
    if (isDone(value)) return value
    if (Date.now() + 1_000 * seconds > end) throw new WaitTimeoutError(said(value), value)
    await sleep(1_000 * seconds, signal)
  }
}
