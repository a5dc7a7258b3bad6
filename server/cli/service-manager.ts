import { execFile } from 'node:child_process'
import type { Logger } from 'pino'
import { isStartedBySystemd } from '../config/config.ts'

/** Reports to systemd, where it has started the server as a service of `Type=notify`. Elsewhere it does nothing. */
export function notifyServiceManager(state: 'READY=1' | 'STOPPING=1', log: Logger): void {
  if (!isStartedBySystemd()) return
  // Node has no datagram sockets of the local kind; systemd's own program sends for it.
  execFile('systemd-notify', [state], (err) => {
    if (err) log.warn({ err }, `systemd-notify could not report ${state}.`)
  })
}
