import { errorMessage } from '../cli-error.ts'

type Status = 'ok' | 'warning' | 'failure'

/** One line of `zonewatch doctor`. `remedy`: what to do; null if nothing. */
export type Finding = { check: string; status: Status; detail: string; remedy: string | null }

export const ok = (check: string, detail: string): Finding => ({ check, status: 'ok', detail, remedy: null })

export function warning(check: string, detail: string, remedy: string): Finding {
  return { check, status: 'warning', detail, remedy }
}

export function failure(check: string, detail: string, remedy: string): Finding {
  return { check, status: 'failure', detail, remedy }
}

/** Runs a check. If it throws, that is a failure too. */
export async function runCheck(check: string, run: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await run()
  } catch (error) {
    const remedy = 'Run this with the settings of the server and as its user.'
    return [failure(check, `could not be checked: ${errorMessage(error)}`, remedy)]
  }
}
