/** A process that requests a page of monitors at a low, steady rate. Each message makes it report the p99 since the last one. */
const INTERVAL_MS = 50
const { url, key } = JSON.parse(process.argv[2]!) as { url: string; key: string }
let durations: number[] = []

async function request(): Promise<void> {
  const startedAt = performance.now()
  const response = await fetch(`${url}/monitors`, { headers: { 'x-api-key': key } })
  await response.arrayBuffer()
  if (!response.ok) throw new Error(`GET /monitors answered ${response.status}`)
  durations.push(performance.now() - startedAt)
}

process.on('message', () => {
  const sorted = durations.sort((a, b) => a - b)
  process.send!({ p99: sorted[Math.floor(sorted.length * 0.99)] ?? null })
  durations = []
})
process.once('disconnect', () => process.exit(0))
for (;;) {
  const startedAt = performance.now()
  await request()
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, INTERVAL_MS - (performance.now() - startedAt))))
}
