import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Bookmark, Pencil, Plus, Save, Trash2 } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import type { View } from '#contract/views.ts'
import { api } from '../api.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { Menu, MenuItem, MenuLabel, MenuSeparator } from '../ui/menu.tsx'
import { useToast } from '../ui/toast.tsx'
import type { Look } from './list-appearance.ts'
import type { ListSearch } from './list-query.ts'
import { isShown, lookOfView, refreshViews, searchOfView, viewOf, viewsQuery } from './list-views.ts'
import { useGroups } from './new-settings.ts'

const NameDialog = lazy(async () => ({ default: (await import('./list-view-name.tsx')).NameDialog }))

type ViewsProps = {
  search: ListSearch
  look: Look
  onSearch: (search: ListSearch) => void
  onLook: (look: Look) => void
}

type Asking = 'save' | 'rename' | 'delete'

/** Saved lists, shared with everyone in the organization. */
export function ViewsMenu({ search, look, onSearch, onLook }: ViewsProps) {
  const { can } = useSession()
  const queries = useQueryClient()
  const toast = useToast()
  const groups = useGroups() ?? []
  const { data: views = [], error } = useQuery(viewsQuery)
  const [asking, setAsking] = useState<Asking>()
  const current = views.find(({ id }) => id === search.view)
  const isSame = current !== undefined && isShown(current, search, look, groups)
  const open = (view: View) => {
    onSearch(searchOfView(view, groups))
    onLook(lookOfView(view, look))
  }
  const save = useMutation({
    mutationFn: () => api.patch<View>(`/views/${current?.id}`, viewOf(search, look, groups)),
    onSuccess: async () => {
      await refreshViews(queries)
      toast.done('View saved.')
    },
    onError: toast.failed,
  })
  const close = () => setAsking(undefined)
  return (
    <>
      <Menu
        trigger={
          <Button aria-label={current ? `Views: ${current.name}` : 'Views'}>
            <Bookmark />
            <span className="max-w-40 truncate max-sm:sr-only">
              {current ? `${current.name}${isSame ? '' : ' (changed)'}` : 'Views'}
            </span>
          </Button>
        }
      >
        <MenuLabel>{error ? 'The views cannot be loaded.' : 'Views of the team'}</MenuLabel>
        {views.map((view) => (
          <MenuItem key={view.id} onSelect={() => open(view)} isSelected={view === current}>
            {view.name}
          </MenuItem>
        ))}
        {views.length === 0 && !error && (
          <p className="max-w-60 px-2.5 py-1.5 text-sm text-faint">
            A view keeps filters, order, columns and density under a name, for everyone in the organization.
          </p>
        )}
        {can('write') && (
          <>
            <MenuSeparator />
            {current && !isSame && (
              <MenuItem icon={Save} onSelect={() => save.mutate()}>
                Save changes
              </MenuItem>
            )}
            <MenuItem icon={Plus} onSelect={() => setAsking('save')}>
              Save as new view…
            </MenuItem>
            {current && (
              <>
                <MenuItem icon={Pencil} onSelect={() => setAsking('rename')}>
                  Rename view…
                </MenuItem>
                <MenuItem icon={Trash2} isDangerous onSelect={() => setAsking('delete')}>
                  Delete view…
                </MenuItem>
              </>
            )}
          </>
        )}
      </Menu>
      <Suspense>
        {asking === 'save' && (
          <NameDialog
            title="Save view"
            given=""
            send={(name) => api.post<View>('/views', { name, ...viewOf(search, look, groups) })}
            onSaved={async ({ id }) => {
              await refreshViews(queries)
              onSearch({ ...search, view: id })
            }}
            onClose={close}
          />
        )}
        {asking === 'rename' && current && (
          <NameDialog
            title="Rename view"
            given={current.name}
            send={(name) => api.patch<View>(`/views/${current.id}`, { name })}
            onSaved={() => refreshViews(queries)}
            onClose={close}
          />
        )}
      </Suspense>
      <Confirm
        isOpen={asking === 'delete'}
        onClose={close}
        title={`Delete the view ${current?.name ?? ''}?`}
        confirmLabel="Delete view"
        isDangerous
        onConfirm={async () => {
          await api.delete(`/views/${current?.id}`)
          const { view: _, ...rest } = search
          onSearch(rest)
          await refreshViews(queries)
          toast.done('View deleted.')
        }}
      >
        It disappears for everyone in the organization. Its monitors stay.
      </Confirm>
    </>
  )
}
