import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Bookmark, Pencil, Plus, Save, Trash2 } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import type { View } from '#contract/views.ts'
import { api } from '../../api.ts'
import { useSession } from '../../session.tsx'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { Menu, MenuItem, MenuLabel, MenuSeparator } from '../../ui/menu.tsx'
import { useToast } from '../../ui/toast.tsx'
import { useGroups } from '../settings.ts'
import type { ListAppearance } from './appearance.ts'
import type { ListSearch } from './query.ts'
import { appearanceOfView, isUnchanged, refreshViews, searchOfView, viewOf, viewsQuery } from './views.ts'

const NameDialog = lazy(async () => ({ default: (await import('./view-dialog.tsx')).NameDialog }))

type ViewsProps = {
  search: ListSearch
  appearance: ListAppearance
  onSearch: (search: ListSearch) => void
  onAppearanceChange: (appearance: ListAppearance) => void
}

type ViewDialog = 'save' | 'rename' | 'delete'

/** Saved views, shared by the organization. */
export function ViewsMenu({ search, appearance, onSearch, onAppearanceChange }: ViewsProps) {
  const { can } = useSession()
  const queries = useQueryClient()
  const toast = useToast()
  const groups = useGroups() ?? []
  const { data: views = [], error } = useQuery(viewsQuery)
  const [dialog, setDialog] = useState<ViewDialog>()
  const current = views.find(({ id }) => id === search.view)
  const isUnmodified = current !== undefined && isUnchanged(current, search, appearance, groups)
  const open = (view: View) => {
    onSearch(searchOfView(view, groups))
    onAppearanceChange(appearanceOfView(view, appearance))
  }
  const save = useMutation({
    mutationFn: () => api.patch<View>(`/views/${current?.id}`, viewOf(search, appearance, groups)),
    onSuccess: async () => {
      await refreshViews(queries)
      toast.done('View saved.')
    },
    onError: toast.failed,
  })
  const close = () => setDialog(undefined)
  return (
    <>
      <Menu
        trigger={
          <Button aria-label={current ? `Views: ${current.name}` : 'Views'}>
            <Bookmark />
            <span className="max-w-40 truncate max-sm:sr-only">
              {current ? `${current.name}${isUnmodified ? '' : ' (changed)'}` : 'Views'}
            </span>
          </Button>
        }
      >
        <MenuLabel>{error ? 'Views could not be loaded.' : 'Team views'}</MenuLabel>
        {views.map((view) => (
          <MenuItem key={view.id} onSelect={() => open(view)} isSelected={view === current}>
            {view.name}
          </MenuItem>
        ))}
        {views.length === 0 && !error && (
          <p className="max-w-60 px-2.5 py-1.5 text-sm text-faint">
            A view saves filters, order, columns and density for everyone in the organization.
          </p>
        )}
        {can('write') && (
          <>
            <MenuSeparator />
            {current && !isUnmodified && (
              <MenuItem icon={Save} onSelect={() => save.mutate()}>
                Save changes
              </MenuItem>
            )}
            <MenuItem icon={Plus} onSelect={() => setDialog('save')}>
              Save as new view…
            </MenuItem>
            {current && (
              <>
                <MenuItem icon={Pencil} onSelect={() => setDialog('rename')}>
                  Rename view…
                </MenuItem>
                <MenuItem icon={Trash2} isDangerous onSelect={() => setDialog('delete')}>
                  Delete view…
                </MenuItem>
              </>
            )}
          </>
        )}
      </Menu>
      <Suspense>
        {dialog === 'save' && (
          <NameDialog
            title="Save view"
            initialName=""
            send={(name) => api.post<View>('/views', { name, ...viewOf(search, appearance, groups) })}
            onSaved={async ({ id }) => {
              await refreshViews(queries)
              onSearch({ ...search, view: id })
            }}
            onClose={close}
          />
        )}
        {dialog === 'rename' && current && (
          <NameDialog
            title="Rename view"
            initialName={current.name}
            send={(name) => api.patch<View>(`/views/${current.id}`, { name })}
            onSaved={() => refreshViews(queries)}
            onClose={close}
          />
        )}
      </Suspense>
      <Confirm
        isOpen={dialog === 'delete'}
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
        It is deleted for everyone in the organization. Its monitors are not changed.
      </Confirm>
    </>
  )
}
