import type { FastifyRequest } from 'fastify'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { forbidden, unauthorized } from '../problem.ts'
import { findLiveKey, type KeyRole } from './store.ts'

/** On whose behalf a request acts. */
export type Caller = { organizationId: string; role: KeyRole; keyId: string }

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller
  }
}

/** Puts `caller` on the request by its `X-Api-Key`; throws 401 without a live key, 403 where the key may only read. */
export function authenticator({ db, clock }: { db: Database; clock: Clock }) {
  return async (request: FastifyRequest): Promise<void> => {
    const sent = request.headers['x-api-key']
    const key = typeof sent === 'string' ? await findLiveKey(db, sent, clock.now()) : undefined
    if (!key) throw unauthorized()
    if (key.role === 'read' && request.method !== 'GET' && request.method !== 'HEAD') {
      throw forbidden('This API key may only read; use a key with the role write or admin.')
    }
    request.caller = { organizationId: key.organization_id, role: key.role, keyId: key.id }
  }
}
