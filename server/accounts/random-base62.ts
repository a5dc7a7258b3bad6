import { randomInt } from 'node:crypto'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

export const randomBase62 = (length: number): string => Array.from({ length }, () => BASE62[randomInt(62)]).join('')
