import createClient from 'openapi-fetch'
import type { paths } from './api.ts'

/** What the types must allow. It is compiled, and not run. */
const client = createClient<paths>({ baseUrl: 'http://127.0.0.1:8080' })

await client.GET('/monitors', { params: { query: { state: 'VALID', metadata: { plan: 'big' } } } })
const filter = { is_active: true, tag: 'prod', 'metadata.plan': 'big' }
await client.POST('/jobs', { body: { action: 'check', filter } })
await client.POST('/views', { body: { name: 'Big', filter } })
