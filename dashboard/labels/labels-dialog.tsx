import { useState } from 'react'
import { buildUrl } from '../api.ts'
import { EditDialog } from '../edit/edit-dialog.tsx'
import { Field, Input, TextArea } from '../ui/field.tsx'
import { fieldError } from '../ui/problem.tsx'
import { useToast } from '../ui/toast.tsx'
import { LABEL_FIELDS, LABELS_INCLUDE, labelsDraftOf, parsePairs } from './labels-draft.ts'

type DialogProps = {
  /** The path of the monitor or group in the API. */
  path: string
  onSaved: () => Promise<unknown>
  onClose: () => void
}

/** Edits tags, external id and metadata. */
export function LabelsDialog({ path, onSaved, onClose }: DialogProps) {
  const toast = useToast()
  const [isSubmitted, setSubmitted] = useState(false)
  return (
    <EditDialog
      title="Edit labels"
      description="Your own id, tags and metadata, for filters and integrations."
      path={buildUrl(path, { include: LABELS_INCLUDE })}
      fields={LABEL_FIELDS}
      paths={Object.keys(LABEL_FIELDS)}
      formOf={labelsDraftOf}
      noValidate
      beforeSave={({ form }) => {
        setSubmitted(true)
        return parsePairs(form.metadata).problem === undefined
      }}
      onSaved={async () => {
        await onSaved()
        toast.done('Saved.')
      }}
      onClose={onClose}
    >
      {({ form, set, problem }) => (
        <>
          <Field
            label="Tags"
            isOptional
            hint="Separated by spaces. Case-sensitive."
            error={fieldError(problem, 'tags')}
          >
            <Input
              isCode
              value={form.tags}
              onChange={(event) => set({ tags: event.target.value })}
              placeholder="prod eu"
            />
          </Field>
          <Field
            label="External id"
            isOptional
            hint="The id in your own system, unique within the organization."
            error={fieldError(problem, 'external_id')}
          >
            <Input
              isCode
              maxLength={128}
              value={form.external_id}
              onChange={(event) => set({ external_id: event.target.value })}
              placeholder="customer-300/www"
            />
          </Field>
          <Field
            label="Metadata"
            isOptional
            hint="One key=value per line."
            error={(isSubmitted ? parsePairs(form.metadata).problem : undefined) ?? fieldError(problem, 'metadata')}
          >
            <TextArea
              isCode
              rows={4}
              value={form.metadata}
              onChange={(event) => set({ metadata: event.target.value })}
              placeholder="customer=acme"
            />
          </Field>
        </>
      )}
    </EditDialog>
  )
}
