import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Group } from '#contract/groups.ts'
import type { Notify } from '#contract/monitors.ts'
import type { Subscription } from '#contract/subscription.ts'
import type { Webhook } from '#contract/webhooks.ts'
import { api, type Page } from '../api.ts'
import type { Listeners } from './new-words.ts'

/** How new monitors are watched. `isWaiting`: for records that a customer still has to create. `group` is a slug; empty: the default group. `newGroup`: the name of one that is still to be made. */
export type WatchSettings = {
  group: string
  newGroup: string | undefined
  notify: Notify
  frequency: number
  isWaiting: boolean
}

const settingsFor = (group = ''): WatchSettings => ({
  group,
  newGroup: undefined,
  notify: 'immediately',
  frequency: 5,
  isWaiting: false,
})

/** `group`: a slug to begin with. The frequency is never one that the plan does not allow. */
export function useWatchSettings(group: string | undefined) {
  const [settings, setSettings] = useState(settingsFor(group))
  const frequency = Math.max(settings.frequency, useShortestFrequency())
  return [{ ...settings, frequency }, setSettings] as const
}

const MOST = 100

export function useGroups(): Group[] | undefined {
  const { data } = useQuery({
    queryKey: ['groups', 'choice'],
    queryFn: ({ signal }) => api.get<Page<Group>>('/groups', { limit: MOST, order_by: 'name' }, signal),
    staleTime: 60_000,
  })
  return data?.data
}

/** The name of the group that was chosen, for sentences. */
export function groupName({ group, newGroup }: WatchSettings, groups: readonly Group[] | undefined): string {
  if (newGroup !== undefined) return newGroup.trim() || 'of your own'
  const chosen = groups?.find(({ slug, is_default }) => (group === '' ? is_default : slug === group))
  return chosen?.name ?? (group || 'Default')
}

/** The webhooks that will receive changes. Undefined while that is being asked. */
export function useListeners({ group, newGroup }: WatchSettings, groups: readonly Group[] | undefined) {
  const slug = group || groups?.find(({ is_default }) => is_default)?.slug
  const isNew = newGroup !== undefined
  const ofGroup = isNew ? {} : { group: slug }
  const { data } = useQuery({
    queryKey: ['webhooks', 'of-group', isNew ? null : slug],
    queryFn: ({ signal }) => api.get<Page<Webhook>>('/webhooks', { ...ofGroup, is_active: true, limit: MOST }, signal),
    enabled: isNew || slug !== undefined,
    select: ({ data, has_more }): Listeners => {
      // A new group has those that receive all groups.
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

/** The shortest time between two checks that the plan allows. */
export function useShortestFrequency(): number {
  const { data } = useQuery({
    queryKey: ['subscription'],
    queryFn: ({ signal }) => api.get<Subscription>('/organization/subscription', {}, signal),
    staleTime: 300_000,
  })
  return data?.limits.min_frequency ?? 5
}

/** Makes the new group where there is one; what comes back names only groups that exist. */
export async function withGroupMade(settings: WatchSettings): Promise<WatchSettings> {
  if (settings.newGroup === undefined) return settings
  const { slug } = await api.post<Group>('/groups', { name: settings.newGroup.trim() })
  return { ...settings, group: slug, newGroup: undefined }
}

/** As the API takes them. */
export const bodyOf = ({ group, notify, frequency }: WatchSettings) => ({
  ...(group ? { group } : {}),
  notify,
  frequency,
})
