import { fieldError } from '#contract/field-errors.ts'
import { invalid } from '../problem.ts'
import { SIGNATURE_BYTES, type Signer } from '../seal.ts'
import {
  hasRowsBehind,
  type ListQuery,
  type ListRow,
  type Order,
  type Position,
  readNearbyRows,
  readRows,
  type WithOrderValue,
} from './keyset-query.ts'

/** What a caller may ask of any list. */
export type PageQuery = {
  after?: string
  before?: string
  limit?: number
  order_by?: string
  order_way?: 'asc' | 'desc'
}

export type Page<T> = { limit: number; after: string | null; before: string | null; has_more: boolean; data: T[] }

export type ListOptions<R extends ListRow = ListRow> = {
  seal: Signer
  query: PageQuery
  /** The id column, and what each allowed `order_by` stands for; the first is the default. */
  id: string
  orders: Record<string, Order>
  /** What the cursor is bound to: the list, the organization and the filters. */
  scope: unknown
  /** Where the next rows of the order may hold too few: `all` of them without filters, and what is read then `instead`. */
  sparse?: { all: ListQuery<R>; instead: { rows: ListQuery<R>; id: string; order: Order } } | undefined
}

/**
 * One page by key, never by offset: its cost grows with neither depth nor length. `rows` selects and filters; this adds
 * the order, the place to start and the limit. Throws a 400 for a cursor that is altered or of another query.
 */
export async function listPage<R extends ListRow>(rows: ListQuery<R>, options: ListOptions<R>): Promise<Page<R>> {
  const { query, seal, id, sparse } = options
  const limit = query.limit ?? 20
  const orderBy = resolveOrderBy(options)
  const cursors = cursorsOf(seal, JSON.stringify([options.scope, orderBy, query.order_way ?? 'asc']))
  const backward = query.before !== undefined
  const given = query.before ?? query.after
  const from = given === undefined ? null : cursors.read(backward ? 'before' : 'after', given)

  const isDescending = query.order_way === 'desc'
  const inOrder = { rows, id, order: options.orders[orderBy]!, isDescending }
  const wanted = { from, backward, limit: limit + 1 }
  const nearby = sparse && (await readNearbyRows(inOrder, sparse.all, wanted))
  const list = sparse && !nearby ? { ...sparse.instead, isDescending } : inOrder
  const found = nearby ?? (await readRows(list, wanted))
  const page = found.slice(0, limit)
  const goesOn = found.length > limit
  // On the other side of the cursor lies whatever is there now: usually the page that we come from.
  const isNear = from !== null && (await hasRowsBehind(list, { from, backward }, nearby && sparse?.all))
  // What few have may be gone behind the cursor, as from those who delete page by page.
  const isBehind = isNear ?? (await hasRowsBehind({ ...sparse!.instead, isDescending }, { from, backward }))
  if (backward) page.reverse()
  const [hasBefore = false, hasAfter = false] = backward ? [goesOn, isBehind] : [isBehind, goesOn]
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

/** The name of the order asked for, or of the first. Throws a 400 where the place to start from is named twice. */
export function resolveOrderBy({ query, orders }: Pick<ListOptions, 'query' | 'orders'>): string {
  if (query.after !== undefined && query.before !== undefined) {
    throw invalid({ before: fieldError('two_cursors') })
  }
  return query.order_by ?? Object.keys(orders)[0]!
}

const positionOf = ({ id, page_value = id }: ListRow & WithOrderValue): Position => ({ id, value: page_value })

type Direction = 'after' | 'before'

/** Opaque tokens: a direction and a position, behind a signature that binds them to the list, its filters and its order. */
function cursorsOf(seal: Signer, context: string) {
  const signed = (payload: string) => `${context}\n${payload}`
  return {
    write(direction: Direction, { value, id }: Position): string {
      const payload = JSON.stringify([direction, value, id])
      return Buffer.concat([seal.sign(signed(payload)), Buffer.from(payload)]).toString('base64url')
    },
    /** Throws a 400 for a token that is not exactly one that this list gave out for this direction. */
    read(direction: Direction, cursor: string): Position {
      const octets = Buffer.from(cursor, 'base64url')
      const payload = octets.toString('utf8', SIGNATURE_BYTES)
      const isOurs = seal.isSigned(signed(payload), octets.subarray(0, SIGNATURE_BYTES))
      // Decoding forgives what an altered cursor may hold; only the exact token that was given out is good.
      const isExact = octets.toString('base64url') === cursor
      const [given, value, id] = isOurs && isExact ? JSON.parse(payload) : []
      if (given !== direction) {
        throw invalid({
          [direction]: fieldError('invalid_cursor'),
        })
      }
      return { value, id }
    },
  }
}
