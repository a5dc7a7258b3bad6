import type { AuditedRequest } from './fixture.ts'

/** The test sends these in this order. */
export const KEY_REQUESTS: AuditedRequest[] = [
  {
    route: 'POST /api-keys',
    request: async (fixture) => {
      const created = await fixture.owner.call('/api-keys', { body: { name: 'Deploy', role: 'write' } })
      fixture.secrets.push(created.body.key)
      fixture.ids.key = created.body.id
      return created
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
    request: async (fixture) => {
      const rotated = await fixture.send('POST', `/api-keys/${fixture.ids.key}/rotate`, { grace_hours: 0 })
      fixture.secrets.push(rotated.body.key)
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
