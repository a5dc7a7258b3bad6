/** Saves the text as a file. */
export function download(name: string, text: string): void {
  saveBlob(name, new Blob([text]))
}

export function saveBlob(name: string, blob: Blob): void {
  const href = URL.createObjectURL(blob)
  Object.assign(document.createElement('a'), { href, download: name }).click()
  URL.revokeObjectURL(href)
}

const BACKGROUND = '--surface'
/** Of the PNG, so that it is sharp on every screen. */
const SCALE = 2

/** The drawing as a file of its own: with the colors of the current theme instead of variables. */
export function svgFile(svg: SVGSVGElement): Blob {
  return new Blob([svgText(svg)], { type: 'image/svg+xml' })
}

function svgText(svg: SVGSVGElement): string {
  const copy = svg.cloneNode(true) as SVGSVGElement
  const { width, height, x, y } = svg.viewBox.baseVal
  copy.removeAttribute('style')
  for (const [key, value] of Object.entries({ width, height, xmlns: 'http://www.w3.org/2000/svg' }))
    copy.setAttribute(key, String(value))
  const background = document.createElementNS('http://www.w3.org/2000/svg', 'rect')
  for (const [key, value] of Object.entries({ x, y, width, height, fill: `var(${BACKGROUND})` }))
    background.setAttribute(key, String(value))
  copy.prepend(background)
  const styles = getComputedStyle(svg)
  return new XMLSerializer().serializeToString(copy).replace(/var\((--[a-z-]{1,30})\)/g, (_, name) => {
    return styles.getPropertyValue(name).trim()
  })
}

export async function savePng(name: string, svg: SVGSVGElement): Promise<void> {
  const image = new Image()
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(svg))}`
  await image.decode()
  const canvas = document.createElement('canvas')
  canvas.width = image.width * SCALE
  canvas.height = image.height * SCALE
  canvas.getContext('2d')!.drawImage(image, 0, 0, canvas.width, canvas.height)
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/png'))
  if (blob) saveBlob(name, blob)
}
