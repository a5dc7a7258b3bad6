import { visible } from '#contract/visible-text.ts'
import type { Parts } from './value-diff.ts'

/**
 * A DNS value that wraps only between words, so that "-all" stays on one line. Hidden characters are shown. The middle one of `parts`, of the shown value, is highlighted.
 */
export function ValueText({ value, parts }: { value: string; parts?: Parts | undefined }) {
  if (value === '') return '""'
  const shown = visible(value)
  const from = parts ? parts[0].length : 0
  const to = parts ? from + parts[1].length : 0
  return wordsOf(shown).map(({ begin, end, space }) => {
    const cut = (start: number, stop: number) =>
      shown.slice(Math.max(start, begin), Math.max(begin, Math.min(stop, end)))
    const differing = cut(from, to)
    return (
      <span key={begin}>
        <span className="inline-block max-w-full break-all">
          {cut(begin, from)}
          {differing && <mark className="rounded-xs bg-line px-px font-semibold text-ink">{differing}</mark>}
          {cut(to, end)}
        </span>
        {space}
      </span>
    )
  })
}

/** `space` is the white space after the word. */
function wordsOf(value: string): { begin: number; end: number; space: string }[] {
  return [...value.matchAll(/(\S*)(\s*)/g)].flatMap(({ 0: all, 1: word = '', 2: space = '', index }) =>
    all === '' ? [] : [{ begin: index, end: index + word.length, space }],
  )
}
