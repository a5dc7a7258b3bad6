import { FileUp } from 'lucide-react'
import { type DragEvent, type FormEvent, useRef, useState } from 'react'
import { download } from '../../download.ts'
import { Button } from '../../ui/button.tsx'
import { cx } from '../../ui/class-names.ts'
import { CopyButton } from '../../ui/copy.tsx'
import { Field, Input, TextArea } from '../../ui/field.tsx'
import { Section } from '../../ui/page.tsx'
import { fieldError, ProblemNote } from '../../ui/problem.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { detectSource, type ImportInput, inputError, SAMPLE_CSV, type Source } from './input.ts'

type SourceProps = {
  input: ImportInput
  onChange: (input: ImportInput) => void
  onSubmit: (input: ImportInput) => void
  isBusy: boolean
  problem: unknown
}

/** The first step: source and input. A file can be dropped anywhere on it. */
export function ImportSource({ input, onChange, onSubmit, isBusy, problem }: SourceProps) {
  const [inputProblem, setInputProblem] = useState<string>()
  const [isDragOver, setDragOver] = useState(false)
  const submit = (next: ImportInput) => {
    const message = inputError(next)
    setInputProblem(message)
    if (message === undefined) onSubmit(next)
  }
  const readFile = async (file: File | undefined) => {
    if (!file) return
    const text = await file.text()
    const { from, origin } = detectSource(file.name, text)
    const next = { ...input, from, [from]: text, origin: origin || input.origin }
    onChange(next)
    submit(next)
  }
  const drop = (event: DragEvent) => {
    event.preventDefault()
    setDragOver(false)
    void readFile(event.dataTransfer.files[0])
  }
  const set = (change: Partial<ImportInput>) => {
    setInputProblem(undefined)
    onChange({ ...input, ...change })
  }
  const errorOf = (field: Source) => (input.from === field ? (inputProblem ?? fieldError(problem, field)) : undefined)
  const tabProps = { input, set, errorOf, onFile: readFile, problem }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a file can also be chosen with a button
    <div
      onDragOver={(event) => {
        event.preventDefault()
        setDragOver(true)
      }}
      onDragLeave={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setDragOver(false)
      }}
      onDrop={drop}
    >
      <Section className={cx('transition-colors', isDragOver && 'border-accent! bg-accent-wash!')}>
        <form
          onSubmit={(event: FormEvent) => {
            event.preventDefault()
            submit(input)
          }}
          className="-mt-2 flex flex-col gap-4"
        >
          <Tabs<Source>
            label="Source"
            value={input.from}
            onChange={(from) => set({ from })}
            tabs={[
              { value: 'zone', label: 'Zone file', content: <ZoneFile {...tabProps} /> },
              { value: 'csv', label: 'CSV', content: <Csv {...tabProps} /> },
              { value: 'domain', label: 'Discover a domain', content: <Domain {...tabProps} /> },
            ]}
          />
          {problem !== undefined && <ProblemNote problem={problem} fields={['zone', 'csv', 'domain', 'origin']} />}
          <div className="flex flex-wrap items-center justify-end gap-x-4 gap-y-2">
            <p className="text-xs text-faint">The preview does not create anything.</p>
            <Button type="submit" variant="primary" isBusy={isBusy}>
              {input.from === 'domain' ? 'Discover' : 'Preview'}
            </Button>
          </div>
        </form>
      </Section>
    </div>
  )
}

type TabProps = {
  input: ImportInput
  set: (change: Partial<ImportInput>) => void
  errorOf: (field: Source) => string | undefined
  onFile: (file: File | undefined) => unknown
  problem: unknown
}

function ZoneFile({ input, set, errorOf, onFile, problem }: TabProps) {
  return (
    <div className="flex flex-col gap-4">
      <Field
        label="Zone file"
        hint="In BIND format, as most DNS providers export it. Records with the same name and type become one monitor."
        error={errorOf('zone')}
      >
        <TextArea
          isCode
          rows={10}
          className="h-60 text-xs"
          placeholder={'$ORIGIN example.com.\n@    300 IN MX 10 mail\nwww  300 IN A  192.0.2.1'}
          value={input.zone}
          onChange={(event) => set({ zone: event.target.value })}
        />
      </Field>
      <div className="flex flex-wrap items-end justify-between gap-4">
        <Field
          label="Zone name"
          isOptional
          hint="Required if the file has no $ORIGIN."
          error={fieldError(problem, 'origin')}
          className="w-full sm:w-72"
        >
          <Input
            isCode
            placeholder="example.com"
            maxLength={255}
            value={input.origin}
            onChange={(event) => set({ origin: event.target.value })}
          />
        </Field>
        <FileButton onFile={onFile} />
      </div>
    </div>
  )
}

function Csv({ input, set, errorOf, onFile, problem }: TabProps) {
  return (
    <div className="flex flex-col gap-4">
      <Field
        label="CSV"
        hint="The first line is the header: name, type, value and optionally exact, group, notify, frequency, external_id, tags, metadata. Lines with the same name and type become one monitor."
        error={errorOf('csv') ?? (input.from === 'csv' ? fieldError(problem, 'origin') : undefined)}
      >
        <TextArea
          isCode
          rows={10}
          className="h-60 text-xs"
          placeholder={SAMPLE_CSV}
          value={input.csv}
          onChange={(event) => set({ csv: event.target.value })}
        />
      </Field>
      <div className="flex flex-wrap items-center justify-between gap-2">
        <div className="flex flex-wrap gap-2">
          <CopyButton hasLabel text={SAMPLE_CSV} label="Copy sample" />
          <Button size="sm" onClick={() => download('zonewatch-sample.csv', SAMPLE_CSV)}>
            Download sample
          </Button>
        </div>
        <FileButton onFile={onFile} />
      </div>
    </div>
  )
}

function Domain({ input, set, errorOf }: TabProps) {
  return (
    <Field
      label="Domain"
      hint="Zonewatch looks up the common records: addresses, www, mail, SPF, DMARC, common DKIM selectors, name servers, CAA. It does not find other names."
      error={errorOf('domain')}
      className="max-w-xl"
    >
      <Input
        isCode
        placeholder="example.com"
        maxLength={255}
        value={input.domain}
        onChange={(event) => set({ domain: event.target.value })}
      />
    </Field>
  )
}

function FileButton({ onFile }: { onFile: (file: File | undefined) => unknown }) {
  const fileInput = useRef<HTMLInputElement>(null)
  return (
    <>
      <input
        ref={fileInput}
        type="file"
        hidden
        aria-label="File"
        onChange={(event) => {
          onFile(event.target.files?.[0])
          // So that the same file can be chosen again after a correction.
          event.target.value = ''
        }}
      />
      <Button onClick={() => fileInput.current?.click()}>
        <FileUp /> Choose a file or drop it here
      </Button>
    </>
  )
}
