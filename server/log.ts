import { type Logger, type LoggerOptions, pino } from 'pino'
import type { Config } from './config/config.ts'

/** The log on standard output. Secrets and payloads are never logged. */
export async function createLog(
  { logLevel, logFormat }: Pick<Config, 'logLevel' | 'logFormat'>,
  hooks: NonNullable<LoggerOptions['hooks']> = {},
): Promise<Logger> {
  if (logFormat === 'json') return pino({ level: logLevel, base: null, hooks })
  const { default: pretty } = await import('pino-pretty')
  return pino(
    { level: logLevel, base: null, hooks },
    pretty({ sync: true, translateTime: 'SYS:HH:MM:ss', ignore: 'pid,hostname' }),
  )
}
