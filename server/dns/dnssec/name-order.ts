import { isSubdomain, nameToWire } from '../names.ts'

/** The labels of a canonical name; none for the root. */
export function labelsOf(name: string): string[] {
  return name === '' ? [] : name.split('.')
}

/** Without the root and a leading asterisk, as in the Labels field of RRSIG. RFC 4034 section 3.1.3. */
export function labelCount(name: string): number {
  const labels = labelsOf(name)
  return labels[0] === '*' ? labels.length - 1 : labels.length
}

/** The last `count` labels of a name. */
export function lastLabels(name: string, count: number): string {
  const labels = labelsOf(name)
  return labels.slice(Math.max(0, labels.length - count)).join('.')
}

export const wildcardOf = (closestEncloser: string): string => (closestEncloser === '' ? '*' : `*.${closestEncloser}`)

/** Negative if `one` comes first in the canonical order: label by label from the right, as octets. RFC 4034 section 6.1. */
export function compareNames(one: string, other: string): number {
  const ones = wireLabels(one)
  const others = wireLabels(other)
  for (let index = 1; index <= Math.min(ones.length, others.length); index++) {
    const order = Buffer.compare(ones.at(-index)!, others.at(-index)!)
    if (order !== 0) return order
  }
  return ones.length - others.length
}

/** The longest name that both are at or below. */
export function commonAncestor(one: string, other: string): string {
  const ones = labelsOf(one)
  const others = labelsOf(other)
  let count = 0
  while (count < Math.min(ones.length, others.length) && ones.at(-1 - count) === others.at(-1 - count)) count++
  return lastLabels(one, count)
}

/** Whether a name is below another one, and not the same. */
export const isBelow = (name: string, ancestor: string): boolean => name !== ancestor && isSubdomain(name, ancestor)

function wireLabels(name: string): Buffer[] {
  const octets = nameToWire(name)
  const labels: Buffer[] = []
  for (let at = 0; octets[at] !== 0; at += 1 + octets[at]!) labels.push(octets.subarray(at + 1, at + 1 + octets[at]!))
  return labels
}
