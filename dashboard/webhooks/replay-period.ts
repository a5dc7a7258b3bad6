/** What a `datetime-local` field holds for an instant: minutes, in the viewer's zone. `offset` as of Date: minutes behind UTC. */
export function localMinutes(instant: number, offset = new Date(instant).getTimezoneOffset()): string {
  return new Date(instant - offset * 60_000).toISOString().slice(0, 16)
}

/** The instant of what such a field holds, as the API takes it; undefined where it is empty. */
export function instantOf(local: string): string | undefined {
  return local === '' ? undefined : new Date(local).toISOString()
}
