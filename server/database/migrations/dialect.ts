/** The words of a migration where the two engines differ. */
export type Dialect = {
  ENGINE: 'sqlite' | 'postgres'
  INTEGER: 'integer' | 'bigint'
  BLOB: 'blob' | 'bytea'
  /** Text that both engines sort by its bytes, so that an index finds the values that begin with a prefix. */
  SORTED_TEXT: string
  /** A primary key that the database generates in ascending order. */
  SERIAL: string
  /** Ends a table: strict types. */
  STRICT: string
  /** Ends a table that is stored in the order of its primary key. */
  CLUSTERED: string
  /** Primary key of a table of tenants' rows. On PostgreSQL it includes the organization (docs/decisions/0016-organization-in-every-key.md). */
  tenantKey: (columns: string) => string
  /** Foreign key to the `tenantKey('id')` of another table. */
  tenantReference: (column: string, table: string, onDelete?: 'on delete cascade') => string
}

export type Migration = {
  name: string
  statements: (dialect: Dialect) => string[]
  /**
   * How many migrations a program must know to work with the database afterwards. 0 for a migration that only adds. A migration that
   * removes or renames gives the number of the migration since which nothing uses what it removes, or `itself`.
   */
  needs?: Needs | Record<Dialect['ENGINE'], Needs>
}
type Needs = number | 'itself'

export const DIALECTS: Record<'sqlite' | 'postgres', Dialect> = {
  sqlite: {
    ENGINE: 'sqlite',
    INTEGER: 'integer',
    BLOB: 'blob',
    SORTED_TEXT: 'text',
    SERIAL: 'integer primary key autoincrement',
    STRICT: 'strict',
    CLUSTERED: 'strict, without rowid',
    tenantKey: (columns) => `primary key (${columns})`,
    tenantReference: (column, table, onDelete) => `foreign key (${column}) references ${table} (id) ${onDelete ?? ''}`,
  },
  postgres: {
    ENGINE: 'postgres',
    INTEGER: 'bigint',
    BLOB: 'bytea',
    SORTED_TEXT: 'text collate "C"',
    SERIAL: 'bigint generated always as identity primary key',
    STRICT: '',
    CLUSTERED: '',
    // `id` comes first, so that the key also finds a row by its id alone.
    tenantKey: (columns) => `primary key (${columns}, organization_id)`,
    tenantReference: (column, table, onDelete) =>
      `foreign key (${column}, organization_id) references ${table} (id, organization_id) ${onDelete ?? ''}`,
  },
}
