/**
 * The fields of a form. `same` compares values, by default as JSON. `change` is what the field changes in the resource, by default the
 * property of its name.
 */
export type Fields<Form, Change = object> = {
  [Name in keyof Form]: {
    label: string
    text: (value: Form[Name]) => string
    same?: (one: Form[Name], other: Form[Name]) => boolean
    change?: (form: Form, before: Form) => Change
  }
}

/** Only the changed fields, so that concurrent changes of other fields are kept. */
export function changedPart<Form, Change extends object>(
  fields: Fields<Form, Change>,
  before: Form,
  form: Form,
): Change {
  return changeOfFields(
    fields,
    namesOf(fields).filter((name) => !isSame(fields, name, before, form)),
    form,
    before,
  )
}

/** Every field, for a new resource. */
export const wholeOf = <Form, Change extends object>(fields: Fields<Form, Change>, form: Form): Change =>
  changeOfFields(fields, namesOf(fields), form, form)

const namesOf = <Form>(fields: Fields<Form>) => Object.keys(fields) as (keyof Form)[]

function changeOfFields<Form, Change extends object>(
  fields: Fields<Form, Change>,
  names: readonly (keyof Form)[],
  form: Form,
  before: Form,
): Change {
  const change: Record<string, unknown> = {}
  for (const name of names) {
    const part = fields[name].change?.(form, before) ?? { [name]: form[name] }
    // Several fields can be in one object, such as `settings`.
    for (const [key, value] of Object.entries(part))
      change[key] = isObject(value) && isObject(change[key]) ? { ...change[key], ...value } : value
  }
  return change as Change
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

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
  const names = namesOf(fields)
  const differ = (name: keyof Form, one: Form, other: Form) => !isSame(fields, name, one, other)
  const changed = names.filter((name) => differ(name, base, theirs) && differ(name, mine, theirs))
  const conflicts = changed.filter((name) => differ(name, base, mine))
  const taken = changed.filter((name) => !conflicts.includes(name))
  return { form: { ...mine, ...Object.fromEntries(taken.map((name) => [name, theirs[name]])) }, conflicts, taken }
}

export function isSame<Form>(fields: Fields<Form>, name: keyof Form, one: Form, other: Form): boolean {
  const same = fields[name].same ?? ((a, b) => JSON.stringify(a) === JSON.stringify(b))
  return same(one[name], other[name])
}

/** For lists without an order. */
export const sameSet = (one: readonly string[], other: readonly string[]): boolean =>
  new Set(one).symmetricDifference(new Set(other)).size === 0
