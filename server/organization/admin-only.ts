import type { FastifyInstance } from 'fastify'
import { forbidden } from '../problem.ts'

/** In this scope everybody reads, and only keys with the role admin change anything; before a request's content is looked at. */
export function adminsChange(scope: Pick<FastifyInstance, 'addHook'>): void {
  scope.addHook('onRequest', async ({ method, caller }) => {
    if (method === 'GET' || method === 'HEAD' || caller.role === 'admin') return
    throw forbidden('Only an API key with the role admin may change this.')
  })
}
