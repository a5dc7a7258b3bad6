import { invalid } from '../problem.ts'
import type { Seal } from '../seal.ts'
import { cursorsOf, type Position } from './cursors.ts'
import { isAnyBehind, type Listed, type Order, type Rows, rowsFrom, type Valued } from './stretches.ts'

/** What a caller may ask of any list. */
export type PageQuery = {
  after?: string
  before?: string
  limit?: number
  order_by?: string
  order_way?: 'asc' | 'desc'
}

export type Page<T> = { limit: number; after: string | null; before: string | null; has_more: boolean; data: T[] }

/** What a cursor is bound to: `scope` names the list, the organization and the filters. */
export type Bounds = { seal: Seal; query: PageQuery; orders: Record<string, Order>; scope: unknown }

export type ListOptions = Bounds & {
  /** The id column; `orders`: what each allowed `order_by` stands for, the first is the default. */
  id: string
}

/** One page by key, never by offset: its cost grows with neither depth nor length. Throws as `startOf` does. */
export async function listPage<R extends Listed>(rows: Rows<R>, options: ListOptions): Promise<Page<R>> {
  const { data, ends } = await readPage(rows, options, startOf(options))
  return { ...headOf(options, ends), data }
}

/** Where the page begins: after or before this row, or at the end of the list. Throws a 400 for a cursor that is altered or of another query. */
export function startOf(bounds: Bounds): Position | null {
  const { after, before } = bounds.query
  const given = before ?? after
  return given === undefined ? null : cursorsFor(bounds).read(before === undefined ? 'after' : 'before', given)
}

/** What lies before and after a page, and its first and last row: what its cursors are made of. */
export type Ends = { first: Position | null; last: Position | null; hasBefore: boolean; hasAfter: boolean }

/** `rows` selects and filters; this adds the order, the place to start and the limit. */
export async function readPage<R extends Listed>(
  rows: Rows<R>,
  { query, id, orders }: Omit<ListOptions, 'seal' | 'scope'>,
  from: Position | null,
): Promise<{ data: R[]; ends: Ends }> {
  const limit = limitOf(query)
  const backward = query.before !== undefined
  const list = { rows, id, order: orders[orderOf({ query, orders })]!, isDescending: query.order_way === 'desc' }
  const found = await rowsFrom(list, { from, backward, limit: limit + 1 })
  const data = found.slice(0, limit)
  const goesOn = found.length > limit
  // On the other side of the cursor lies whatever is there now: usually the page that we come from.
  const isBehind = from !== null && (await isAnyBehind(list, { from, backward }))
  if (backward) data.reverse()
  const [hasBefore, hasAfter] = backward ? [goesOn, isBehind] : [isBehind, goesOn]
  const first = data.length > 0 ? positionOf(data[0]!) : from
  const last = data.length > 0 ? positionOf(data.at(-1)!) : from
  return { data, ends: { first, last, hasBefore, hasAfter } }
}

/** A page but for its data. */
export function headOf(bounds: Bounds, { first, last, hasBefore, hasAfter }: Ends): Omit<Page<unknown>, 'data'> {
  const cursors = cursorsFor(bounds)
  return {
    limit: limitOf(bounds.query),
    after: hasAfter && last ? cursors.write('after', last) : null,
    before: hasBefore && first ? cursors.write('before', first) : null,
    has_more: hasAfter,
  }
}

const limitOf = ({ limit = 20 }: PageQuery) => limit

const cursorsFor = ({ seal, query, orders, scope }: Bounds) =>
  cursorsOf(seal, JSON.stringify([scope, orderOf({ query, orders }), query.order_way ?? 'asc']))

/** The name of the order asked for, or of the first. Throws a 400 where the place to start from is named twice. */
export function orderOf({ query, orders }: Pick<Bounds, 'query' | 'orders'>): string {
  if (query.after !== undefined && query.before !== undefined) {
    throw invalid({ before: 'cannot be given together with after; send one of them.' })
  }
  return query.order_by ?? Object.keys(orders)[0]!
}

const positionOf = ({ id, page_value = id }: Listed & Valued): Position => ({ id, value: page_value })
