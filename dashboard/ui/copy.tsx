import { Check, Copy as CopyIcon } from 'lucide-react'
import { useState } from 'react'
import { Button } from './button.tsx'
import { copyText } from './clipboard.ts'

/** `label` says what is copied ("Copy key"); `isWordy` shows it beside the icon. */
export function Copy({ text, label, isWordy }: { text: string; label: string; isWordy?: boolean }) {
  const [isCopied, setCopied] = useState(false)
  const press = async () => {
    await copyText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), 1_500)
  }
  return (
    <Button
      look={isWordy ? 'plain' : 'quiet'}
      size="sm"
      isSquare={!isWordy}
      aria-label={isWordy ? undefined : label}
      onClick={press}
    >
      {isCopied ? <Check className="text-good" /> : <CopyIcon />}
      {isWordy && (isCopied ? 'Copied' : label)}
      {!isWordy && (
        <span aria-live="polite" className="sr-only">
          {isCopied ? 'Copied' : ''}
        </span>
      )}
    </Button>
  )
}

/** A line of text to be taken along: a key, a secret, a command. */
export function Snippet({ text, label }: { text: string; label: string }) {
  return (
    <div className="flex items-start gap-1 rounded-md border border-line bg-sunken py-1 pr-1 pl-3">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre tabIndex={0} className="min-w-0 flex-1 overflow-x-auto py-1 font-mono text-xs leading-5">
        {text}
      </pre>
      <Copy text={text} label={label} />
    </div>
  )
}
