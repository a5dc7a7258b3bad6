// Without imports: the supervisor needs no more of the database.

/** The file of an SQLite database, undefined with PostgreSQL. `url`: `sqlite:<path>` or `postgres://…`. */
export function pathOf(url: string): string | undefined {
  return url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : undefined
}
