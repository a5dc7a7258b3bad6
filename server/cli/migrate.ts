import { withDatabase } from './prepare-database.ts'

/** `withDatabase` runs the migrations. */
export async function migrateDatabase(): Promise<void> {
  await withDatabase(async () => void process.stdout.write('The database is up to date.\n'))
}
