import type { AuditedRequest } from './audited-world.ts'

/** In this order. */
export const OF_KEYS: AuditedRequest[] = [
  {
    route: 'POST /api-keys',
    request: async (given) => {
      const made = await given.owner.call('/api-keys', { body: { name: 'Deploy', role: 'write' } })
      given.secrets.push(made.body.key)
      given.ids.key = made.body.id
      return made
    },
    entry: {
      action: 'api_key.created',
      by: 'person',
      label: 'Deploy',
      after: { name: 'Deploy', role: 'write', expires: null },
    },
  },
  {
    route: 'PATCH /api-keys/:key',
    request: ({ send, ids }) => send('PATCH', `/api-keys/${ids.key}`, { name: 'Deploy', limits: { read: 60 } }),
    entry: { action: 'api_key.updated', label: 'Deploy', before: {}, after: { limits: { read: 60 } } },
  },
  {
    route: 'POST /api-keys/:key/rotate',
    request: async (given) => {
      const rotated = await given.send('POST', `/api-keys/${given.ids.key}/rotate`, { grace_hours: 0 })
      given.secrets.push(rotated.body.key)
      return rotated
    },
    entry: { action: 'api_key.rotated', label: 'Deploy', after: { previous_expires: null } },
  },
  {
    route: 'DELETE /api-keys/:key',
    request: ({ owner, ids }) => owner.call(`/api-keys/${ids.key}`, { method: 'DELETE' }),
    entry: { action: 'api_key.revoked', by: 'person', label: 'Deploy', before: { name: 'Deploy', role: 'write' } },
  },
]
