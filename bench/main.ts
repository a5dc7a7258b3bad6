/** `npm run bench -- <name> [options]` runs bench/<name>.ts, which reads the options that are left. */
const [name = ''] = process.argv.splice(2, 1)
if (!/^[a-z-]+$/.test(name)) {
  process.stderr.write(
    'Say which: npm run bench -- api, checks, dashboard, idle, incident, jobs, lists, nodes, replica, retention, schedule, size, soak or webhooks\n',
  )
  process.exit(1)
}
await import(`./${name}.ts`)
