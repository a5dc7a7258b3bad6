import { sql } from 'kysely'
import { secondFactorContext } from '../accounts/second-factor.ts'
import { channelContext } from '../alerts/channel.ts'
import type { Database } from '../database/database.ts'
import { responseContext, resultContext } from '../http/idempotency-store.ts'
import type { Keyring } from '../keyring.ts'
import { pageTokenContext } from '../waits/setup-pages.ts'
import { headersContext, secretContext } from '../webhooks/webhook.ts'

const BATCH_SIZE = 200

type Key = Record<string, string>
/** `contexts`: for each encrypted column, the context of its value. */
type EncryptedTable = { table: string; key: readonly string[]; contexts: Record<string, (key: Key) => string> }

const storedRequest = (key: Key) => ({ organizationId: key.organization_id!, keyId: key.key_id!, name: key.name! })

const ENCRYPTED_TABLES: readonly EncryptedTable[] = [
  {
    table: 'webhooks',
    key: ['id'],
    contexts: {
      secret: ({ id }) => secretContext(id!),
      previous_secret: ({ id }) => secretContext(id!),
      headers: ({ id }) => headersContext(id!),
    },
  },
  { table: 'channels', key: ['organization_id', 'id'], contexts: { secrets: ({ id }) => channelContext(id!) } },
  { table: 'setup_pages', key: ['organization_id', 'id'], contexts: { token: ({ id }) => pageTokenContext(id!) } },
  {
    table: 'idempotent_requests',
    key: ['organization_id', 'key_id', 'name'],
    contexts: {
      body: (key) => responseContext(storedRequest(key)),
      result: (key) => resultContext(storedRequest(key)),
    },
  },
  {
    table: 'second_factors',
    key: ['person_id'],
    contexts: { sealed: ({ person_id }) => secondFactorContext(person_id!) },
  },
]

/**
 * Re-encrypts, in batches, every value that another key than the current one encrypted, and returns how many. A value that changes
 * meanwhile is skipped, because anyone who writes it uses the current key. Can be interrupted and run again.
 */
export async function reencrypt(
  db: Database,
  keyring: Keyring,
  onBatch: () => Promise<void> = async () => {},
): Promise<number> {
  let count = 0
  for (const table of ENCRYPTED_TABLES) {
    for (let after: readonly string[] | undefined = table.key.map(() => ''); after; ) {
      const batch: Batch = await reencryptBatch(db, keyring, table, after)
      count += batch.count
      after = batch.lastKey
      await onBatch()
    }
  }
  return count
}

/** `lastKey`: undefined after the last batch. */
type Batch = { count: number; lastKey: string[] | undefined }

async function reencryptBatch(
  db: Database,
  keyring: Keyring,
  { table, key, contexts }: EncryptedTable,
  after: readonly string[],
): Promise<Batch> {
  const columns = (names: readonly string[]) => sql.join(names.map((name) => sql.ref(name)))
  const { rows } = await sql<Record<string, unknown>>`
    select ${columns([...key, ...Object.keys(contexts)])} from ${sql.table(table)}
    where (${columns(key)}) > (${sql.join(after)}) order by ${columns(key)} limit ${BATCH_SIZE}`.execute(db)
  let count = 0
  for (const row of rows) {
    const isThisRow = sql.join(
      key.map((name) => sql`${sql.ref(name)} = ${row[name]}`),
      sql` and `,
    )
    for (const [column, contextOf] of Object.entries(contexts)) {
      const encrypted = row[column] as Uint8Array | null
      if (encrypted === null || keyring.isCurrent(encrypted)) continue
      const context = contextOf(row as Key)
      const updated =
        await sql`update ${sql.table(table)} set ${sql.ref(column)} = ${keyring.encrypt(keyring.decrypt(encrypted, context), context)}
        where ${isThisRow} and ${sql.ref(column)} = ${encrypted} returning 1 as updated`.execute(db)
      count += updated.rows.length
    }
  }
  const last = rows.at(-1)
  return { count, lastKey: rows.length === BATCH_SIZE ? key.map((name) => last![name] as string) : undefined }
}
