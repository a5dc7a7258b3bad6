import { useMutation } from '@tanstack/react-query'
import { ExternalLink } from 'lucide-react'
import type { PaymentPage } from '#contract/subscription.ts'
import { api } from '../api.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { useToast } from '../ui/toast.tsx'

/** Leads to the payment provider's own pages. */
export function BillingPortal() {
  const { can } = useSession()
  const toast = useToast()
  const open = useMutation({
    mutationFn: () => api.post<PaymentPage>('/organization/subscription/portal'),
    onSuccess: ({ url }) => location.assign(url),
    onError: toast.failed,
  })
  if (!can('own')) return null
  return (
    <Button size="sm" isBusy={open.isPending || open.isSuccess} onClick={() => open.mutate()}>
      Manage payment methods <ExternalLink />
    </Button>
  )
}
