/** Whether the serial `one` comes before `other`. False if the difference is exactly 2^31. RFC 1982 section 3.2. */
export const isOlderSerial = (one: number, other: number): boolean => ((other - one) | 0) > 0
