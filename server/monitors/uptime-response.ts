import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { ErrorBody } from '#contract/common.ts'
import { DAY_PARTS, type Uptime } from '#contract/uptime.ts'
import { toCsv } from '../http/csv.ts'

export const UPTIME_DESCRIPTION =
  'How long the record was in each state, by day in UTC. A change of the state is recorded when it happens. Time in which checks were missed or had no result is `NOT_CHECKED`: from when the first of them was due until the next check with a result. Maintenance windows and planned changes do not change the states, so they count like any other time.'
export const UPTIME_SUM_DESCRIPTION = `${UPTIME_DESCRIPTION} The seconds are sums over the monitors that are in it now, and the percentage is of these sums.`
export const UPTIME_CSV_DESCRIPTION = 'A line for each day, with the seconds in each state.'

export const CsvResponses = {
  200: {
    description: 'The days, as a download.',
    content: { 'text/csv': { schema: Type.String(), example: 'date,UNSET,VALID\r\n2026-11-20,0,86400\r\n' } },
  },
  '4xx': ErrorBody,
  '5xx': ErrorBody,
}

export function sendCsv(reply: FastifyReply, { days }: Uptime) {
  const rows = days.map(({ date, seconds }) => [date, ...DAY_PARTS.map((part) => seconds[part] ?? 0)])
  reply.type('text/csv; charset=utf-8').header('content-disposition', 'attachment; filename="uptime.csv"')
  return reply.send(toCsv([['date', ...DAY_PARTS], ...rows]))
}
