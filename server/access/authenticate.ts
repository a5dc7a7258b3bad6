import type { FastifyRequest } from 'fastify'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { forbidden } from '../problem.ts'
import { findLiveKey, type KeyRole, touchKey } from './store.ts'

/** On whose behalf a request acts. */
export type Caller = { organizationId: string; role: KeyRole; keyId: string }

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller
  }
}

/** Who sends a request, by its `X-Api-Key`; undefined without a live key. Looked up each time: revoking holds at once. */
export function authenticator({ db, clock }: { db: Database; clock: Clock }) {
  const touch = touchKey(db)
  return async (request: FastifyRequest): Promise<Caller | undefined> => {
    const sent = request.headers['x-api-key']
    if (typeof sent !== 'string') return undefined
    const now = clock.now()
    const key = await findLiveKey(db, sent, now)
    if (!key) return undefined
    await touch(key, now)
    return { organizationId: key.organization_id, role: key.role, keyId: key.id }
  }
}

/** Throws 403 where the key may only read. */
export function permit({ role }: Caller, method: string): void {
  if (role === 'read' && method !== 'GET' && method !== 'HEAD') {
    throw forbidden('This API key may only read; use a key with the role write or admin.')
  }
}
