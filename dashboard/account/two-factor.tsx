import { useQueryClient } from '@tanstack/react-query'
import { ShieldCheck } from 'lucide-react'
import { useState } from 'react'
import type { BackupCodes, SecondFactor } from '#contract/account.ts'
import { api } from '../api.ts'
import { ME, useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Input } from '../ui/field.tsx'
import { Section } from '../ui/page.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { Badge } from '../ui/state.tsx'
import { useToast } from '../ui/toast.tsx'
import { useSubmit } from './form.ts'
import { QrCode } from './qr-code.tsx'
import { RecoveryCodes } from './recovery-codes.tsx'

type Step =
  | { kind: 'password'; act: 'enable' | 'disable' | 'generate-backup-codes' }
  | { kind: 'scan'; made: SecondFactor }
  | { kind: 'codes'; codes: string[] }

const TITLES = {
  enable: 'Turn on two-factor authentication',
  disable: 'Turn off two-factor authentication',
  'generate-backup-codes': 'New recovery codes',
}

/** A second factor: codes of an authenticator app (RFC 6238), and recovery codes for when the phone is lost. */
export function TwoFactor() {
  const { me } = useSession()
  const queries = useQueryClient()
  const toast = useToast()
  const [step, setStep] = useState<Step>()
  const isOn = me.person.two_factor
  const refresh = () => queries.invalidateQueries({ queryKey: ME })
  const ask = (act: 'enable' | 'disable' | 'generate-backup-codes') => setStep({ kind: 'password', act })

  const confirmed = async (act: 'enable' | 'disable' | 'generate-backup-codes', password: string) => {
    const path = `/dashboard/auth/two-factor/${act}`
    if (act === 'enable') return setStep({ kind: 'scan', made: await api.post<SecondFactor>(path, { password }) })
    if (act === 'generate-backup-codes') {
      return setStep({ kind: 'codes', codes: (await api.post<BackupCodes>(path, { password })).backupCodes })
    }
    await api.post(path, { password })
    await refresh()
    setStep(undefined)
    toast.done('You sign in with your password only.')
  }

  return (
    <Section
      title="Two-factor authentication"
      hint="Signing in also asks for a code from your authenticator app."
      actions={isOn ? <Badge tone="good" icon={ShieldCheck} label="On" /> : <Badge tone="idle" label="Off" />}
    >
      <div className="flex flex-wrap gap-2">
        {isOn ? (
          <>
            <Button onClick={() => ask('generate-backup-codes')}>New recovery codes</Button>
            <Button variant="danger" onClick={() => ask('disable')}>
              Turn off
            </Button>
          </>
        ) : (
          <Button onClick={() => ask('enable')}>Set up</Button>
        )}
      </div>
      <Dialog
        isOpen={step !== undefined}
        onClose={() => setStep(undefined)}
        title={
          step?.kind === 'password' ? TITLES[step.act] : step?.kind === 'scan' ? TITLES.enable : 'Your recovery codes'
        }
      >
        {step?.kind === 'password' && <PasswordStep onConfirm={(password) => confirmed(step.act, password)} />}
        {step?.kind === 'scan' && (
          <ScanStep
            made={step.made}
            onConfirm={async (code) => {
              await api.post('/dashboard/auth/two-factor/verify-totp', { code })
              await refresh()
              setStep({ kind: 'codes', codes: step.made.backupCodes })
            }}
          />
        )}
        {step?.kind === 'codes' && <RecoveryCodes codes={step.codes} onDone={() => setStep(undefined)} />}
      </Dialog>
    </Section>
  )
}

function PasswordStep({ onConfirm }: { onConfirm: (password: string) => Promise<unknown> }) {
  const { isBusy, problem, onSubmit } = useSubmit((given) => onConfirm(String(given.get('password'))))
  return (
    <form onSubmit={onSubmit} className="flex flex-col gap-4">
      <Field label="Current password">
        <Input name="password" type="password" autoComplete="current-password" required autoFocus />
      </Field>
      {problem !== undefined && <ProblemNote problem={problem} />}
      <Button type="submit" variant="primary" isBusy={isBusy} className="self-end">
        Continue
      </Button>
    </form>
  )
}

function ScanStep({ made, onConfirm }: { made: SecondFactor; onConfirm: (code: string) => Promise<unknown> }) {
  const { isBusy, problem, onSubmit } = useSubmit((given) => onConfirm(String(given.get('code')).replaceAll(' ', '')))
  const secret = new URL(made.totpURI).searchParams.get('secret') ?? ''
  return (
    <form onSubmit={onSubmit} className="flex flex-col gap-4">
      <p className="text-sm text-soft">Scan this QR code with your authenticator app, then enter the code it shows.</p>
      <QrCode text={made.totpURI} label="QR code for two-factor authentication" />
      <p className="text-xs text-faint">
        Or enter this key: <span className="font-mono break-all text-ink">{secret}</span>
      </p>
      <Field label="Six-digit code">
        <Input name="code" isCode inputMode="numeric" autoComplete="one-time-code" maxLength={7} required />
      </Field>
      {problem !== undefined && <ProblemNote problem={problem} />}
      <Button type="submit" variant="primary" isBusy={isBusy} className="self-end">
        Turn on
      </Button>
    </form>
  )
}
