import { type AliasedExpression, type Expression, type RawBuilder, sql } from 'kysely'
import { fieldError } from '#contract/field-errors.ts'
import { SIGNATURE_BYTES, type Signer } from '../keyring.ts'
import { invalid } from '../problem.ts'

/** The query parameters of every list. */
export type PageQuery = {
  after?: string
  before?: string
  limit?: number
  order_by?: string
  order_way?: 'asc' | 'desc'
}

export type Page<T> = { limit: number; after: string | null; before: string | null; has_more: boolean; data: T[] }

/** Every listed row has an id, which breaks ties of the order. */
export type ListRow = { id: string }
/** What a list needs of a query, whatever its tables are. */
export type ListQuery<R> = {
  select<V, A extends string>(column: AliasedExpression<V, A>): ListQuery<R & Record<A, V>>
  clearSelect(): ListQuery<unknown>
  where(condition: Expression<boolean>): ListQuery<R>
  orderBy(expression: Expression<unknown>): ListQuery<R>
  limit(limit: number): ListQuery<R>
  offset(offset: number): ListQuery<R>
  execute(): Promise<R[]>
}

/**
 * `column`: the rows are ordered by it, then by id. Nulls are last in both directions. `above` and `below` filter that column. They
 * are part of the order because a cursor between them replaces one of the two.
 */
export type Order = { column: string; isNullable?: boolean; above?: Bound; below?: Bound }
type Bound = number | string | undefined

export type ListOptions<R extends ListRow = ListRow> = {
  keyring: Signer
  query: PageQuery
  /** The id column, and the order for each allowed `order_by`; the first is the default. */
  id: string
  orders: Record<string, Order>
  /** What a cursor is valid for: the list, the organization and the filters. */
  scope: unknown
  /**
   * For filters that may match few of the next rows in the order. `all`: the list without filters, of which a bounded number of rows is
   * scanned. `instead`: the query that reads the index of the filter if the scan finds too few.
   */
  sparse?: { all: ListQuery<ListRow>; instead: { rows: ListQuery<R>; id: string; order: Order } } | undefined
}

/**
 * Keyset pagination: a page costs the same at any depth and length of the list. `rows` selects and filters; this adds the order,
 * the position and the limit. Throws a 400 for a cursor that was changed or that belongs to another query.
 */
export async function listPage<R extends ListRow>(rows: ListQuery<R>, options: ListOptions<R>): Promise<Page<R>> {
  const { query, keyring, id, sparse } = options
  const limit = query.limit ?? 20
  const orderBy = resolveOrderBy(options)
  const cursors = cursorsOf(keyring, JSON.stringify([options.scope, orderBy, query.order_way ?? 'asc']))
  const backward = query.before !== undefined
  const cursor = query.before ?? query.after
  const from = cursor === undefined ? null : cursors.read(backward ? 'before' : 'after', cursor)

  const isDescending = query.order_way === 'desc'
  const inOrder = { rows, id, order: options.orders[orderBy]!, isDescending }
  const read = { from, backward, limit: limit + 1 }
  const scanned = sparse && (await scanRows(inOrder, sparse.all, read))
  const list = sparse && !scanned ? { ...sparse.instead, isDescending } : inOrder
  const found = scanned ?? (await readRows(list, read))
  const page = fittingRows(found.slice(0, limit))
  const hasMore = found.length > page.length
  // A page on the other side of the cursor exists if it holds a row now. Usually it is the page that the caller comes from.
  const isNearBehind = from !== null && (await hasRowsBehind(list, { from, backward }, scanned && sparse?.all))
  const isBehind = isNearBehind ?? (await hasRowsBehind({ ...sparse!.instead, isDescending }, { from, backward }))
  if (backward) page.reverse()
  const [hasBefore = false, hasAfter = false] = backward ? [hasMore, isBehind] : [isBehind, hasMore]
  const first = page.length > 0 ? positionOf(page[0]!) : from
  const last = page.length > 0 ? positionOf(page.at(-1)!) : from
  return {
    limit,
    after: hasAfter && last ? cursors.write('after', last) : null,
    before: hasBefore && first ? cursors.write('before', first) : null,
    has_more: hasAfter,
    data: page,
  }
}

