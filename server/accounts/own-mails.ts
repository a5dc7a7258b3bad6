import { sql } from 'kysely'

/**
 * Of the mails to a user's address: all, if the user has proved that the address is theirs. Otherwise those about the account and of the
 * user's organizations, because the others may be for the person who really has the address.
 */
export const isOwnMail = (userId: string) =>
  sql<boolean>`(mails.organization_id is null
    or mails.organization_id in (select organization_id from agents where person_id = ${userId})
    or exists (select 1 from people where id = ${userId} and email_verified = 1))`
