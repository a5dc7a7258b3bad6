import ipaddr from 'ipaddr.js'

/** Whether an address means something on this machine or in its own network only: loopback, private, link-local, … */
export function isPrivateAddress(ip: string): boolean {
  const [address = ''] = ip.split('%')
  return ipaddr.process(address).range() !== 'unicast'
}
