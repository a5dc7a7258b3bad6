import { useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import {
  ArrowLeftRight,
  BookOpen,
  FileUp,
  LogOut,
  Monitor,
  Moon,
  Plus,
  Radar,
  Sun,
  UserPlus,
  UserRound,
} from 'lucide-react'
import type { MonitorResponse } from '#contract/monitors.ts'
import { recordName } from '#contract/wording.ts'
import { switchOrganization, useSession, useSignOut } from '../session.tsx'
import { type Theme, useTheme } from '../theme.ts'
import { STATE_DISPLAY, stateTitle } from '../ui/state.tsx'
import { navigationItems } from './navigation.ts'
import type { Command } from './palette-items.ts'

const MONITOR = 'monitor:'

/** The commands of the palette besides monitors, in display order, without those that the role does not permit. */
export function useCommands(): {
  pages: Command[]
  actions: Command[]
  openMonitor: (monitor: MonitorResponse) => Command
} {
  const { me, organization, can } = useSession()
  const queries = useQueryClient()
  const router = useRouter()
  const signOut = useSignOut()
  const [theme, setTheme] = useTheme()
  const pages: Command[] = [
    ...navigationItems(me).map(({ to, label, icon }) => ({
      id: `page:${to}`,
      label,
      keywords: 'go to page',
      icon,
      run: () => router.navigate({ to }),
    })),
    {
      id: 'page:/profile',
      label: 'Your account',
      keywords: 'profile password two factor sessions',
      icon: UserRound,
      run: () => router.navigate({ to: '/profile' }),
    },
    {
      id: 'docs',
      label: 'Documentation',
      keywords: 'help guide reference api docs',
      icon: BookOpen,
      run: () => location.assign('/docs'),
    },
  ]
  const themes: [Theme, string, typeof Sun][] = [
    ['light', 'Light appearance', Sun],
    ['dark', 'Dark appearance', Moon],
    ['system', 'System appearance', Monitor],
  ]
  const actions: (Command | false)[] = [
    can('write') && {
      id: 'new:monitor',
      label: 'New monitor',
      keywords: 'add create watch record',
      icon: Plus,
      run: () => router.navigate({ to: '/monitors/new' }),
    },
    can('write') && {
      id: 'new:import',
      label: 'Import monitors',
      keywords: 'zone file csv bind discover',
      icon: FileUp,
      run: () => router.navigate({ to: '/monitors/import' }),
    },
    can('write') && {
      id: 'new:webhook',
      label: 'New webhook',
      keywords: 'add create connect',
      icon: Plus,
      run: () => router.navigate({ to: '/webhooks', search: { open: 'new' } }),
    },
    can('manage') && {
      id: 'new:invitation',
      label: 'Invite someone',
      keywords: 'team member agent add invitation',
      icon: UserPlus,
      run: () => router.navigate({ to: '/team', search: { open: 'invite' } }),
    },
    ...me.organizations
      .filter(({ id }) => id !== organization.id)
      .map(({ id, name }) => ({
        id: `organization:${id}`,
        label: `Switch to ${name}`,
        keywords: 'organization change',
        icon: ArrowLeftRight,
        run: () => {
          switchOrganization(queries, id)
          return router.navigate({ to: '/' })
        },
      })),
    ...themes
      .filter(([value]) => value !== theme)
      .map(([value, label, icon]) => ({
        id: `theme:${value}`,
        label,
        keywords: 'theme mode colours',
        icon,
        run: () => setTheme(value),
      })),
    { id: 'sign-out', label: 'Sign out', keywords: 'log out leave', icon: LogOut, run: signOut },
  ]
  return {
    pages,
    actions: actions.filter((action) => action !== false),
    openMonitor: ({ id, subdomain, domain, record_type, state, is_active }) => ({
      id: MONITOR + id,
      label: recordName({ subdomain, domain }),
      hint: `${record_type} · ${is_active ? STATE_DISPLAY[state].label : 'Disabled'}`,
      ...(is_active && { title: stateTitle(state) }),
      isCode: true,
      icon: is_active ? STATE_DISPLAY[state].icon : Radar,
      run: () => router.navigate({ to: '/monitors/$monitor', params: { monitor: id } }),
    }),
  }
}

/** The command for a monitor that was opened before. */
export function useRecentMonitor(): (recent: { id: string; label: string }) => Command | undefined {
  const router = useRouter()
  return ({ id, label }) =>
    id.startsWith(MONITOR)
      ? {
          id,
          label,
          isCode: true,
          icon: Radar,
          run: () => router.navigate({ to: '/monitors/$monitor', params: { monitor: id.slice(MONITOR.length) } }),
        }
      : undefined
}
