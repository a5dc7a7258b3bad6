/** The most events in one request, and the longest time that an event waits for others. */
export const MAX_BATCH_EVENTS = 100
export const MAX_BATCH_WAIT_SECONDS = 60

/** For values that are left out. */
export const BATCH_DEFAULTS = { max_events: MAX_BATCH_EVENTS, max_wait_seconds: 5 }
