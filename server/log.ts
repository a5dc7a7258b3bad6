import { type Logger, type LoggerOptions, pino } from 'pino'
import type { Config } from './config/config.ts'

/** The levels are words, because collectors of logs know no numbers. */
const FORMAT = { base: null, formatters: { level: (level: string) => ({ level }) } }

/** The log on standard output: docs/reference/logs.md. Secrets and payloads are never logged. */
export async function createLog(
  { logLevel, logFormat }: Pick<Config, 'logLevel' | 'logFormat'>,
  hooks: NonNullable<LoggerOptions['hooks']> = {},
): Promise<Logger> {
  if (logFormat === 'json') return pino({ ...FORMAT, level: logLevel, hooks })
  const { default: pretty } = await import('pino-pretty')
  return pino(
    { ...FORMAT, level: logLevel, hooks },
    pretty({ sync: true, translateTime: 'SYS:HH:MM:ss', ignore: 'pid,hostname' }),
  )
}
