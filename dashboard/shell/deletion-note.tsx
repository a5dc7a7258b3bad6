import { Link } from '@tanstack/react-router'
import { Trash2 } from 'lucide-react'
import { useSession } from '../session.tsx'
import { fullTime } from '../ui/time.tsx'

/** Above every page of an organization that is going to be deleted. */
export function DeletionNote() {
  const { organization, can } = useSession()
  if (organization.deletes === null) return null
  return (
    <p
      role="status"
      className="flex gap-2.5 border-b border-line bg-bad-wash px-4 py-2.5 text-sm text-bad sm:px-6 lg:px-8"
    >
      <Trash2 className="mt-0.5 size-4 shrink-0" strokeWidth={2.25} aria-hidden="true" />
      <span>
        <strong className="font-semibold">This organization is deleted at {fullTime(organization.deletes)}.</strong>{' '}
        {can('own') ? (
          <Link to="/settings" className="underline">
            Cancel the deletion
          </Link>
        ) : (
          'An owner can cancel the deletion.'
        )}
      </span>
    </p>
  )
}
