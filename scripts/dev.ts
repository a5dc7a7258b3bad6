import { spawn } from 'node:child_process'

/**
 * `npm run dev` starts the server, restarts it when its sources change, and serves the dashboard on
 * http://127.0.0.1:5173/dashboard/ with live updates.
 */
const server = spawn(
  process.execPath,
  ['--watch', '--watch-path=server', '--watch-path=contract', 'server/main.ts', 'serve'],
  {
    stdio: 'inherit',
  },
)
const dashboard = spawn(process.execPath, ['node_modules/vite/bin/vite.js', 'dashboard'], { stdio: 'inherit' })

for (const child of [server, dashboard]) {
  child.on('exit', () => {
    server.kill()
    dashboard.kill()
  })
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    server.kill(signal)
    dashboard.kill(signal)
  })
}
