import { Upload, X } from 'lucide-react'
import { useId, useRef, useState } from 'react'
import { Button } from '../ui/button.tsx'

/** Twice what setup pages show, for screens with a high resolution. */
const MOST_WIDTH = 384
const MOST_HEIGHT = 96

type LogoProps = {
  /** A data URL; empty: none. */
  value: string
  onChange: (value: string) => void
  error: string | undefined
  isDisabled: boolean
}

/** An image of the person's own, made small in the browser. */
export function LogoField({ value, onChange, error, isDisabled }: LogoProps) {
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const [isUnreadable, setUnreadable] = useState(false)
  const choose = async (file: File | undefined) => {
    if (!file) return
    const small = await smallImage(file).catch(() => undefined)
    setUnreadable(small === undefined)
    if (small !== undefined) onChange(small)
    if (input.current) input.current.value = ''
  }
  const wrong = isUnreadable ? 'Your browser cannot read this image. Use a PNG, JPEG or WebP file.' : error
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
        role={wrong ? 'alert' : undefined}
        className={`text-xs first-letter:uppercase ${wrong ? 'text-bad' : 'text-faint'}`}
      >
        {wrong ?? 'Shown on the public setup pages, with the name of the organization.'}
      </p>
    </fieldset>
  )
}

/** As a data URL in WebP, or PNG where the browser does not write that. */
async function smallImage(file: File): Promise<string> {
  const image = await createImageBitmap(file)
  const scale = Math.min(1, MOST_WIDTH / image.width, MOST_HEIGHT / image.height)
  const canvas = document.createElement('canvas')
  canvas.width = Math.max(1, Math.round(image.width * scale))
  canvas.height = Math.max(1, Math.round(image.height * scale))
  canvas.getContext('2d')!.drawImage(image, 0, 0, canvas.width, canvas.height)
  return canvas.toDataURL('image/webp', 0.9)
}
