#!/usr/bin/env node
import { existsSync } from 'node:fs'
import module from 'node:module'
import { fileURLToPath } from 'node:url'

// Plain JavaScript that an old Node.js can parse: it has to say this sentence.
const NEEDED = 26
if (Number(process.versions.node.split('.')[0]) < NEEDED) {
  process.stderr.write(
    `Zonewatch needs Node.js ${NEEDED} or newer; this is ${process.version}. Install it from https://nodejs.org.\n`,
  )
  process.exit(1)
}
// A start takes half as long, and a process does not load what strips the types, which takes 12 MB.
module.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url)))
const source = new URL('../server/main.ts', import.meta.url)
import(existsSync(source) ? source.href : new URL('../server/main.js', import.meta.url).href)
