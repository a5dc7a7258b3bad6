import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { run } from '#server/testing/server-process.ts'
import { eventually, givenFolder } from '#server/testing/test-server.ts'

const DEMO = [process.execPath, 'server/testing/demo.ts']

test('the demo prints at most 80 columns, no colors in a pipe, and leaves no files or processes behind', async () => {
  const folder = await givenFolder()
  const { code, stdout, stderr } = await run(['npm', 'run', '--silent', 'demo'], { TMPDIR: folder }).ended
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).not.toContain('\x1b')
  for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
  for (const word of ['Watch', 'Check', 'Change', 'Confirm', 'Report']) expect(stdout).toContain(word)
  expect(stdout).toContain('Standard Webhooks (id, time, body): holds')
  await expectNothingLeft(stdout, folder)
})

test.each(['SIGINT', 'SIGTERM'] as const)('%s during the demo leaves no files or processes behind', async (signal) => {
  const folder = await givenFolder()
  const demo = run(DEMO, { TMPDIR: folder })
  onTestFinished(() => demo.send('SIGKILL'))
  await eventually(
    async () => demo.stdout(),
    (output) => output.includes('ready after'),
  )
  demo.send(signal)
  const { code, stdout } = await demo.ended
  expect(code).toBe(signal === 'SIGINT' ? 130 : 143)
  await expectNothingLeft(stdout, folder)
})

test('a demo that cannot start says why in one sentence', async () => {
  const file = join(await givenFolder(), 'a-file')
  await writeFile(file, '')
  const { code, stdout, stderr } = await run(DEMO, { TMPDIR: file }).ended
  expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
  expect(stdout).toMatch(/✗ {2}The demo broke off: ENOTDIR/)
})

/** Expects an empty folder and no server at the printed addresses. */
async function expectNothingLeft(stdout: string, folder: string): Promise<void> {
  const npmCache = 'node-compile-cache'
  expect((await readdir(folder)).filter((name) => name !== npmCache)).toEqual([])
  const addresses = [...stdout.matchAll(/http:\/\/127\.0\.0\.1:\d+/g)].map(([address]) => address)
  expect(addresses.length).toBeGreaterThanOrEqual(2)
  for (const address of addresses) await expect(fetch(address)).rejects.toThrow()
}
