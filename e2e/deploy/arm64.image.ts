import { expect, onTestFinished, test } from 'vitest'
import { doesMainJob, givenImage } from './container.ts'

test('the image for arm64 does the main job; on another machine QEMU emulates it', async () => {
  const image = givenImage('arm64')
  onTestFinished(() => image.remove())
  expect(await doesMainJob(image)).toMatchObject({ architecture: 'arm64' })
})
