/** The fields of a form as people know them. `same` compares as JSON where it is not given. */
export type Fields<Form> = {
  [Name in keyof Form]: {
    label: string
    text: (value: Form[Name]) => string
    same?: (one: Form[Name], other: Form[Name]) => boolean
  }
}

export type Rebased<Form> = {
  /** The form over the newer version: what the other person alone changed is taken over. */
  form: Form
  /** Changed differently by both. The form keeps its own value. */
  conflicts: (keyof Form)[]
  /** Changed by the other person alone. */
  taken: (keyof Form)[]
}

/** Moves a form that began with `base` onto `theirs`, the version that somebody else saved meanwhile. Pure. */
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

/** Whether a field of both is the same. */
export function isSame<Form extends object>(fields: Fields<Form>, name: keyof Form, one: Form, other: Form): boolean {
  const same = fields[name].same ?? ((a, b) => JSON.stringify(a) === JSON.stringify(b))
  return same(one[name], other[name])
}

/** For lists whose order says nothing. */
export const sameSet = (one: readonly string[], other: readonly string[]): boolean =>
  new Set(one).symmetricDifference(new Set(other)).size === 0
