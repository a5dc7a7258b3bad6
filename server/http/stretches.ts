import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import type { Database } from '../database/database.ts'
import { runPrepared } from '../database/prepared.ts'
import type { Tables } from '../database/schema.ts'
import type { Position } from './cursors.ts'

export type Builder<R extends Listed> = SelectQueryBuilder<Tables, never, R>

/** Whatever is listed has an id, which breaks ties. */
export type Listed = { id: string }

/** A query that selects and filters, compiled once for each shape: see `runPrepared`. */
type PreparedRows<R extends Listed> = {
  db: Database
  name: string
  shape: unknown
  values: readonly unknown[]
  /** Its parameter has the type of `shape`. */
  build(shape: unknown): Builder<R>
}
/** A list's rows. */
export type Rows<R extends Listed> = Builder<R> | PreparedRows<R>

/**
 * `column`: what is ordered by, besides the id that breaks ties. Nulls sort last in both directions. `above` and `below`:
 * only rows whose value lies between; kept here because a cursor within them says more.
 */
type Limit = number | string | undefined
export type Order = { column: string; isNullable?: boolean; above?: Limit; below?: Limit }

export type List<R extends Listed> = { rows: Rows<R>; id: string; order: Order; isDescending: boolean }
/** What a row is ordered by; undefined where that is its id. */
export type Valued = { page_value?: string | number | null | undefined }

type Start = { from: Position | null; backward: boolean }
/** A condition on where rows lie. Its SQL is made only where the statement is not kept yet. */
type Bound = { name: string; values: readonly unknown[]; where: (words: Words) => RawBuilder<boolean> }
type Words = { id: RawBuilder<unknown>; column: RawBuilder<unknown>; beyond: RawBuilder<unknown> }

/** Up to `limit` rows from a position on, in the direction of reading. */
export async function rowsFrom<R extends Listed>(
  list: List<R>,
  { limit, ...start }: Start & { limit: number },
): Promise<(R & Valued)[]> {
  const found: (R & Valued)[] = []
  for (const hasValue of segmentsFrom(list, start)) {
    if (found.length >= limit) break
    found.push(...(await segment(list, start, { hasValue, limit: limit - found.length })))
  }
  return found
}

/** Whether there is a row at the position or on the other side of it. */
export async function isAnyBehind<R extends Listed>(list: List<R>, start: Start): Promise<boolean> {
  const behind = { from: start.from, backward: !start.backward }
  for (const hasValue of segmentsFrom(list, behind)) {
    if ((await segment(list, behind, { hasValue, limit: 1, isProbe: true })).length > 0) return true
  }
  return false
}

/** Rows with a value and rows without are two segments, each in the order of an index. Those before the start are left out. */
function segmentsFrom({ order }: { order: Order }, { from, backward }: Start): boolean[] {
  if (!order.isNullable) return [true]
  const all = order.above !== undefined || order.below !== undefined ? [true] : backward ? [false, true] : [true, false]
  return from === null ? all : all.slice(all.indexOf(from.value !== null))
}

type Part = { hasValue: boolean; limit: number; isProbe?: boolean }

async function segment<R extends Listed>(list: List<R>, start: Start, part: Part): Promise<(R & Valued)[]> {
  const { order, rows } = list
  const isDescending = list.isDescending !== start.backward
  const bounds = boundsOf(list, start, part, isDescending)
  const isById = order.column === list.id
  const complete = (base: Builder<R>) => {
    const [id, column, way] = [sql.ref(list.id), sql.ref(order.column), sql.raw(isDescending ? 'desc' : 'asc')]
    const beyond = sql.raw(`${isDescending ? '<' : '>'}${part.isProbe ? '=' : ''}`)
    const valued = isById ? base : base.select(column.as('page_value') as never)
    let query = (part.isProbe ? base.clearSelect().select(id.as('id') as never) : valued) as Builder<R & Valued>
    for (const { where } of bounds) query = query.where(where({ id, column, beyond }))
    if (part.hasValue && !isById) query = query.orderBy(sql`${column} ${way}`)
    return query.orderBy(sql`${id} ${way}`).limit(part.limit)
  }
  if (!('build' in rows)) return await complete(rows).execute()
  const { hasValue, isProbe } = part
  return await runPrepared(rows.db, {
    name: rows.name,
    // All that `complete` goes by.
    shape: {
      rows: rows.shape,
      id: list.id,
      order,
      isDescending,
      hasValue,
      isProbe,
      bounds: bounds.map(({ name }) => name),
    },
    values: [...rows.values, ...bounds.flatMap(({ values }) => values), part.limit],
    build: (shape) => complete(rows.build(shape.rows)),
  })
}

/** Where a segment begins and ends. A start within the order's own bounds takes the place of one of them. */
function boundsOf<R extends Listed>(
  { id: idColumn, order }: List<R>,
  { from }: Start,
  { hasValue }: Part,
  isDescending: boolean,
): Bound[] {
  const isHere = from !== null && (!order.isNullable || (from.value !== null) === hasValue)
  if (!hasValue) {
    const none: Bound = { name: 'null', values: [], where: ({ column }) => sql`${column} is null` }
    if (!isHere) return [none]
    return [none, { name: 'from', values: [from.id], where: ({ id, beyond }) => sql`${id} ${beyond} ${from.id}` }]
  }
  const bounds: Bound[] = []
  if (order.isNullable) bounds.push({ name: 'some', values: [], where: ({ column }) => sql`${column} is not null` })
  const limit = (name: 'above' | 'below', value: Limit) => {
    if (value === undefined) return
    const side = name === 'above' ? '>' : '<'
    bounds.push({ name, values: [value], where: ({ column }) => sql`${column} ${sql.raw(side)} ${value}` })
  }
  if (!isHere || isDescending) limit('above', order.above)
  if (!isHere || !isDescending) limit('below', order.below)
  if (isHere && order.column === idColumn) {
    bounds.push({ name: 'from', values: [from.id], where: ({ id, beyond }) => sql`${id} ${beyond} ${from.id}` })
  } else if (isHere) {
    const where: Bound['where'] = ({ id, column, beyond }) =>
      sql`(${column}, ${id}) ${beyond} (${from.value}, ${from.id})`
    bounds.push({ name: 'from', values: [from.value, from.id], where })
  }
  return bounds
}
