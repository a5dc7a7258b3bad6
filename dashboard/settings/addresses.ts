/** Email addresses as people type them: by line, comma, semicolon or space. */
export function addressesOf(text: string): string[] {
  return [...new Set(text.split(/[\s,;]+/).filter((address) => address !== ''))]
}
