const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']

/** For people: `12.3 MiB`. */
export function shownOctets(octets: number): string {
  const power = octets < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(octets) / 10))
  const value = octets / 1_024 ** power
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[power]}`
}
