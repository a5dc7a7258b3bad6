import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { Mails } from '#contract/account.ts'
import type { Agent, Invitation } from '#contract/agents.ts'
import { api, type Page, type Query } from '../api.ts'

const PAGE = 50

export const agentsQuery = (cursor: Query) =>
  queryOptions({
    queryKey: ['agents', 'list', cursor],
    queryFn: ({ signal }) => api.get<Page<Agent>>('/agents', { limit: PAGE, order_by: 'name', ...cursor }, signal),
    placeholderData: keepPreviousData,
  })

export const invitationsQuery = (cursor: Query) =>
  queryOptions({
    queryKey: ['agents', 'invitations', cursor],
    queryFn: ({ signal }) =>
      api.get<Page<Invitation>>('/agents/invitations', { limit: PAGE, order_way: 'desc', ...cursor }, signal),
    placeholderData: keepPreviousData,
  })

export const mailsQuery = queryOptions({
  queryKey: ['mails'],
  queryFn: ({ signal }) => api.get<Mails>('/dashboard/api/mails', {}, signal),
})
