/** More than fits into one UDP answer of 1,232 octets, and no more than a monitor can expect. */
export const BIG_TEXTS = Array.from({ length: 9 }, (_, at) => `${at}-${'x'.repeat(200)}`)

/** A DKIM key of 2048 bits takes more than the 255 octets of one string. */
export const DKIM = `v=DKIM1; k=rsa; p=${'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA'.repeat(9)}IDAQAB`
export const DKIM_CHUNKS = [DKIM.slice(0, 255), DKIM.slice(255)]
