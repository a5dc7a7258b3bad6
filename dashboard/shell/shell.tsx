import { Dialog } from '@base-ui/react/dialog'
import { useSuspenseQuery } from '@tanstack/react-query'
import { Outlet, useRouterState } from '@tanstack/react-router'
import { Menu, Search } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { useIsSessionExpired } from '../account/expired-session.ts'
import { useLive } from '../live.ts'
import { meQuery, useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Logo } from '../ui/logo.tsx'
import { Page, Skeleton } from '../ui/page.tsx'
import { ConnectionNote } from './connection-note.tsx'
import { PaletteProvider, usePalette } from './palette-provider.tsx'
import { Sidebar } from './sidebar.tsx'

// Rarely needed, and their forms are not part of the first load.
const NoOrganization = lazy(async () => ({ default: (await import('./no-organization.tsx')).NoOrganization }))

const DeletionNote = lazy(async () => ({ default: (await import('./deletion-note.tsx')).DeletionNote }))

const SignInAgain = lazy(async () => ({ default: (await import('../account/sign-in-again.tsx')).SignInAgain }))

export function Shell() {
  const { data: me } = useSuspenseQuery(meQuery)
  // The user just signed out, and the sign-in page loads.
  if (!me) return null
  if (me.organizations.length > 0) return <Frame />
  return (
    <Suspense>
      <NoOrganization me={me} />
    </Suspense>
  )
}

/** The frame of every page with a session. */
function Frame() {
  const { organization } = useSession()
  useLive(organization.id)
  const isSessionExpired = useIsSessionExpired()
  return (
    <PaletteProvider>
      {isSessionExpired && (
        <Suspense>
          <SignInAgain />
        </Suspense>
      )}
      <a
        href="#content"
        className="fixed top-2 left-2 z-60 -translate-y-16 rounded-md bg-accent px-3 py-2 text-on-accent focus:translate-y-0"
      >
        Skip to content
      </a>
      <div className="min-h-dvh bg-canvas lg:grid lg:grid-cols-[15rem_minmax(0,1fr)]">
        <aside className="sticky top-0 hidden h-dvh border-r border-line lg:block">
          <Sidebar />
        </aside>
        <div className="min-w-0">
          <TopBar />
          <ConnectionNote />
          {organization.deletes !== null && (
            <Suspense>
              <DeletionNote />
            </Suspense>
          )}
          <main id="content" tabIndex={-1} className="outline-none">
            <Suspense
              fallback={
                <Page title="Zonewatch">
                  <Skeleton lines={6} />
                </Page>
              }
            >
              <Outlet key={organization.id} />
            </Suspense>
          </main>
        </div>
      </div>
    </PaletteProvider>
  )
}

/** On narrow screens the sidebar is a drawer. */
function TopBar() {
  const path = useRouterState({ select: (state) => state.location.pathname })
  // The path where the drawer was opened, so that navigation closes it.
  const [openOn, setOpenOn] = useState<string>()
  const { open } = usePalette()
  return (
    <header className="sticky top-0 z-30 flex h-14 items-center gap-1 border-b border-line bg-canvas px-3 lg:hidden">
      <Dialog.Root open={openOn === path} onOpenChange={(isOpen) => setOpenOn(isOpen ? path : undefined)}>
        <Dialog.Trigger
          render={
            <Button variant="quiet" isSquare aria-label="Menu">
              <Menu />
            </Button>
          }
        />
        <Dialog.Portal>
          <Dialog.Backdrop className="fixed inset-0 z-40 bg-black/40 transition-opacity duration-150 data-[ending-style]:opacity-0 data-[starting-style]:opacity-0" />
          <Dialog.Popup className="fixed inset-y-0 left-0 z-50 w-68 border-r border-line bg-canvas transition-transform duration-150 data-[ending-style]:-translate-x-full data-[starting-style]:-translate-x-full">
            <Dialog.Title className="sr-only">Menu</Dialog.Title>
            <Sidebar />
          </Dialog.Popup>
        </Dialog.Portal>
      </Dialog.Root>
      <span className="flex-1">
        <Logo />
      </span>
      <Button variant="quiet" isSquare aria-label="Search and commands" onClick={open}>
        <Search />
      </Button>
    </header>
  )
}
