import type { Role } from '../session.tsx'

/** From the most to the least; each may do what the next one may. */
export const ROLES: readonly { value: Role; label: string; hint: string }[] = [
  { value: 'owner', label: 'Owner', hint: 'Full access, including plan and billing.' },
  { value: 'admin', label: 'Admin', hint: 'Also manages the team, API keys and settings.' },
  { value: 'member', label: 'Member', hint: 'Creates and changes monitors, groups and webhooks.' },
  { value: 'viewer', label: 'Viewer', hint: 'Read-only access.' },
]

export const roleLabel = (role: Role): string => ROLES.find(({ value }) => value === role)?.label ?? role

/** Which roles someone with `role` may give: only owners make owners. */
export const givenBy = (role: Role) => (role === 'owner' ? ROLES : ROLES.filter(({ value }) => value !== 'owner'))

/** Whether someone with `role` may change or remove someone with `other`. */
export const mayChange = (role: Role, other: Role): boolean =>
  role === 'owner' || (role === 'admin' && other !== 'owner')
