import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { CopyButton, Snippet } from '../ui/copy.tsx'
import { Skeleton } from '../ui/page.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { type Tab, Tabs } from '../ui/tabs.tsx'

/** The receivers of examples/, which are tested against a real server. Each is loaded when it is shown. */
const RECEIVERS = {
  node: {
    label: 'Node.js',
    file: 'receive.ts',
    run: 'PORT=8000 node receive.ts',
    code: () => import('../../examples/receive-webhook/receive.ts?raw'),
  },
  python: {
    label: 'Python',
    file: 'receive.py',
    run: 'PORT=8000 python3 receive.py',
    code: () => import('../../examples/receive-webhook/receive.py?raw'),
  },
  go: {
    label: 'Go',
    file: 'receive.go',
    run: 'PORT=8000 go run receive.go',
    code: () => import('../../examples/receive-webhook/receive.go?raw'),
  },
  php: {
    label: 'PHP',
    file: 'receive.php',
    run: 'php -S 127.0.0.1:8000 receive.php',
    code: () => import('../../examples/receive-webhook/receive.php?raw'),
  },
  ruby: {
    label: 'Ruby',
    file: 'receive.rb',
    run: 'PORT=8000 ruby receive.rb',
    code: () => import('../../examples/receive-webhook/receive.rb?raw'),
  },
} as const
type Language = keyof typeof RECEIVERS

/** Example receivers, ready to run. */
export function Receivers({ secret }: { secret?: string }) {
  const [language, setLanguage] = useState<Language>('node')
  const tabs = Object.entries(RECEIVERS).map(
    ([value, { label }]): Tab<Language> => ({
      value: value as Language,
      label,
      content: <Receiver language={value as Language} secret={secret} />,
    }),
  )
  return <Tabs label="Language" value={language} onChange={setLanguage} tabs={tabs} />
}

function Receiver({ language, secret }: { language: Language; secret: string | undefined }) {
  const { file, run, code } = RECEIVERS[language]
  const { data, error } = useQuery({
    queryKey: ['receivers', language],
    queryFn: async () => (await code()).default,
    staleTime: Number.POSITIVE_INFINITY,
  })
  return (
    <div className="flex flex-col gap-3">
      <div>
        <div className="mb-1.5 flex items-center justify-between gap-4">
          <p className="font-mono text-xs text-faint">{file}</p>
          {data && <CopyButton text={data} label="Copy code" hasLabel />}
        </div>
        {error ? <ProblemNote problem={error} /> : data ? <CodeBox text={data} label={file} /> : <Skeleton lines={6} />}
      </div>
      <div>
        <p className="mb-1 text-xs text-faint">Run it</p>
        <Snippet text={`WEBHOOK_SECRET=${shellQuote(secret ?? 'your secret')} ${run}`} label="Copy command" />
      </div>
    </div>
  )
}

const CodeBox = ({ text, label }: { text: string; label: string }) => (
  <section
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    tabIndex={0}
    aria-label={label}
    className="max-h-72 overflow-auto rounded-md border border-line bg-sunken px-3 py-2"
  >
    <pre className="font-mono text-xs leading-5">{text.trimEnd()}</pre>
  </section>
)

const shellQuote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
