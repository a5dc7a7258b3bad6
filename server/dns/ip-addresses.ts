import { isIPv4, isIPv6 } from 'node:net'

/** The 4 or 16 octets of an IP address; undefined for other text, also for an address with an IPv6 zone (`%eth0`). */
export function addressOctets(text: string): Uint8Array | undefined {
  if (isIPv4(text)) return Uint8Array.from(text.split('.'), Number)
  if (!isIPv6(text) || text.includes('%')) return undefined
  const [head = '', tail] = text.split('::')
  const front = groups(head)
  const back = tail === undefined ? [] : groups(tail)
  const zeros = new Array<number>(8 - front.length - back.length).fill(0)
  return Uint8Array.from([...front, ...zeros, ...back].flatMap((group) => [group >> 8, group & 255]))
}

/** The canonical text of an IP address; undefined for other text. RFC 5952. */
export function canonicalAddress(text: string): string | undefined {
  const octets = addressOctets(text)
  if (octets === undefined) return undefined
  return octets.length === 4 ? octets.join('.') : ipv6Text(octets)
}

/** The text of 16 octets; IPv4-mapped addresses as `::ffff:192.0.2.1`. RFC 5952 section 5. */
export function ipv6Text(octets: Uint8Array): string {
  if (isMapped(octets)) return `::ffff:${octets.subarray(12).join('.')}`
  const words: number[] = []
  for (let index = 0; index < 16; index += 2) words.push((octets[index]! << 8) | octets[index + 1]!)
  const { from, length } = longestZeroRun(words)
  const hex = words.map((word) => word.toString(16))
  if (length < 2) return hex.join(':')
  return `${hex.slice(0, from).join(':')}::${hex.slice(from + length).join(':')}`
}

/** The owner name of the PTR records of an address; undefined for other text. RFC 1035 section 3.5, RFC 3596 section 2.5. */
export function reverseName(ip: string): string | undefined {
  const octets = addressOctets(ip)
  if (octets === undefined) return undefined
  if (octets.length === 4) return `${octets.reverse().join('.')}.in-addr.arpa`
  const nibbles = Array.from(octets).flatMap((octet) => [octet >> 4, octet & 15])
  const digits = nibbles.map((nibble) => nibble.toString(16))
  return `${digits.reverse().join('.')}.ip6.arpa`
}

function groups(text: string): number[] {
  if (text === '') return []
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)]
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number)
    return [(a << 8) | b, (c << 8) | d]
  })
}

function isMapped(octets: Uint8Array): boolean {
  return octets[10] === 255 && octets[11] === 255 && octets.subarray(0, 10).every((octet) => octet === 0)
}

// The first one if several are equally long. RFC 5952 section 4.2.3.
function longestZeroRun(words: number[]): { from: number; length: number } {
  let best = { from: 0, length: 0 }
  for (let from = 0; from < words.length; from++) {
    let length = 0
    while (words[from + length] === 0) length++
    if (length > best.length) best = { from, length }
    from += length
  }
  return best
}
