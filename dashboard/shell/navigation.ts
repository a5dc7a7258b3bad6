import type { LinkProps } from '@tanstack/react-router'
import {
  Activity,
  BellRing,
  FolderTree,
  Gauge,
  Globe,
  type LucideIcon,
  Radar,
  Server,
  Settings,
  Users,
  Webhook,
} from 'lucide-react'
import type { Me } from '#contract/account.ts'

export type NavigationItem = { to: NonNullable<LinkProps['to']>; label: string; icon: LucideIcon }

/** In the order of the sidebar and the command palette. */
const ITEMS: readonly NavigationItem[] = [
  { to: '/', label: 'Overview', icon: Gauge },
  { to: '/monitors', label: 'Monitors', icon: Radar },
  { to: '/zones', label: 'Zones', icon: Globe },
  { to: '/events', label: 'Events', icon: Activity },
  { to: '/groups', label: 'Groups', icon: FolderTree },
  { to: '/alerts', label: 'Alerts', icon: BellRing },
  { to: '/webhooks', label: 'Webhooks', icon: Webhook },
  { to: '/team', label: 'Team', icon: Users },
  { to: '/settings', label: 'Settings', icon: Settings },
]
const SERVER: NavigationItem = { to: '/server', label: 'Server', icon: Server }

export const navigationItems = ({ operator }: Me): readonly NavigationItem[] => (operator ? [...ITEMS, SERVER] : ITEMS)
