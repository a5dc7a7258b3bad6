import { withDatabase } from './open.ts'

/** Opening the database for a command brings it up to date. */
export async function migrateDatabase(): Promise<void> {
  await withDatabase(async () => void process.stdout.write('The database is up to date.\n'))
}
