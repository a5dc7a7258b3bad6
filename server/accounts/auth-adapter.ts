import { type CleanedWhere, type CustomAdapter, createAdapterFactory } from 'better-auth/adapters'
import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../database/database.ts'

/**
 * Lets better-auth use our database: one SQL text for both engines, instants in epoch milliseconds and truth values 0 or 1
 * like everywhere else. Each call is one statement, so on SQLite it waits its turn at the one writer.
 */
export function authAdapter(db: Database) {
  return createAdapterFactory({
    config: {
      adapterId: 'zonewatch',
      supportsBooleans: false,
      supportsNumericIds: false,
      transaction: false,
      customTransformInput: ({ data }) => (data instanceof Date ? data.getTime() : data),
      customTransformOutput: ({ data, fieldAttributes }) =>
        fieldAttributes.type === 'date' && typeof data === 'number' ? new Date(data) : data,
    },
    adapter: ({ getFieldName }) => statementsOn(db, (model, field) => getFieldName({ model, field })),
  })
}

function statementsOn(db: Database, columnOf: (model: string, field: string) => string): CustomAdapter {
  // What a row holds, the library's own description of the table says.
  const rowsOf = async <T>(statement: RawBuilder<unknown>) => (await statement.execute(db)).rows as T[]
  const firstOf = async <T>(statement: RawBuilder<unknown>) => (await rowsOf<T>(statement))[0] ?? null

  return {
    create: async ({ model, data }) => {
      const names = sql.join(Object.keys(data).map((name) => sql.ref(name)))
      return (await firstOf<typeof data>(
        sql`insert into ${sql.table(model)} (${names}) values (${sql.join(Object.values(data))}) returning *`,
      ))!
    },
    findOne: ({ model, where }) => firstOf(sql`select * from ${sql.table(model)} where ${all(where)} limit 1`),
    findMany: ({ model, where = [], limit, offset = 0, sortBy }) => {
      const order = sortBy
        ? sql`order by ${sql.ref(columnOf(model, sortBy.field))} ${sql.raw(sortBy.direction === 'desc' ? 'desc' : 'asc')}`
        : sql``
      return rowsOf(sql`select * from ${sql.table(model)} where ${all(where)} ${order} limit ${limit} offset ${offset}`)
    },
    count: async ({ model, where = [] }) => {
      const row = await firstOf<{ count: number }>(
        sql`select count(*) as count from ${sql.table(model)} where ${all(where)}`,
      )
      return row?.count ?? 0
    },
    update: ({ model, where, update }) =>
      firstOf(sql`update ${sql.table(model)} set ${assigned(update)} where ${all(where)} returning *`),
    updateMany: async ({ model, where, update }) => {
      const rows = await rowsOf(
        sql`update ${sql.table(model)} set ${assigned(update)} where ${all(where)} returning 1 as changed`,
      )
      return rows.length
    },
    delete: async ({ model, where }) =>
      void (await sql`delete from ${sql.table(model)} where ${all(where)}`.execute(db)),
    deleteMany: async ({ model, where }) =>
      (await rowsOf(sql`delete from ${sql.table(model)} where ${all(where)} returning 1 as gone`)).length,
    // Of two that take the same row at one moment only one gets it.
    consumeOne: ({ model, where }) => {
      const one = sql`select id from ${sql.table(model)} where ${all(where)} limit 1`
      return firstOf(sql`delete from ${sql.table(model)} where id in (${one}) returning *`)
    },
    incrementOne: ({ model, where, increment, set = {} }) => {
      const sums = Object.entries(increment).map(([name, by]) => sql`${sql.ref(name)} = ${sql.ref(name)} + ${by}`)
      const changes = sql.join([...sums, ...assignments(set)])
      return firstOf(sql`update ${sql.table(model)} set ${changes} where ${all(where)} returning *`)
    },
  }
}

const assigned = (values: unknown) => sql.join(assignments(values as Record<string, unknown>))

const assignments = (values: Record<string, unknown>) =>
  Object.entries(values).map(([name, value]) => sql`${sql.ref(name)} = ${value}`)

function all(where: readonly CleanedWhere[]): RawBuilder<unknown> {
  const parts = (connector: string) => where.filter((each) => each.connector === connector).map(condition)
  const alternatives = parts('OR')
  const conditions = [
    ...parts('AND'),
    ...(alternatives.length > 0 ? [sql`(${sql.join(alternatives, sql` or `)})`] : []),
  ]
  return conditions.length > 0 ? sql.join(conditions, sql` and `) : sql`1 = 1`
}

type Operator = NonNullable<CleanedWhere['operator']>

const COMPARISONS: Partial<Record<Operator, string>> = { lt: '<', lte: '<=', gt: '>', gte: '>=' }

function condition({ field, operator = 'eq', value }: CleanedWhere): RawBuilder<unknown> {
  const column = sql.ref(field)
  const comparison = COMPARISONS[operator]
  if (comparison !== undefined) return sql`${column} ${sql.raw(comparison)} ${value}`
  switch (operator) {
    case 'eq':
      return value === null ? sql`${column} is null` : sql`${column} = ${value}`
    case 'ne':
      return value === null ? sql`${column} is not null` : sql`${column} <> ${value}`
    case 'in':
      return Array.isArray(value) && value.length > 0 ? sql`${column} in (${sql.join(value)})` : sql`1 = 0`
    default:
      throw new Error(`The adapter has no words for the operator ${operator}.`)
  }
}
