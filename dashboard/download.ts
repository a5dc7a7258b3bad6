/** Saves a text as a file of this name. */
export function download(name: string, text: string): void {
  const href = URL.createObjectURL(new Blob([text]))
  Object.assign(document.createElement('a'), { href, download: name }).click()
  URL.revokeObjectURL(href)
}
