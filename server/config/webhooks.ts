import { parseInteger, parseLimit, type ReadSetting } from './parse.ts'

const MEBIBYTE = 1024 * 1024

export function readWebhookSettings(read: ReadSetting) {
  return {
    webhookConcurrency: read(
      'WEBHOOK_CONCURRENCY',
      '8',
      'requests in progress for one webhook, on each machine',
      (text) => parseInteger(text, 1, 1_000),
    ),
    deliveryConcurrency: read(
      'DELIVERY_CONCURRENCY',
      '200',
      'requests in progress on each machine, except slow ones',
      (text) => parseInteger(text, 1, 10_000),
    ),
    webhooksPerGroup: read('WEBHOOKS_PER_GROUP', '100', 'webhooks per group', (text) => parseInteger(text, 1, 1_000)),
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
      storedBytes:
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
