/** The methods that change nothing. RFC 9110 section 9.2.1. */
export const READ_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/** The methods that change something. Their requests can have a body. */
export const WRITE_METHODS: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])
