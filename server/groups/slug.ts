export const SLUG = /^[a-z0-9]+(-[a-z0-9]+)*$/
export const MAX_SLUG = 100

export const isSlug = (text: string): boolean => text.length <= MAX_SLUG && SLUG.test(text)

/** A slug made from a name: `Kunden & Partner` becomes `kunden-partner`; `group` where no letter or digit is left. */
export function slugOf(name: string): string {
  const letters = name.normalize('NFKD').toLowerCase().replace(/\p{M}/gu, '')
  const slug = letters
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_SLUG)
    .replace(/^-+|-+$/g, '')
  return slug || 'group'
}
