/** Asks the API for a page of monitors at a quiet, steady rate from a process of its own, and tells how long that took. */
const EVERY_MS = 50
const { url, key } = JSON.parse(process.argv[2]!) as { url: string; key: string }
let times: number[] = []

async function ask(): Promise<void> {
  const startedAt = performance.now()
  const answer = await fetch(`${url}/monitors`, { headers: { 'x-api-key': key } })
  await answer.arrayBuffer()
  if (!answer.ok) throw new Error(`GET /monitors answered ${answer.status}`)
  times.push(performance.now() - startedAt)
}

process.on('message', () => {
  const sorted = times.sort((one, other) => one - other)
  process.send!({ p99: sorted[Math.floor(sorted.length * 0.99)] ?? null })
  times = []
})
process.once('disconnect', () => process.exit(0))
for (;;) {
  const startedAt = performance.now()
  await ask()
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, EVERY_MS - (performance.now() - startedAt))))
}
