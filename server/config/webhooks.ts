import { parseLimit, parseWhole } from './parse.ts'

export type WebhookSettings = {
  /** Requests in progress at a time for one webhook, and over all. */
  webhookConcurrency: number
  deliveryConcurrency: number
  /** Links of one group to webhooks. */
  webhooksPerGroup: number
  /** Alerts to one channel; 0: without a limit. */
  alertsPerHour: number
  /** What is kept of webhooks' requests; 0: without a limit. */
  webhookKeep: { waitingRequests: number; waitingDays: number; storedOctets: number }
}

type Read = <T>(name: string, preset: string, about: string, parse: (text: string) => T) => T

const MEBIBYTE = 1024 * 1024

export function readWebhookSettings(read: Read): WebhookSettings {
  return {
    webhookConcurrency: read(
      'WEBHOOK_CONCURRENCY',
      '8',
      'requests in progress for one webhook, on each machine',
      (text) => parseWhole(text, 1, 1_000),
    ),
    deliveryConcurrency: read(
      'DELIVERY_CONCURRENCY',
      '200',
      'requests in progress on each machine, except slow ones',
      (text) => parseWhole(text, 1, 10_000),
    ),
    webhooksPerGroup: read('WEBHOOKS_PER_GROUP', '100', 'webhooks per group', (text) => parseWhole(text, 1, 1_000)),
    alertsPerHour: read(
      'ALERTS_PER_HOUR',
      '30',
      'alerts to one channel in an hour; what exceeds it is sent as one summary; 0 = no limit',
      parseLimit,
    ),
    webhookKeep: {
      waitingRequests: read(
        'WEBHOOK_WAITING_REQUESTS',
        '100000',
        'queued requests per webhook; beyond it the oldest are dropped; 0 = no limit',
        parseLimit,
      ),
      waitingDays: read(
        'WEBHOOK_WAITING_DAYS',
        '30',
        'days until a queued request is dropped; 0 = no limit',
        parseLimit,
      ),
      storedOctets:
        MEBIBYTE *
        read(
          'WEBHOOK_STORED_MB',
          '4096',
          'storage for webhook requests per organization; beyond it the oldest are deleted; 0 = no limit',
          parseLimit,
        ),
    },
  }
}
