import { type SelectQueryBuilder, sql } from 'kysely'
import type { Tables } from '../database/schema.ts'
import { invalid } from '../problem.ts'
import type { Seal } from '../seal.ts'

/** What a caller may ask of any list. */
export type PageQuery = {
  after?: string
  before?: string
  limit?: number
  order_by?: string
  order_way?: 'asc' | 'desc'
}

/** `column`: what is ordered by, besides the id that breaks ties. Nulls sort last in both directions. */
export type Order = { column: string; isNullable?: boolean }

export type Page<T> = { limit: number; after: string | null; before: string | null; has_more: boolean; data: T[] }

type Row = { id: string; order_value: string | number | null }
type Position = { value: string | number | null; id: string }

export type ListOptions = {
  seal: Seal
  query: PageQuery
  /** The id column, and what each allowed `order_by` stands for; the first is the default. `id` itself needs no column. */
  id: string
  orders: Record<string, Order>
  /** What the cursor is bound to: the list, the organization and the filters. */
  scope: unknown
}

/**
 * One page by key, never by offset: its cost grows with neither depth nor length. `base` selects and filters; this adds
 * the order, the place to start and the limit. Throws a 400 for a cursor that is altered or of another query.
 */
export async function listPage<R extends object>(
  base: SelectQueryBuilder<Tables, never, R>,
  options: ListOptions,
): Promise<Page<R>> {
  const { query, orders, seal } = options
  const limit = query.limit ?? 20
  const orderBy = query.order_by ?? Object.keys(orders)[0]!
  const order = Object.hasOwn(orders, orderBy) ? orders[orderBy] : undefined
  if (!order) throw invalid({ order_by: `must be one of ${Object.keys(orders).join(', ')}.` })
  if (query.after !== undefined && query.before !== undefined) {
    throw invalid({ before: 'cannot be given together with after; send one of them.' })
  }
  const context = JSON.stringify([options.scope, orderBy, query.order_way ?? 'asc'])
  const cursors = cursorsOf(seal, context)
  const backward = query.before !== undefined
  const given = query.before ?? query.after
  const from = given === undefined ? null : cursors.read(backward ? 'before' : 'after', given)

  const isDescending = query.order_way === 'desc'
  const list = { base, id: options.id, order, isDescending }
  const found = await rowsFrom(list, { from, backward, limit: limit + 1 })
  const rows = found.slice(0, limit)
  const goesOn = found.length > limit
  // Behind us lies whatever there is on the other side of the cursor: usually the page that we come from.
  const hasBehind =
    from !== null && (await rowsFrom(list, { from, backward: !backward, limit: 1, inclusive: true })).length > 0
  if (backward) rows.reverse()
  const [hasBefore, hasAfter] = backward ? [goesOn, hasBehind] : [hasBehind, goesOn]
  const first = rows[0] ?? from
  const last = rows.at(-1) ?? from
  return {
    limit,
    after: hasAfter && last ? cursors.write('after', positionOf(last)) : null,
    before: hasBefore && first ? cursors.write('before', positionOf(first)) : null,
    has_more: hasAfter,
    data: rows as unknown as R[],
  }
}

type List<R extends object> = {
  base: SelectQueryBuilder<Tables, never, R>
  id: string
  order: Order
  isDescending: boolean
}
type Stretch = { from: Position | null; backward: boolean; limit: number; inclusive?: boolean }

/** Up to `limit` rows from a position on, in the direction of reading. */
async function rowsFrom<R extends object>(
  list: List<R>,
  { from, backward, limit, inclusive }: Stretch,
): Promise<Row[]> {
  const id = sql.ref(list.id)
  const column = sql.ref(list.order.column)
  const descending = list.isDescending !== backward
  const way = sql.raw(descending ? 'desc' : 'asc')
  const beyond = sql.raw(`${descending ? '<' : '>'}${inclusive ? '=' : ''}`)
  const isById = list.order.column === list.id

  // Rows with a value and rows without are two stretches, each in the order of an index.
  const segments = list.order.isNullable ? (backward ? [false, true] : [true, false]) : [true]
  const start = from && list.order.isNullable && from.value === null ? segments.indexOf(false) : segments.indexOf(true)
  const rows: Row[] = []
  for (const [index, hasValue] of segments.entries()) {
    if (rows.length >= limit || (from && index < start)) continue
    let query = list.base.select([id.as('id'), column.as('order_value')] as never)
    if (list.order.isNullable)
      query = query.where(hasValue ? sql<boolean>`${column} is not null` : sql<boolean>`${column} is null`)
    if (from && index === start) {
      query =
        isById || !hasValue
          ? query.where(sql<boolean>`${id} ${beyond} ${from.id}`)
          : query.where(sql<boolean>`(${column}, ${id}) ${beyond} (${from.value}, ${from.id})`)
    }
    if (hasValue && !isById) query = query.orderBy(sql`${column} ${way}`)
    const found = await query
      .orderBy(sql`${id} ${way}`)
      .limit(limit - rows.length)
      .execute()
    rows.push(...(found as unknown as Row[]))
  }
  return rows
}

const positionOf = (row: Row | Position): Position => ({
  id: row.id,
  value: 'value' in row ? row.value : row.order_value,
})

/** Opaque tokens: a direction and a position, with a signature that binds them to the list, its filters and its order. */
function cursorsOf(seal: Seal, context: string) {
  const signed = (payload: string) => `${context}\n${payload}`
  return {
    write(direction: 'after' | 'before', { value, id }: Position): string {
      const payload = JSON.stringify([direction, value, id])
      return `${Buffer.from(payload).toString('base64url')}.${seal.sign(signed(payload)).toString('base64url')}`
    },
    read(direction: 'after' | 'before', cursor: string): Position {
      const [encoded = '', signature = ''] = cursor.split('.')
      const payload = Buffer.from(encoded, 'base64url').toString()
      const isOurs = seal.isSigned(signed(payload), Buffer.from(signature, 'base64url'))
      // Decoding forgives what an altered cursor may hold; only the exact token that was given out is good.
      const canonical = `${Buffer.from(payload).toString('base64url')}.${Buffer.from(signature, 'base64url').toString('base64url')}`
      const [given, value, id] = isOurs && canonical === cursor ? JSON.parse(payload) : []
      if (given !== direction) {
        throw invalid({
          [direction]: 'is not a cursor of this list with these filters and this order; restart from the first page.',
        })
      }
      return { value, id }
    },
  }
}
