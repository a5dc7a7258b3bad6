export async function copyText(text: string): Promise<void> {
  // Without https the clipboard is not to be had, except on this machine itself.
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const area = Object.assign(document.createElement('textarea'), { value: text })
  document.body.append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}
