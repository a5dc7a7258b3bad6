import { useQueryClient } from '@tanstack/react-query'
import { Link, useRouter } from '@tanstack/react-router'
import { BookOpen, ChevronsUpDown, LogOut, Monitor, Moon, Plus, Search, Sun, UserRound } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { switchOrganization, useSession, useSignOut } from '../session.tsx'
import { type Theme, useTheme } from '../theme.ts'
import { Button } from '../ui/button.tsx'
import { Logo } from '../ui/logo.tsx'
import { Menu, MenuItem, MenuLabel, MenuSeparator } from '../ui/menu.tsx'
import { navigationItems } from './navigation.ts'
import { usePalette } from './palette-provider.tsx'

export function Sidebar() {
  const { open } = usePalette()
  const { me } = useSession()
  return (
    <div className="flex h-full flex-col gap-4 px-3 py-4">
      <div className="px-2">
        <Logo />
      </div>
      <OrganizationMenu />
      <button
        type="button"
        onClick={open}
        className="flex h-8 items-center gap-2 rounded-md border border-line bg-surface px-2.5 text-sm text-faint hover:border-edge"
      >
        <Search className="size-3.5" aria-hidden="true" />
        <span className="flex-1 text-left">Search</span>
        <kbd className="font-sans text-2xs">{/Mac|iP/.test(navigator.platform) ? '⌘K' : 'Ctrl K'}</kbd>
      </button>
      <nav aria-label="Main" className="flex flex-1 flex-col gap-0.5 overflow-y-auto">
        {navigationItems(me).map(({ to, label, icon: Icon }) => (
          <Link
            key={to}
            to={to}
            activeOptions={{ exact: to === '/', includeSearch: false }}
            className="flex h-8 items-center gap-2.5 rounded-md px-2.5 text-sm font-medium text-soft hover:bg-sunken hover:text-ink"
            activeProps={{ className: '!bg-accent-wash !text-accent-ink', 'aria-current': 'page' }}
          >
            <Icon className="size-4" strokeWidth={2} aria-hidden="true" />
            {label}
          </Link>
        ))}
      </nav>
      <a
        href="/docs"
        className="flex h-8 shrink-0 items-center gap-2.5 rounded-md px-2.5 text-sm font-medium text-soft hover:bg-sunken hover:text-ink"
      >
        <BookOpen className="size-4" strokeWidth={2} aria-hidden="true" />
        Documentation
      </a>
      <UserMenu />
    </div>
  )
}

const NewOrganizationDialog = lazy(async () => ({
  default: (await import('./new-organization.tsx')).NewOrganizationDialog,
}))

/** A menu of organizations, or only the name where there is one. */
function OrganizationMenu() {
  const { me, organization } = useSession()
  const queries = useQueryClient()
  const router = useRouter()
  const [isCreating, setCreating] = useState(false)
  if (me.organizations.length === 1 && !me.server.sign_up) {
    return <p className="truncate px-2.5 text-sm font-medium text-soft">{organization.name}</p>
  }
  const change = (id: string) => {
    switchOrganization(queries, id)
    void router.navigate({ to: '/' })
  }
  return (
    <>
      <Menu
        align="start"
        trigger={
          <Button className="w-full justify-between" size="sm">
            <span className="truncate">{organization.name}</span>
            <ChevronsUpDown className="text-faint" />
          </Button>
        }
      >
        <MenuLabel>Organizations</MenuLabel>
        {me.organizations.map(({ id, name }) => (
          <MenuItem key={id} isSelected={id === organization.id} onSelect={() => change(id)}>
            {name}
          </MenuItem>
        ))}
        {me.server.sign_up && (
          <MenuItem icon={Plus} onSelect={() => setCreating(true)}>
            New organization
          </MenuItem>
        )}
      </Menu>
      {isCreating && (
        <Suspense>
          <NewOrganizationDialog onClose={() => setCreating(false)} />
        </Suspense>
      )}
    </>
  )
}

const THEMES: { value: Theme; label: string; icon: typeof Sun }[] = [
  { value: 'system', label: 'System', icon: Monitor },
  { value: 'light', label: 'Light', icon: Sun },
  { value: 'dark', label: 'Dark', icon: Moon },
]

function UserMenu() {
  const { me, organization } = useSession()
  const [theme, setTheme] = useTheme()
  const signOut = useSignOut()
  return (
    <Menu
      align="start"
      trigger={
        <button type="button" className="flex items-center gap-2.5 rounded-md px-2 py-1.5 text-left hover:bg-sunken">
          <span
            className="grid size-7 shrink-0 place-items-center rounded-full bg-accent-wash text-xs font-semibold text-accent-ink uppercase"
            aria-hidden="true"
          >
            {me.person.name.slice(0, 1)}
          </span>
          <span className="min-w-0 flex-1">
            <span className="block truncate text-sm font-medium">{me.person.name}</span>
            <span className="block truncate text-xs text-faint">
              {organization.role}
              <span className="sr-only">: account and appearance</span>
            </span>
          </span>
          <ChevronsUpDown className="size-3.5 text-faint" aria-hidden="true" />
        </button>
      }
    >
      <MenuLabel>{me.person.email}</MenuLabel>
      <MenuItem icon={UserRound} render={<Link to="/profile" />}>
        Your account
      </MenuItem>
      <MenuSeparator />
      <MenuLabel>Appearance</MenuLabel>
      {THEMES.map(({ value, label, icon }) => (
        <MenuItem key={value} icon={icon} isSelected={theme === value} onSelect={() => setTheme(value)}>
          {label}
        </MenuItem>
      ))}
      <MenuSeparator />
      <MenuItem icon={LogOut} onSelect={() => void signOut()}>
        Sign out
      </MenuItem>
    </Menu>
  )
}
