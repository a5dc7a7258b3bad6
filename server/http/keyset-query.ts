import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import type { Tables } from '../database/schema.ts'

/** Where a page ends: what the row is ordered by, and its id, which breaks ties. */
export type Position = { value: string | number | null; id: string }

export type ListQuery<R extends ListRow> = SelectQueryBuilder<Tables, never, R>

/** Whatever is listed has an id, which breaks ties. */
export type ListRow = { id: string }

/**
 * `column`: what is ordered by, besides the id that breaks ties. Nulls sort last in both directions. `above` and `below`:
 * only rows whose value lies between; kept here because a cursor within them says more.
 */
type Limit = number | string | undefined
export type Order = { column: string; isNullable?: boolean; above?: Limit; below?: Limit }

export type List<R extends ListRow> = { rows: ListQuery<R>; id: string; order: Order; isDescending: boolean }
/** What a row is ordered by; undefined where that is its id. */
export type WithOrderValue = { page_value?: string | number | null | undefined }

type Start = { from: Position | null; backward: boolean }

/** Up to `limit` rows from a position on, in the direction of reading. */
export async function readRows<R extends ListRow>(
  list: List<R>,
  { limit, ...start }: Start & { limit: number },
): Promise<(R & WithOrderValue)[]> {
  const found: (R & WithOrderValue)[] = []
  for (const hasValue of segmentsFrom(list, start)) {
    if (found.length >= limit) break
    found.push(...(await segment(list, start, { hasValue, limit: limit - found.length })))
  }
  return found
}

/** Rows of an order that are looked through for each row of a page, and for any page. */
export const SCANNED_ROWS_PER_RESULT = 100
const MOST_LOOKED_THROUGH = 10_000

/** The same where the next rows of the order hold so many, or are its last ones; else undefined. `all`: the order without filters. */
export async function readNearbyRows<R extends ListRow>(
  list: List<R>,
  all: ListQuery<R>,
  { limit, ...start }: Start & { limit: number },
): Promise<(R & WithOrderValue)[] | undefined> {
  const [hasValue = true, ...others] = segmentsFrom(list, start)
  const offset = Math.min(limit * SCANNED_ROWS_PER_RESULT, MOST_LOOKED_THROUGH)
  const until = await positionAfter({ ...list, rows: all }, start, hasValue, offset)
  const rows = await segment(list, start, { hasValue, limit, until })
  return rows.length >= limit || (!until && others.length === 0) ? rows : undefined
}

/**
 * Whether there is a row at the position or on the other side of it. With `all`, the order without filters, only the nearest are looked
 * through: undefined where none of these is one.
 */
export async function hasRowsBehind<R extends ListRow>(
  list: List<R>,
  start: Start,
  all?: ListQuery<R>,
): Promise<boolean | undefined> {
  const behind = { from: start.from, backward: !start.backward }
  for (const hasValue of segmentsFrom(list, behind)) {
    const until = all && (await positionAfter({ ...list, rows: all }, behind, hasValue, 10 * SCANNED_ROWS_PER_RESULT))
    if ((await segment(list, behind, { hasValue, limit: 1, isProbe: true, until })).length > 0) return true
    if (until) return undefined
  }
  return false
}

/** Of the row that is so many further on; undefined behind the last. */
async function positionAfter<R extends ListRow>(
  list: List<R>,
  start: Start,
  hasValue: boolean,
  offset: number,
): Promise<Position | undefined> {
  const [last] = await segment(list, start, { hasValue, limit: 1, offset })
  return last && { id: last.id, value: last.page_value ?? null }
}

/** Rows with a value and rows without are two segments, each in the order of an index. Those before the start are left out. */
function segmentsFrom({ order }: { order: Order }, { from, backward }: Start): boolean[] {
  if (!order.isNullable) return [true]
  const all = order.above !== undefined || order.below !== undefined ? [true] : backward ? [false, true] : [true, false]
  return from === null ? all : all.slice(all.indexOf(from.value !== null))
}

/** `until`: the last position that is looked at. */
type Part = { hasValue: boolean; limit: number; offset?: number; until?: Position | undefined; isProbe?: boolean }

async function segment<R extends ListRow>(list: List<R>, start: Start, part: Part): Promise<(R & WithOrderValue)[]> {
  const { order, rows } = list
  const isDescending = list.isDescending !== start.backward
  const isById = order.column === list.id
  const [id, column, way] = [sql.ref(list.id), sql.ref(order.column), sql.raw(isDescending ? 'desc' : 'asc')]
  const valued = isById ? rows : rows.select(column.as('page_value') as never)
  let query = (part.isProbe ? rows.clearSelect().select(id.as('id') as never) : valued) as ListQuery<R & WithOrderValue>
  for (const bound of boundsOf(list, start, part, isDescending)) query = query.where(bound)
  if (part.hasValue && !isById) query = query.orderBy(sql`${column} ${way}`)
  query = query.orderBy(sql`${id} ${way}`).limit(part.limit)
  return await (part.offset === undefined ? query : query.offset(part.offset)).execute()
}

/** Where a segment begins and ends. A start within the order's own bounds takes the place of one of them. */
function boundsOf<R extends ListRow>(
  list: List<R>,
  { from }: Start,
  { hasValue, isProbe, until }: Part,
  isDescending: boolean,
): RawBuilder<boolean>[] {
  const { order } = list
  const [id, column] = [sql.ref(list.id), sql.ref(order.column)]
  const beyond = sql.raw(`${isDescending ? '<' : '>'}${isProbe ? '=' : ''}`)
  const upTo = sql.raw(isDescending ? '>=' : '<=')
  const isHere = from !== null && (!order.isNullable || (from.value !== null) === hasValue)
  if (!hasValue) {
    const bounds: RawBuilder<boolean>[] = [sql`${column} is null`]
    if (isHere) bounds.push(sql`${id} ${beyond} ${from.id}`)
    if (until) bounds.push(sql`${id} ${upTo} ${until.id}`)
    return bounds
  }
  const bounds: RawBuilder<boolean>[] = []
  if (order.isNullable) bounds.push(sql`${column} is not null`)
  if (order.above !== undefined && (!isHere || isDescending)) bounds.push(sql`${column} > ${order.above}`)
  if (order.below !== undefined && (!isHere || !isDescending)) bounds.push(sql`${column} < ${order.below}`)
  if (until) {
    bounds.push(
      order.column === list.id
        ? sql`${id} ${upTo} ${until.id}`
        : sql`(${column}, ${id}) ${upTo} (${until.value}, ${until.id})`,
    )
  }
  if (isHere && order.column === list.id) bounds.push(sql`${id} ${beyond} ${from.id}`)
  else if (isHere) bounds.push(sql`(${column}, ${id}) ${beyond} (${from.value}, ${from.id})`)
  return bounds
}
