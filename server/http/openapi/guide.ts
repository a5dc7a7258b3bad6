import { readFile } from 'node:fs/promises'

const FOLDER = new URL('../../../docs/', import.meta.url)

export type Guide = { description: string; tags: { name: string; description: string }[] }

/** The project's own documents, each where a reader of the description looks for it: `/docs` is all that many have. */
export async function readGuide(): Promise<Guide> {
  const [api, matching, webhooks] = await Promise.all(['api.md', 'matching.md', 'webhooks.md'].map(textOf))
  return {
    description: `Zonewatch watches DNS records and reports changes.\n\n${api}`,
    tags: [
      { name: 'Monitors', description: matching! },
      { name: 'Groups', description: 'Every monitor is in one group; webhooks hear of the changes in their groups.' },
      { name: 'Events', description: 'What changed, when and on which evidence. Events are made by checks alone.' },
      { name: 'Webhooks', description: webhooks! },
      { name: 'Agents', description: 'The people of the organization, and those who are invited.' },
      { name: 'Organization', description: 'Settings, billing and the plan.' },
      { name: 'Health', description: 'For whoever runs the server. No key is needed.' },
    ],
  }
}

/** Without its title and its pictures, which are not drawn here, and with links that lead to the other documents here. */
async function textOf(file: string): Promise<string> {
  const text = await readFile(new URL(file, FOLDER), 'utf8')
  return text
    .replace(/^# .*\n+/, '')
    .replaceAll(/^```mermaid\n[^`]*```\n+/gm, '')
    .replaceAll('](webhooks.md)', '](#tag/webhooks)')
    .replaceAll('](matching.md)', '](#tag/monitors)')
}