/** Characters of a page; a page with fewer rows than its limit is followed by another one. A row of a hostile TXT has up to 320 KiB. */
const MAX_PAGE_LENGTH = 4 * 1024 * 1024

/** At least one. */
function fittingRows<R extends object>(rows: R[]): R[] {
  let length = 0
  const end = rows.findIndex((row, index) => {
    for (const value of Object.values(row)) if (typeof value === 'string') length += value.length
    return index > 0 && length > MAX_PAGE_LENGTH
  })
  return end < 0 ? rows : rows.slice(0, end)
}

/** The requested order, or the default. Throws a 400 for a query with both cursors. */
export function resolveOrderBy({ query, orders }: Pick<ListOptions, 'query' | 'orders'>): string {
  if (query.after !== undefined && query.before !== undefined) throw invalid({ before: fieldError('two_cursors') })
  return query.order_by ?? Object.keys(orders)[0]!
}

/** The value of the order's column in a row, and its id. */
type Position = { value: string | number | null; id: string }
/** Undefined if the rows are ordered by id. */
type WithOrderValue = { page_value?: string | number | null | undefined }

const positionOf = ({ id, page_value = id }: ListRow & WithOrderValue): Position => ({ id, value: page_value })

type Direction = 'after' | 'before'

/** Opaque cursors: a direction and a position, with a signature that binds them to the list, its filters and its order. */
function cursorsOf(keyring: Signer, context: string) {
  const signed = (payload: string) => `${context}\n${payload}`
  return {
    write(direction: Direction, { value, id }: Position): string {
      const payload = JSON.stringify([direction, value, id])
      return Buffer.concat([keyring.sign(signed(payload)), Buffer.from(payload)]).toString('base64url')
    },
    /** Throws a 400 for every cursor but those that `write` returned for this direction. */
    read(direction: Direction, cursor: string): Position {
      const bytes = Buffer.from(cursor, 'base64url')
      const payload = bytes.toString('utf8', SIGNATURE_BYTES)
      const isSigned = keyring.verify(signed(payload), bytes.subarray(0, SIGNATURE_BYTES))
      // The decoder ignores characters that are not base64url, so the text is compared too.
      const isExact = bytes.toString('base64url') === cursor
      const [signedDirection, value, id] = isSigned && isExact ? JSON.parse(payload) : []
      if (signedDirection !== direction) throw invalid({ [direction]: fieldError('invalid_cursor') })
      return { value, id }
    },
  }
}

type List<R extends ListRow> = { rows: ListQuery<R>; id: string; order: Order; isDescending: boolean }
type Start = { from: Position | null; backward: boolean }

/** Up to `limit` rows from a position on, in the direction of reading. */
async function readRows<R extends ListRow>(
  list: List<R>,
  { limit, ...start }: Start & { limit: number },
): Promise<(R & WithOrderValue)[]> {
  const found: (R & WithOrderValue)[] = []
  for (const hasValue of segmentsFrom(list, start)) {
    if (found.length >= limit) break
    found.push(...(await readSegment(list, start, { hasValue, limit: limit - found.length })))
  }
  return found
}

/** Rows of the unfiltered list that are scanned for each row of a page, and for a page at most. */
export const SCANNED_ROWS_PER_RESULT = 100
const MAX_SCANNED_ROWS = 10_000

/**
 * As `readRows`, but scans only the next rows of `all`, the list without filters. Undefined if these hold too few and are not the
 * last ones.
 */
async function scanRows<R extends ListRow>(
  list: List<R>,
  all: ListQuery<ListRow>,
  { limit, ...start }: Start & { limit: number },
): Promise<(R & WithOrderValue)[] | undefined> {
  const [hasValue = true, ...otherSegments] = segmentsFrom(list, start)
  const offset = Math.min(limit * SCANNED_ROWS_PER_RESULT, MAX_SCANNED_ROWS)
  const until = await positionAfter({ ...list, rows: all }, start, hasValue, offset)
  const rows = await readSegment(list, start, { hasValue, limit, until })
  return rows.length >= limit || (!until && otherSegments.length === 0) ? rows : undefined
}

/**
 * Whether there is a row at the position or on the other side of it. With `all`, the list without filters, only its nearest rows
 * are scanned: undefined if none of these matches and there are more.
 */
