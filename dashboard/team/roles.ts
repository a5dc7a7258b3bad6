import type { Role } from '../session.tsx'

/** In descending order of permissions. */
export const ROLES: readonly { value: Role; label: string; hint: string }[] = [
  { value: 'owner', label: 'Owner', hint: 'Full access, including plan and billing.' },
  { value: 'admin', label: 'Admin', hint: 'Also manages the team, API keys and settings.' },
  { value: 'member', label: 'Member', hint: 'Creates and changes monitors, groups and webhooks.' },
  { value: 'viewer', label: 'Viewer', hint: 'Read-only access.' },
]

export const roleLabel = (role: Role): string => ROLES.find(({ value }) => value === role)?.label ?? role

/** The roles that a user with `role` can assign. Only owners can assign owner. */
export const assignableRoles = (role: Role) =>
  role === 'owner' ? ROLES : ROLES.filter(({ value }) => value !== 'owner')

/** Whether a user with `role` can change or remove one with `other`. */
export const canChange = (role: Role, other: Role): boolean =>
  role === 'owner' || (role === 'admin' && other !== 'owner')
