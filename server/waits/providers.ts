/**
 * DNS providers, recognized by the names of their name servers, and how to enter a record there. To add a provider, add an entry from its
 * documentation. The first entry that matches is used.
 */
export type Provider = {
  name: string
  /** Matches the names of its name servers, in lower case. */
  nameServers: RegExp
  /** The page where customers edit records. */
  url: string
  /** The label of the field for the name within the zone, and what to enter for the apex. */
  host: { label: string; apex: string }
  /** The alternative to a CNAME at the apex, which the DNS does not allow (RFC 1034 section 3.6.2). */
  apexCname: string
  /** Shown after the usual steps, in this order. `for`: the record types; all by default. */
  hints?: readonly { for?: readonly string[]; text: string }[]
}

const AT = { label: 'Name', apex: '@' }
const HOST_AT = { label: 'Host', apex: '@' }
const NO_APEX_CNAME =
  'It does not offer CNAME, ALIAS or ANAME records there. Use the www name instead, or ask for an address record.'
const FINAL_DOT = {
  for: ['CNAME', 'MX', 'NS', 'SRV', 'PTR'],
  text: 'Enter the value with a dot at its end. Without it, your domain is added to the value.',
}
const QUOTES = { for: ['TXT', 'SPF'], text: 'Put the value in quotation marks.' }