async function hasRowsBehind<R extends ListRow>(
  list: List<R>,
  start: Start,
  all?: ListQuery<ListRow>,
): Promise<boolean | undefined> {
  const behind = { from: start.from, backward: !start.backward }
  for (const hasValue of segmentsFrom(list, behind)) {
    const until = all && (await positionAfter({ ...list, rows: all }, behind, hasValue, 10 * SCANNED_ROWS_PER_RESULT))
    if ((await readSegment(list, behind, { hasValue, limit: 1, isProbe: true, until })).length > 0) return true
    if (until) return undefined
  }
  return false
}

/** The position of the row `offset` rows further on; undefined past the last row. */
async function positionAfter(
  list: List<ListRow>,
  start: Start,
  hasValue: boolean,
  offset: number,
): Promise<Position | undefined> {
  const [row] = await readSegment(list, start, { hasValue, limit: 1, offset })
  return row && { id: row.id, value: row.page_value ?? null }
}

/** Rows with a value and rows without are two segments, each in the order of an index. Segments before the start are left out. */
function segmentsFrom({ order }: { order: Order }, { from, backward }: Start): boolean[] {
  if (!order.isNullable) return [true]
  const all = order.above !== undefined || order.below !== undefined ? [true] : backward ? [false, true] : [true, false]
  return from === null ? all : all.slice(all.indexOf(from.value !== null))
}

/** `until`: the last position to read. `isProbe`: reads ids only, and the row at the start too. */
type Part = { hasValue: boolean; limit: number; offset?: number; until?: Position | undefined; isProbe?: boolean }

async function readSegment<R extends ListRow>(
  list: List<R>,
  start: Start,
  part: Part,
): Promise<(R & WithOrderValue)[]> {
  const { order, rows } = list
  const isDescending = list.isDescending !== start.backward
  const isById = order.column === list.id
  const [id, column, way] = [sql.ref(list.id), sql.ref(order.column), sql.raw(isDescending ? 'desc' : 'asc')]
  const withValue = isById ? rows : rows.select(column.as('page_value'))
  const selected = part.isProbe ? rows.clearSelect().select(id.as('id')) : withValue
  let query = selected as ListQuery<R & WithOrderValue>
  for (const condition of conditionsOf(list, start, part, isDescending)) query = query.where(condition)
  if (part.hasValue && !isById) query = query.orderBy(sql`${column} ${way}`)
  query = query.orderBy(sql`${id} ${way}`).limit(part.limit)
  return await (part.offset === undefined ? query : query.offset(part.offset)).execute()
}

/** Where a segment begins and ends. A start between the order's own bounds replaces one of them. */
function conditionsOf<R extends ListRow>(
  list: List<R>,
  { from }: Start,
  { hasValue, isProbe, until }: Part,
  isDescending: boolean,
): RawBuilder<boolean>[] {
  const { order } = list
  const isById = order.column === list.id
  const [id, column] = [sql.ref(list.id), sql.ref(order.column)]
  const beyond = sql.raw(`${isDescending ? '<' : '>'}${isProbe ? '=' : ''}`)
  const upTo = sql.raw(isDescending ? '>=' : '<=')
  const startsHere = from !== null && (!order.isNullable || (from.value !== null) === hasValue)
  if (!hasValue) {
    const conditions: RawBuilder<boolean>[] = [sql`${column} is null`]
    if (startsHere) conditions.push(sql`${id} ${beyond} ${from.id}`)
    if (until) conditions.push(sql`${id} ${upTo} ${until.id}`)
    return conditions
  }
  const conditions: RawBuilder<boolean>[] = []
  if (order.isNullable) conditions.push(sql`${column} is not null`)
  if (order.above !== undefined && (!startsHere || isDescending)) conditions.push(sql`${column} > ${order.above}`)
  if (order.below !== undefined && (!startsHere || !isDescending)) conditions.push(sql`${column} < ${order.below}`)
  if (until && isById) conditions.push(sql`${id} ${upTo} ${until.id}`)
  else if (until) conditions.push(sql`(${column}, ${id}) ${upTo} (${until.value}, ${until.id})`)
  if (startsHere && isById) conditions.push(sql`${id} ${beyond} ${from.id}`)
  else if (startsHere) conditions.push(sql`(${column}, ${id}) ${beyond} (${from.value}, ${from.id})`)
  return conditions
}
