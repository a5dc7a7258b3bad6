/** A DMARC (RFC 7489 section 6.3) or DKIM (RFC 6376 section 3.6.1) record as `tag=value` pairs in comparable form. */
export type TagList = { version: 'DMARC1' | 'DKIM1'; tags: ReadonlySet<string> }

/** Undefined for any text that is not such a record: its version must stand first. */
export function readTags(text: string): TagList | undefined {
  const version = text.match(/^[vV][ \t]*=[ \t]*(DMARC1|DKIM1)\s*(?:;|$)/)?.[1]
  if (version !== 'DMARC1' && version !== 'DKIM1') return undefined
  const tags = text
    .split(';')
    .map((tag) => (version === 'DMARC1' ? dmarcTag(tag) : dkimTag(tag)))
    .filter((tag) => tag !== '')
  // A name that comes twice makes the whole list invalid: RFC 6376 section 3.2.
  const names = new Set(tags.map((tag) => nameAndValue(tag)[0]))
  return names.size < tags.length ? undefined : { version, tags: new Set(tags) }
}

function dmarcTag(tag: string): string {
  const [name, value] = nameAndValue(tag)
  return value === undefined ? name.toLowerCase() : `${name.toLowerCase()}=${value}`
}

// DKIM reads tag names by letter case, and a long key may be folded anywhere. RFC 6376 sections 3.2 and 3.6.1.
function dkimTag(tag: string): string {
  const [name, value] = nameAndValue(tag)
  if (value === undefined) return name
  return `${name}=${name === 'p' ? value.replace(/\s/g, '') : value}`
}

function nameAndValue(tag: string): [name: string, value: string | undefined] {
  const at = tag.indexOf('=')
  return at < 0 ? [tag.trim(), undefined] : [tag.slice(0, at).trim(), tag.slice(at + 1).trim()]
}
