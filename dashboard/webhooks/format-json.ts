/** Formats JSON by whitespace only, so that the order of keys and the spelling of values stay the same. */
export function formatJson(json: string): string {
  let depth = 0
  const line = (change: number) => {
    depth += change
    return `\n${'  '.repeat(Math.max(0, depth))}`
  }
  return json.replace(/"(?:[^"\\]|\\.)*"|\{\s*\}|\[\s*\]|[{}[\],:]|\s+|[^\s"{}[\],:]+/gy, (token) => {
    if (token === '{' || token === '[') return token + line(1)
    if (token === '}' || token === ']') return line(-1) + token
    if (token === ',') return token + line(0)
    if (token === ':') return ': '
    return token.trim()
  })
}
