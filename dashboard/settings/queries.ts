import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { ApiKey, ServerKeyLimits } from '#contract/api-keys.ts'
import type { AuditEntry } from '#contract/audit-log.ts'
import type { Invoice, Plan, Subscription } from '#contract/subscription.ts'
import { api, type Page, type Query } from '../api.ts'

export const subscriptionQuery = queryOptions({
  queryKey: ['organization', 'subscription'],
  queryFn: ({ signal }) => api.get<Subscription>('/organization/subscription', {}, signal),
})

export const plansQuery = queryOptions({
  queryKey: ['organization', 'plans'],
  queryFn: ({ signal }) => api.get<Page<Plan>>('/organization/plans', {}, signal),
  staleTime: 300_000,
})

export const invoicesQuery = (cursor: Query) =>
  queryOptions({
    queryKey: ['organization', 'invoices', cursor],
    queryFn: ({ signal }) =>
      api.get<Page<Invoice>>('/organization/invoices', { limit: 12, order_way: 'desc', ...cursor }, signal),
    placeholderData: keepPreviousData,
  })

export const keysQuery = queryOptions({
  queryKey: ['keys'],
  queryFn: ({ signal }) => listKeys(signal),
})

/** Only the newest keys are loaded. */
const MAX_KEYS = 1_000

async function listKeys(signal: AbortSignal): Promise<ApiKey[]> {
  const keys: ApiKey[] = []
  let after: string | null = null
  do {
    const query: Query = { limit: 100, order_way: 'desc', after }
    const page: Page<ApiKey> = await api.get('/api-keys', query, signal)
    keys.push(...page.data)
    after = page.after
  } while (after !== null && keys.length < MAX_KEYS)
  return keys
}

export const keyLimitsQuery = queryOptions({
  queryKey: ['keys', 'limits'],
  queryFn: ({ signal }) => api.get<ServerKeyLimits>('/dashboard/api/key-limits', {}, signal),
})

/** The URL parameters of the audit log. */
export type AuditSearch = { [name in 'actor' | 'object' | 'after' | 'before']?: string }

export const auditLogQuery = (search: AuditSearch) =>
  queryOptions({
    queryKey: ['organization', 'audit-log', search],
    queryFn: ({ signal }) =>
      api.get<Page<AuditEntry>>('/audit-log', { ...search, limit: 50, order_way: 'desc' }, signal),
    placeholderData: keepPreviousData,
  })
