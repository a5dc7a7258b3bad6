import { type Logger, pino } from 'pino'
import pretty from 'pino-pretty'
import type { Config } from './config/config.ts'

/** One line for each thing worth knowing, on standard output; secrets and payloads are never logged. */
export function createLog({ logLevel, logFormat }: Pick<Config, 'logLevel' | 'logFormat'>): Logger {
  if (logFormat === 'json') return pino({ level: logLevel, base: null })
  return pino(
    { level: logLevel, base: null },
    pretty({ sync: true, translateTime: 'SYS:HH:MM:ss', ignore: 'pid,hostname' }),
  )
}
