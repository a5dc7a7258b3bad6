import { Lock } from 'lucide-react'

export const ReadOnlyNote = ({ who }: { who: string }) => (
  <p className="flex items-center gap-2 text-sm text-faint">
    <Lock className="size-4 shrink-0" aria-hidden="true" /> Only {who} can change this.
  </p>
)
