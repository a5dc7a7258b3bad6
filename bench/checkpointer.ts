import { startCheckpoints } from '../server/database/sqlite-checkpoints.ts'

/** Does in a benchmark what the supervisor does in a server. Ends with the process that started it. */
const stop = startCheckpoints(process.argv[2]!)
process.once('disconnect', stop)
