import { type Logger, pino } from 'pino'
import type { Config } from './config/config.ts'

/** The log on standard output. Secrets and payloads are never logged. */
export async function createLog({ logLevel, logFormat }: Pick<Config, 'logLevel' | 'logFormat'>): Promise<Logger> {
  if (logFormat === 'json') return pino({ level: logLevel, base: null })
  const { default: pretty } = await import('pino-pretty')
  return pino(
    { level: logLevel, base: null },
    pretty({ sync: true, translateTime: 'SYS:HH:MM:ss', ignore: 'pid,hostname' }),
  )
}
