import { fieldError } from '#contract/field-errors.ts'

export const SLUG = /^[a-z0-9]+(-[a-z0-9]+)*$/
const MAX_SLUG = 100

export const isSlug = (text: string): boolean => text.length <= MAX_SLUG && SLUG.test(text)

/** Whether a group can be called this in a path or body: its id or a slug. */
export const isGroupName = (text: string): boolean => isSlug(text) || isGroupId(text)
export const isGroupId = (given: unknown): boolean => typeof given === 'string' && /^grp_[0-9a-z]{26}$/.test(given)

export const INVALID_GROUP_NAME = fieldError('invalid_group_name')

export const UNKNOWN_GROUP = fieldError('unknown_reference', { resource: 'group' })

/** A slug made from a name: `Kunden & Partner` becomes `kunden-partner`; `group` where no letter or digit is left. */
export function slugOf(name: string): string {
  const letters = name.normalize('NFKD').toLowerCase().replace(/\p{M}/gu, '')
  const slug = letters
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_SLUG)
    .replace(/^-|-$/g, '')
  return slug || 'group'
}
