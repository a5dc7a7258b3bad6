import type { NetworkCheck } from '../dns/network-check.ts'
import { verifySmtp } from '../mail/smtp.ts'
import type { SafeFetch } from '../safe-http/safe-fetch.ts'
import { type Finding, failure, ok, warning } from './finding.ts'

export async function checkCanaries(
  networkCheck: NetworkCheck | undefined,
  names: readonly string[],
): Promise<Finding> {
  const check = 'canaries'
  if (!networkCheck)
    return warning(
      check,
      'off (DNS_CANARIES): an outage of your network looks like failures of the monitored names',
      'Remove DNS_CANARIES, or set it to names that your resolvers always know.',
    )
  switch (await networkCheck.state()) {
    case 'ok':
      return ok(check, `${names.join(', ')}: at least one resolves, past the cache of the resolver`)
    case 'captive_portal':
      return failure(
        check,
        'they resolve to the same address as every other name',
        'The network requires a login first (captive portal). Log in, or use another resolver.',
      )
    case 'offline':
      return failure(
        check,
        `none of ${names.join(', ')} resolves`,
        'Check the network of this machine and DNS_SERVERS; without public DNS set DNS_CANARIES=off.',
      )
  }
}

/** Connects, starts TLS and signs in. Sends no email. */
export async function checkSmtp(smtp: { url: string } | null): Promise<Finding> {
  const check = 'SMTP'
  if (smtp === null) return warning(check, 'not set: emails are written to the log only', 'Set SMTP_URL and MAIL_FROM.')
  const { host } = new URL(smtp.url)
  const problem = await verifySmtp(smtp.url)
  if (problem === undefined) return ok(check, `${host} accepts the sign-in`)
  switch (problem.kind) {
    case 'sign-in':
      return failure(check, `${host} refuses the sign-in: ${problem.reason}`, 'Check user and password in SMTP_URL.')
    case 'tls':
      return failure(
        check,
        `${host}: ${problem.reason}`,
        problem.remedy ?? 'Check the port and smtp:// or smtps://, and the certificate of the mail server.',
      )
    case 'connection':
      return failure(
        check,
        `${host}: ${problem.reason}`,
        problem.remedy ?? 'Check host and port of SMTP_URL, and that this machine can connect to it.',
      )
  }
}

/** Opens a connection with TLS to each URL, through WEBHOOK_PROXY if set. Sends no request. */
export async function checkEgress(
  urls: readonly string[],
  safeFetch: SafeFetch,
  proxy: URL | null,
): Promise<Finding[]> {
  const check = 'webhook egress'
  if (urls.length === 0) return [ok(check, 'no webhook to try')]
  const results = await Promise.all(
    urls.map(async (url) => ({
      host: new URL(url).host,
      result: await safeFetch.post(url, {}, Buffer.alloc(0), undefined, async () => false),
    })),
  )
  const failed = results.flatMap(({ host, result }) => ('reason' in result ? [`${host}: ${result.reason}`] : []))
  const through = proxy === null ? '' : ` through ${proxy.host}`
  if (failed.length === 0) return [ok(check, `connected to ${results.map(({ host }) => host).join(', ')}${through}`)]
  if (failed.length < results.length) {
    return [warning(check, failed.join('; '), 'Other endpoints can be reached. Check these.')]
  }
  const remedy =
    proxy === null
      ? 'Allow outgoing connections, set WEBHOOK_PROXY, or allow the networks in WEBHOOK_ALLOWED_NETWORKS.'
      : 'Check WEBHOOK_PROXY and what the proxy allows.'
  return [failure(check, `none can be reached${through}: ${failed.join('; ')}`, remedy)]
}
