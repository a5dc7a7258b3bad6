import { expect, onTestFinished, test } from 'vitest'
import { givenImage, runMainWorkflow } from './container.ts'

test('the arm64 image runs the main workflow, emulated by QEMU on other machines', async () => {
  const image = givenImage('arm64')
  onTestFinished(() => image.remove())
  expect(await runMainWorkflow(image)).toMatchObject({ architecture: 'arm64' })
})
