/** `npm run bench -- <name> [options]` runs bench/<name>.ts with the other options. */
const [name = ''] = process.argv.splice(2, 1)
if (!/^[a-z-]+$/.test(name)) {
  process.stderr.write(
    'Name a benchmark: npm run bench -- api, checks, dashboard, idle, incident, jobs, lists, nodes, replica, retention, schedule, size, soak or webhooks\n',
  )
  process.exit(1)
}
await import(`./${name}.ts`)
