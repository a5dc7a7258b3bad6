import { useQuery } from '@tanstack/react-query'
import { TriangleAlert } from 'lucide-react'
import { useSession } from '../session.tsx'
import { channelsQuery } from './queries.ts'

/** Shown if there is an active email channel and the server sends no email. */
export function MailNote() {
  const { me } = useSession()
  const { data: channels } = useQuery({ ...channelsQuery, enabled: !me.server.sends_mail })
  const hasEmailChannel = channels?.data.some(({ type, is_active }) => type === 'email' && is_active)
  if (me.server.sends_mail || !hasEmailChannel) return null
  return (
    <p className="flex gap-2.5 rounded-md bg-warn-wash px-3 py-2.5 text-sm text-warn">
      <TriangleAlert className="mt-0.5 size-4 shrink-0" aria-hidden="true" />
      <span>
        This server sends no email, so alerts by email are canceled. Set <code>SMTP_URL</code> and{' '}
        <code>MAIL_FROM</code>, or use another channel.{' '}
        <a href="/docs/guides/mail" className="underline">
          Set up email
        </a>
      </span>
    </p>
  )
}