export const PROVIDERS: readonly Provider[] = [
  {
    name: 'Cloudflare',
    nameServers: /\.ns\.cloudflare\.com$/,
    url: 'https://dash.cloudflare.com/',
    host: AT,
    apexCname:
      'Cloudflare flattens it: the name then answers with addresses, which is not the CNAME record asked for here.',
    hints: [
      {
        for: ['A', 'AAAA', 'CNAME'],
        text: 'Set "Proxy status" to "DNS only". A proxied record answers with addresses of Cloudflare.',
      },
    ],
  },
  {
    name: 'Amazon Route 53',
    nameServers: /^ns-\d+\.awsdns-\d+\.(com|net|org|co\.uk)$/,
    url: 'https://console.aws.amazon.com/route53/v2/hostedzones',
    host: { label: 'Record name', apex: '' },
    apexCname: 'Route 53 offers alias records there, for targets at AWS only.',
    hints: [{ text: 'Leave "Alias" switched off, and choose the simple routing policy.' }, QUOTES],
  },
  {
    name: 'GoDaddy',
    nameServers: /\.domaincontrol\.com$/,
    url: 'https://dcc.godaddy.com/control/portfolio',
    host: AT,
    apexCname: NO_APEX_CNAME,
    hints: [{ for: ['A'], text: 'Delete the A record "Parked", if there is one with this name.' }],
  },
  {
    name: 'Namecheap',
    nameServers: /\.registrar-servers\.com$/,
    url: 'https://ap.www.namecheap.com/domains/list/',
    host: HOST_AT,
    apexCname: 'Namecheap offers an ALIAS record there.',
    hints: [{ text: 'The records are under "Advanced DNS". MX records are under "Mail Settings", as "Custom MX".' }],
  },
  {
    name: 'IONOS',
    nameServers: /\.ui-dns\.(com|org|de|biz)$/,
    url: 'https://my.ionos.com/domains',
    host: { label: 'Host name', apex: '@' },
    apexCname: NO_APEX_CNAME,
  },
  {
    name: 'Squarespace or Google Cloud DNS',
    nameServers: /\.(googledomains|squarespacedns)\.com$/,
    url: 'https://account.squarespace.com/domains',
    host: HOST_AT,
    apexCname: NO_APEX_CNAME,
    hints: [
      { text: 'Domains of Google Domains moved to Squarespace. If yours is in Google Cloud DNS, edit its zone there.' },
    ],
  },
  {
    name: 'Gandi',
    nameServers: /\.gandi\.net$/,
    url: 'https://admin.gandi.net/',
    host: AT,
    apexCname: 'Gandi offers an ALIAS record there.',
    hints: [FINAL_DOT],
  },
  {
    name: 'OVHcloud',
    // Not ns3000952.ovh.net, a rented server, and not sdns2.ovh.net, its secondary.
    nameServers: /^d?ns\d{1,3}\.(ovh\.(net|ca)|anycast\.me)$/,
    url: 'https://www.ovh.com/manager/#/web/domain',
    host: { label: 'Sub-domain', apex: '' },
    apexCname: NO_APEX_CNAME,
    hints: [{ text: 'The records are under "DNS zone".' }, FINAL_DOT],
  },
  {
    name: 'Hetzner',
    nameServers: /\.ns\.hetzner\.(com|de)$/,
    url: 'https://console.hetzner.com/',
    host: AT,
    apexCname: NO_APEX_CNAME,
    hints: [FINAL_DOT, QUOTES],
  },
  {
    name: 'DigitalOcean',
    nameServers: /^ns\d\.digitalocean\.com$/,
    url: 'https://cloud.digitalocean.com/networking/domains',
    host: { label: 'Hostname', apex: '@' },
    apexCname: NO_APEX_CNAME,
    hints: [FINAL_DOT],
  },
  {
    name: 'Azure DNS',
    nameServers: /\.azure-dns\.(com|net|org|info)$/,
    url: 'https://portal.azure.com/',
    host: AT,
    apexCname: 'Azure offers alias records there, for resources at Azure only.',
  },
  {
    name: 'Porkbun',
    nameServers: /\.ns\.porkbun\.com$|^(curitiba|fortaleza|maceio|salvador)\.porkbun\.com$/,
    url: 'https://porkbun.com/account/domainsSpeedy',
    host: { label: 'Host', apex: '' },
    apexCname: 'Porkbun offers an ALIAS record there.',
  },
  {
    name: 'DNSimple',
    nameServers: /\.dnsimple(-edge)?\.(com|net|org)$/,
    url: 'https://dnsimple.com/dashboard',
    host: { label: 'Name', apex: '' },
    apexCname: 'DNSimple offers an ALIAS record there.',
  },
  {
    name: 'Vercel',
    nameServers: /\.vercel-dns\.com$/,
    url: 'https://vercel.com/dashboard/domains',
    host: AT,
    apexCname: 'Vercel offers an ALIAS record there.',
  },
  {
    name: 'Wix',
    nameServers: /\.wixdns\.net$/,
    url: 'https://manage.wix.com/account/domains',
    host: { label: 'Host Name', apex: '' },
    apexCname: NO_APEX_CNAME,
  },
  {
    name: 'name.com',
    nameServers: /\.name\.com$/,
    url: 'https://www.name.com/account/domain',
    host: { label: 'Host', apex: '' },
    apexCname: 'name.com offers an ANAME record there.',
  },
  {
    name: 'STRATO',
    nameServers: /\.rzone\.de$/,
    url: 'https://www.strato.de/apps/CustomerService',
    host: { label: 'Präfix', apex: '' },
    apexCname: NO_APEX_CNAME,
  },
  {
    name: 'INWX',
    nameServers: /\.inwx\.(de|eu|net)$/,
    url: 'https://www.inwx.com/en/nameserver2',
    host: { label: 'Name', apex: '' },
    apexCname: 'INWX offers an ALIAS record there.',
  },
  {
    name: 'Infomaniak',
    nameServers: /\.infomaniak\.(com|ch)$/,
    url: 'https://manager.infomaniak.com/',
    host: { label: 'Source', apex: '' },
    apexCname: NO_APEX_CNAME,
  },
  {
    name: 'TransIP',
    nameServers: /\.transip\.(net|nl|eu)$/,
    url: 'https://www.transip.nl/cp/',
    host: AT,
    apexCname: 'TransIP offers an ALIAS record there.',
    hints: [FINAL_DOT],
  },
]

export function providerOf(nameServers: readonly string[]): Provider | undefined {
  return PROVIDERS.find((provider) => nameServers.some((name) => provider.nameServers.test(name.toLowerCase())))
}

/** The usual steps at the provider. */
export function stepsOf({ name, host: { label, apex } }: Provider, zone: string, isApex: boolean): string[] {
  const atApex = apex === '' ? `leave "${label}" empty` : `enter ${apex} as "${label}"`
  return [
    `Sign in to ${name} and open the DNS records of ${zone}.`,
    isApex
      ? `Add the record below. For the domain itself, ${atApex}.`
      : `Add the record below. As "${label}", enter the short name: ${name} adds ${zone} automatically.`,
    'Save. This page updates automatically when the record is found. With most providers this takes less than 15 minutes.',
  ]
}

/** What to know about a record of this type at this provider. */
export function hintsOf(provider: Provider | undefined, type: string, isApex: boolean): string[] {
  const hints = (provider?.hints ?? [])
    .filter(({ for: types }) => !types || types.includes(type))
    .map(({ text }) => text)
  if (type !== 'CNAME' || !isApex) return hints
  const offered = provider ? ` ${provider.apexCname}` : ''
  return [...hints, `The domain itself cannot have a CNAME record.${offered}`]
}
