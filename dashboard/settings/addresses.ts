/** Email addresses, separated by lines, commas, semicolons or spaces. */
export function addressesOf(text: string): string[] {
  return [...new Set(text.split(/[\s,;]+/).filter((address) => address !== ''))]
}
