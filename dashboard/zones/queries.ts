import { keepPreviousData, type QueryClient, queryOptions } from '@tanstack/react-query'
import type { Incident } from '#contract/incidents.ts'
import type { Monitor } from '#contract/monitors.ts'
import type { Zone, ZoneEvent, ZoneFinding } from '#contract/zones.ts'
import { api, type Page, type Query } from '../api.ts'

const PAGE_SIZE = 25
/** Looks come every hour, and within minutes while something waits for its confirmation. */
const REFRESH_MS = 10_000

export const zonesQuery = ({ health, after, before }: Query) =>
  queryOptions({
    queryKey: ['zones', 'list', health, after, before],
    queryFn: ({ signal }) =>
      api.get<Page<Zone>>('/zones', { limit: PAGE_SIZE, order_by: 'name', health, after, before }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  })

export const zonePath = (zone: string) => `/zones/${encodeURIComponent(zone)}`

export const zoneQuery = (zone: string) =>
  queryOptions({
    queryKey: ['zones', 'one', zone],
    queryFn: ({ signal }) => api.get<Zone>(zonePath(zone), {}, signal),
    refetchInterval: REFRESH_MS,
  })

/** A page with at most one zone, so that a zone that does not exist is no error. */
export const zoneByNameQuery = (name: string) =>
  queryOptions({
    queryKey: ['zones', 'by name', name],
    queryFn: ({ signal }) => api.get<Page<Zone>>('/zones', { name, limit: 1 }, signal),
  })

export const findingsQuery = (zone: string) =>
  queryOptions({
    queryKey: ['zones', 'findings', zone],
    queryFn: ({ signal }) => api.get<Page<ZoneFinding>>(`${zonePath(zone)}/findings`, { limit: 100 }, signal),
    refetchInterval: REFRESH_MS,
  })

export const incidentsOfZoneQuery = (zone_id: string) =>
  queryOptions({
    queryKey: ['incidents', 'of zone', zone_id],
    queryFn: ({ signal }) => api.get<Page<Incident>>('/incidents', { zone_id, limit: 5, order_way: 'desc' }, signal),
    refetchInterval: REFRESH_MS,
  })

export const zoneEventsQuery = (zone: string) =>
  queryOptions({
    queryKey: ['zones', 'events', zone],
    queryFn: ({ signal }) =>
      api.get<Page<ZoneEvent>>(`${zonePath(zone)}/events`, { limit: 10, order_way: 'desc' }, signal),
    refetchInterval: REFRESH_MS,
  })

export const monitorsOfZoneQuery = (name: string) =>
  queryOptions({
    queryKey: ['monitors', 'of zone', name],
    queryFn: ({ signal }) =>
      api.get<Page<Monitor>>('/monitors', { domain: name, limit: PAGE_SIZE, order_by: 'subdomain' }, signal),
  })

export const refreshZones = (queries: QueryClient) => queries.invalidateQueries({ queryKey: ['zones'] })
