// No imports: the supervisor uses this without loading the query builder, which takes 12 MB.

/** The file of an SQLite database, undefined with PostgreSQL. `url`: `sqlite:<path>` or `postgres://…`. */
export function sqlitePathOf(url: string): string | undefined {
  return url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : undefined
}
