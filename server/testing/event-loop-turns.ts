/** Counts the turns of the event loop until the work is done. */
export async function countEventLoopTurns(work: Promise<unknown>): Promise<number> {
  let turns = 0
  let isDone = false
  const count = () => {
    turns++
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  await work
  isDone = true
  return turns
}
