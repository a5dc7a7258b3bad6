import { Link } from '@tanstack/react-router'
import { Pencil } from 'lucide-react'
import { lazy, type ReactNode, Suspense, useState } from 'react'
import { visible } from '#contract/visible-text.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy.tsx'
import { Section } from '../ui/page.tsx'
import type { Labels } from './labels-draft.ts'

const LabelsDialog = lazy(async () => ({ default: (await import('./labels-dialog.tsx')).LabelsDialog }))

type SectionProps = {
  labels: Labels
  /** The path of the monitor or group in the API. */
  path: string
  /** Tags link to their monitors. */
  linksTags?: boolean
  onSaved: () => Promise<unknown>
}

/** The tags, external id and metadata of a monitor or group. */
export function LabelsSection({ labels, path, linksTags, onSaved }: SectionProps) {
  const { can } = useSession()
  const [isOpen, setOpen] = useState(false)
  const { external_id, tags = [], metadata = {} } = labels
  const pairs = Object.entries(metadata)
  const hasNone = !external_id && tags.length === 0 && pairs.length === 0
  return (
    <Section
      title="Labels"
      isFlush
      actions={
        can('write') && (
          <Button size="sm" aria-label="Edit labels" onClick={() => setOpen(true)}>
            <Pencil /> Edit
          </Button>
        )
      }
    >
      {hasNone ? (
        <p className="px-4 py-3.5 text-sm text-faint">
          No tags, external id or metadata yet. Use them to filter lists and to connect monitors to your own systems.
        </p>
      ) : (
        <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-6 gap-y-2.5 px-4 py-3.5 text-sm">
          {tags.length > 0 && (
            <Line name="Tags">
              <ul className="flex flex-wrap gap-1.5">
                {tags.map((tag) => (
                  <li key={tag} className="max-w-full">
                    <Tag tag={tag} isLink={linksTags ?? false} />
                  </li>
                ))}
              </ul>
            </Line>
          )}
          {external_id && (
            <Line name="External id">
              <span className="-my-1 flex items-center gap-1">
                <span className="min-w-0 font-mono text-[0.95em] break-all">{external_id}</span>
                <CopyButton text={external_id} label="Copy external id" />
              </span>
            </Line>
          )}
          {pairs.map(([key, value]) => (
            <Line key={`metadata ${key}`} name={<span className="font-mono text-[0.95em] break-all">{key}</span>}>
              <span className="wrap-anywhere">
                {value === '' ? <span className="text-faint">empty</span> : visible(value)}
              </span>
            </Line>
          ))}
        </dl>
      )}
      <Suspense>{isOpen && <LabelsDialog path={path} onSaved={onSaved} onClose={() => setOpen(false)} />}</Suspense>
    </Section>
  )
}

function Line({ name, children }: { name: ReactNode; children: ReactNode }) {
  return (
    <div className="contents">
      <dt className="max-w-28 text-faint sm:max-w-48">{name}</dt>
      <dd className="min-w-0">{children}</dd>
    </div>
  )
}

const TAG_CLASS =
  'block max-w-full rounded-xl bg-accent-wash px-2.5 py-0.5 text-xs font-medium break-all text-accent-ink'

function Tag({ tag, isLink }: { tag: string; isLink: boolean }) {
  if (!isLink) return <span className={TAG_CLASS}>{visible(tag)}</span>
  return (
    <Link
      to="/monitors"
      search={{ tag }}
      title={`Monitors with the tag ${tag}`}
      className={`${TAG_CLASS} hover:underline`}
    >
      {visible(tag)}
    </Link>
  )
}
