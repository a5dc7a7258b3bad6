import type { Page } from 'playwright-core'

/**
 * What a reader would take for a mistake in the text as it is rendered: identifiers, values of the program such as undefined, missing or
 * doubled spaces, lines that overlap.
 */
export async function findTextFaults(page: Page): Promise<string[]> {
  return await page.evaluate(collectFaults)
}

/** Runs in the page, so it uses nothing from outside. */
function collectFaults(): string[] {
  type Line = { text: string; node: Text; box: DOMRect }
  const IDENTIFIER = /(?<![\w.@/-])[a-z]+[A-Z][a-z]\w*/
  /** What JavaScript makes of values that nobody formatted: at an end of the text, or a time in UTC. */
  const NO_VALUE = /\[object |\bNaN\b|^\s*(?:undefined|null)\b|\b(?:undefined|null)\s*$|\d{4}-\d\d-\d\dT\d\d:\d\d/
  // Code, what users entered, and pictures.
  const NOT_PROSE = 'code, pre, kbd, samp, svg, textarea, input, .font-mono, [aria-hidden="true"], .sr-only'
  const isDocument = location.pathname.startsWith('/docs')
  const faults: string[] = []
  const lines: Line[] = []
  /** The part that no ancestor cuts off. */
  const clipped = (rect: DOMRect, from: Element) => {
    let { left, right, top, bottom } = rect
    for (let element: Element | null = from; element; element = element.parentElement) {
      if (getComputedStyle(element).overflow === 'visible') continue
      const outer = element.getBoundingClientRect()
      left = Math.max(left, outer.left)
      right = Math.min(right, outer.right)
      top = Math.max(top, outer.top)
      bottom = Math.min(bottom, outer.bottom)
    }
    return new DOMRect(left, top, Math.max(0, right - left), Math.max(0, bottom - top))
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode() as Text | null; node; node = walker.nextNode() as Text | null) {
    const parent = node.parentElement!
    if (node.data.trim() === '' || !parent.checkVisibility({ opacityProperty: true, visibilityProperty: true }))
      continue
    if (parent.closest('script, style')) continue
    const identifier = parent.closest(NOT_PROSE) ? null : node.data.match(IDENTIFIER)
    if (identifier) faults.push(`an identifier: ${node.data.trim().slice(0, 80)}`)
    // Documents explain what null means.
    if (!parent.closest(NOT_PROSE) && !isDocument && NO_VALUE.test(node.data))
      faults.push(`a value of the program: ${node.data.trim().slice(0, 80)}`)
    // An inserted value was empty.
    if (!parent.closest(NOT_PROSE) && /\S {2,}\S/.test(node.data))
      faults.push(`two spaces: ${node.data.trim().slice(0, 80)}`)
    const range = document.createRange()
    range.selectNodeContents(node)
    for (const rect of range.getClientRects()) {
      const box = clipped(rect, parent)
      if (box.width >= 2 && box.height >= 2) lines.push({ text: node.data, node, box })
    }
  }

  for (const [index, line] of lines.entries()) {
    const next = lines[index + 1]
    if (!next || next.node === line.node) continue
    const isSameLine = Math.abs(line.box.bottom - next.box.bottom) < line.box.height / 2
    const gap = next.box.left - line.box.right
    const isJoined =
      /[\p{L}\p{N}]$/u.test(line.text) && /^[\p{L}\p{N}]/u.test(next.text) && !/^(?:s|th|st|nd|rd)\b/.test(next.text)
    if (isSameLine && isJoined && gap > -1 && gap < 1.5) {
      faults.push(`no space between "${line.text.slice(-30)}" and "${next.text.slice(0, 30)}"`)
    }
  }

  // A dialog or a sticky header may cover the page.
  const isVisible = ({ node, box }: Line) => {
    const elements = document.elementsFromPoint(box.left + box.width / 2, box.top + box.height / 2)
    const own = elements.findIndex((element) => element.contains(node) || node.parentElement!.contains(element))
    return own >= 0 && elements.slice(0, own).every((element) => isTransparent(element))
  }
  const isTransparent = (element: Element) =>
    /^rgba\(.*, 0\)$|^transparent$/.test(getComputedStyle(element).backgroundColor)
  const visible = lines.filter(isVisible)
  for (const [index, one] of visible.entries()) {
    for (const other of visible.slice(index + 1)) {
      if (one.node === other.node) continue
      const width = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left)
      const height = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top)
      // Lines that stand close together share a few pixels of leading: at most a quarter.
      if (width > 4 && height > Math.min(one.box.height, other.box.height) / 4) {
        faults.push(`overlapping: "${one.text.trim().slice(0, 40)}" and "${other.text.trim().slice(0, 40)}"`)
      }
    }
  }
  return [...new Set(faults)]
}
