const MAX = 100

/** The slug that the server derives from a name if it is free: `Kunden & Partner` becomes `kunden-partner`. */
export function slugOf(name: string): string {
  const letters = name.normalize('NFKD').toLowerCase().replace(/\p{M}/gu, '')
  const slug = letters.replace(/[^a-z0-9]+/g, '-').slice(0, MAX)
  return slug.replace(/^-|-$/g, '') || 'group'
}
