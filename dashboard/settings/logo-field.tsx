import { Upload, X } from 'lucide-react'
import { useId, useRef, useState } from 'react'
import { Button } from '../ui/button.tsx'

/** Twice the size on setup pages, for high-resolution screens. */
const MAX_WIDTH = 384
const MAX_HEIGHT = 96

type LogoProps = {
  /** A data URL; empty: none. */
  value: string
  onChange: (value: string) => void
  error: string | undefined
  isDisabled: boolean
}

/** Uploads an image, resized in the browser. */
export function LogoField({ value, onChange, error, isDisabled }: LogoProps) {
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const [isUnreadable, setUnreadable] = useState(false)
  const choose = async (file: File | undefined) => {
    if (!file) return
    const small = await resizedImage(file).catch(() => undefined)
    setUnreadable(small === undefined)
    if (small !== undefined) onChange(small)
    if (input.current) input.current.value = ''
  }
  const message = isUnreadable ? 'Your browser cannot read this image. Use a PNG, JPEG or WebP file.' : error
  return (
    <fieldset className="flex flex-col gap-1.5" aria-describedby={id}>
      <legend className="mb-1.5 text-sm font-medium">
        Logo <span className="font-normal text-faint">(optional)</span>
      </legend>
      <div className="flex flex-wrap items-center gap-3">
        {value !== '' && (
          <img
            src={value}
            alt="Current logo"
            className="max-h-12 max-w-48 rounded border border-line dark:bg-white dark:p-1.5"
          />
        )}
        {!isDisabled && (
          <>
            <input
              ref={input}
              type="file"
              accept="image/png,image/jpeg,image/webp"
              aria-label="Logo file"
              className="sr-only"
              tabIndex={-1}
              onChange={(event) => void choose(event.target.files?.[0])}
            />
            <Button size="sm" onClick={() => input.current?.click()}>
              <Upload /> {value === '' ? 'Choose an image' : 'Choose another image'}
            </Button>
            {value !== '' && (
              <Button size="sm" variant="quiet" onClick={() => onChange('')}>
                <X /> Remove logo
              </Button>
            )}
          </>
        )}
      </div>
      <p
        id={id}
        role={message ? 'alert' : undefined}
        className={`text-xs first-letter:uppercase ${message ? 'text-bad' : 'text-faint'}`}
      >
        {message ?? 'Shown on the public setup pages, with the name of the organization.'}
      </p>
    </fieldset>
  )
}

/** A data URL in WebP, or in PNG if the browser cannot write WebP. */
async function resizedImage(file: File): Promise<string> {
  const image = await createImageBitmap(file)
  const scale = Math.min(1, MAX_WIDTH / image.width, MAX_HEIGHT / image.height)
  const canvas = document.createElement('canvas')
  canvas.width = Math.max(1, Math.round(image.width * scale))
  canvas.height = Math.max(1, Math.round(image.height * scale))
  canvas.getContext('2d')!.drawImage(image, 0, 0, canvas.width, canvas.height)
  return canvas.toDataURL('image/webp', 0.9)
}
