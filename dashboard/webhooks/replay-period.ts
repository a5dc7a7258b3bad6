/** What a `datetime-local` field holds for an instant: minutes, in the viewer's zone. */
export function localMinutes(instant: number): string {
  const offset = new Date(instant).getTimezoneOffset() * 60_000
  return new Date(instant - offset).toISOString().slice(0, 16)
}

/** The instant of what such a field holds, as the API takes it; undefined where it is empty. */
export function instantOf(local: string): string | undefined {
  return local === '' ? undefined : new Date(local).toISOString()
}
