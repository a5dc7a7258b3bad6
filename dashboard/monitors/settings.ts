import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Group } from '#contract/groups.ts'
import type { Notify, Resolution } from '#contract/monitors.ts'
import type { Subscription } from '#contract/subscription.ts'
import type { Webhook } from '#contract/webhooks.ts'
import { api, type Page } from '../api.ts'
import type { ReceivingWebhooks } from './text.ts'

/**
 * Settings of new monitors. `group` is a slug; empty means the default group. `newGroup` is the name of a group to create.
 * `isWaiting`: a customer still has to create the records.
 */
export type MonitorSettings = {
  group: string
  newGroup: string | undefined
  notify: Notify
  frequency: number
  resolution: Resolution
  isWaiting: boolean
}

const defaultSettings = (group = ''): MonitorSettings => ({
  group,
  newGroup: undefined,
  notify: 'immediately',
  frequency: 5,
  resolution: 'auto',
  isWaiting: false,
})

/** `group`: the initial slug. The frequency is never below the minimum of the plan. */
export function useMonitorSettings(group: string | undefined) {
  const [settings, setSettings] = useState(defaultSettings(group))
  const frequency = Math.max(settings.frequency, useShortestFrequency())
  return [{ ...settings, frequency }, setSettings] as const
}

const MAX_CHOICES = 100

export function useGroups(): Group[] | undefined {
  const { data } = useQuery({
    queryKey: ['groups', 'choice'],
    queryFn: ({ signal }) => api.get<Page<Group>>('/groups', { limit: MAX_CHOICES, order_by: 'name' }, signal),
    staleTime: 60_000,
  })
  return data?.data
}

export function groupName({ group, newGroup }: MonitorSettings, groups: readonly Group[] | undefined): string {
  if (newGroup !== undefined) return newGroup.trim() || 'without a name'
  const chosen = groups?.find(({ slug, is_default }) => (group === '' ? is_default : slug === group))
  return chosen?.name ?? (group || 'Default')
}

/** The webhooks that will receive changes. Undefined while they load. */
export function useReceivingWebhooks({ group, newGroup }: MonitorSettings, groups: readonly Group[] | undefined) {
  const slug = group || groups?.find(({ is_default }) => is_default)?.slug
  const isNew = newGroup !== undefined
  const ofGroup = isNew ? {} : { group: slug }
  const { data } = useQuery({
    queryKey: ['webhooks', 'of-group', isNew ? null : slug],
    queryFn: ({ signal }) =>
      api.get<Page<Webhook>>('/webhooks', { ...ofGroup, is_active: true, limit: MAX_CHOICES }, signal),
    enabled: isNew || slug !== undefined,
    select: ({ data, has_more }): ReceivingWebhooks => {
      // A new group has only the webhooks that receive all groups.
      const webhooks = isNew ? data.filter(({ all_groups }) => all_groups) : data
      return {
        count: webhooks.length,
        isMore: has_more && !isNew,
        paused: webhooks.filter(({ state }) => state === 'paused').length,
      }
    },
  })
  return data
}

/** The minimum check interval of the plan, in minutes. */
export function useShortestFrequency(): number {
  const { data } = useQuery({
    queryKey: ['subscription'],
    queryFn: ({ signal }) => api.get<Subscription>('/organization/subscription', {}, signal),
    staleTime: 300_000,
  })
  return data?.limits.min_frequency ?? 5
}

/** Creates the new group, if any, and returns settings with its slug. */
export async function createNewGroup(settings: MonitorSettings): Promise<MonitorSettings> {
  if (settings.newGroup === undefined) return settings
  const { slug } = await api.post<Group>('/groups', { name: settings.newGroup.trim() })
  return { ...settings, group: slug, newGroup: undefined }
}

/** The settings as API fields. */
export const bodyOf = ({ group, notify, frequency, resolution }: MonitorSettings) => ({
  ...(group ? { group } : {}),
  notify,
  frequency,
  ...(resolution === 'auto' ? {} : { resolution }),
})
