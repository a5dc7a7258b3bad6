import type { ServerAddress } from '../outcome.ts'

/** The root servers, a to m, as IANA's root hints list them (named.root): those of one family stand singleFlight. */
const ROOT_ADDRESSES = [
  '198.41.0.4',
  '170.247.170.2',
  '192.33.4.12',
  '199.7.91.13',
  '192.203.230.10',
  '192.5.5.241',
  '192.112.36.4',
  '198.97.190.53',
  '192.36.148.17',
  '192.58.128.30',
  '193.0.14.129',
  '199.7.83.42',
  '202.12.27.33',
  '2001:503:ba3e::2:30',
  '2801:1b8:10::b',
  '2001:500:2::c',
  '2001:500:2d::d',
  '2001:500:a8::e',
  '2001:500:2f::f',
  '2001:500:12::d0d',
  '2001:500:1::53',
  '2001:7fe::53',
  '2001:503:c27::2:30',
  '2001:7fd::1',
  '2001:500:9f::42',
  '2001:dc3::35',
]

export const ROOT_SERVERS: readonly ServerAddress[] = ROOT_ADDRESSES.map((ip) => ({ ip, port: 53 }))
