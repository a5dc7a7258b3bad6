/** Labels and texts of the fields of a form. `same` compares values, by default as JSON. */
export type Fields<Form> = {
  [Name in keyof Form]: {
    label: string
    text: (value: Form[Name]) => string
    same?: (one: Form[Name], other: Form[Name]) => boolean
  }
}

export type Rebased<Form> = {
  /** The form on top of the newer version. */
  form: Form
  /** Changed differently by both. The form keeps the value of this user. */
  conflicts: (keyof Form)[]
  /** Changed only by the other user. */
  taken: (keyof Form)[]
}

/** Merges a form that was loaded from `base` with `theirs`, the version that someone else saved meanwhile. Pure. */
export function rebase<Form extends object>(
  fields: Fields<Form>,
  { base, mine, theirs }: { base: Form; mine: Form; theirs: Form },
): Rebased<Form> {
  const names = Object.keys(fields) as (keyof Form)[]
  const differ = (name: keyof Form, one: Form, other: Form) => !isSame(fields, name, one, other)
  const changed = names.filter((name) => differ(name, base, theirs) && differ(name, mine, theirs))
  const conflicts = changed.filter((name) => differ(name, base, mine))
  const taken = changed.filter((name) => !conflicts.includes(name))
  return { form: { ...mine, ...Object.fromEntries(taken.map((name) => [name, theirs[name]])) }, conflicts, taken }
}

export function isSame<Form extends object>(fields: Fields<Form>, name: keyof Form, one: Form, other: Form): boolean {
  const same = fields[name].same ?? ((a, b) => JSON.stringify(a) === JSON.stringify(b))
  return same(one[name], other[name])
}

/** For lists without an order. */
export const sameSet = (one: readonly string[], other: readonly string[]): boolean =>
  new Set(one).symmetricDifference(new Set(other)).size === 0
