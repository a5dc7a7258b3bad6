export type Status = 'ok' | 'warning' | 'failure'

/** One line of `zonewatch doctor`. `remedy`: what to do about it; null where nothing is to do. */
export type Finding = { check: string; status: Status; detail: string; remedy: string | null }

export const ok = (check: string, detail: string): Finding => ({ check, status: 'ok', detail, remedy: null })
export const warning = (check: string, detail: string, remedy: string): Finding => ({
  ...{ check, status: 'warning', detail, remedy },
})
export const failure = (check: string, detail: string, remedy: string): Finding => ({
  ...{ check, status: 'failure', detail, remedy },
})

/** What `find` returns; what it throws is a failure of its own. */
export async function findingsOf(check: string, find: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await find()
  } catch (error) {
    const reason = error instanceof Error ? error.message || error.name : String(error)
    return [
      failure(check, `could not be checked: ${reason}`, 'Run this with the settings of the server and as its user.'),
    ]
  }
}
