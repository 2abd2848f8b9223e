import { userInfo } from 'node:os';
import { Flags } from '@oclif/core';
import { FleetError } from '#bundles/errors';
import { type Asking, ask, canAsk } from '#cli/ask';
import type { By } from '../hub/store/open-store.ts';
import { checkReason } from '../release/audit/decide.ts';

/** Person and reason of a change that the audit log names. */
export const personFlags = {
  person: Flags.string({ description: 'Person who changes it [default: the name of this user]' }),
  reason: Flags.string({ description: 'Reason; it is signed into the audit log' }),
};

/** The reason of a decision that is not taken without one. */
export const reasonFlag = Flags.string({
  required: true,
  description: 'Reason; it is signed into the audit log',
});

/** For verbs that take something away. */
export const removalReasonFlags = {
  person: personFlags.person,
  reason: Flags.string({
    description: 'Reason; it is signed into the audit log. Required without a terminal, asked for at one',
  }),
};

/** For verbs whose `--person` is somebody else. */
export const operatorFlag = Flags.string({
  description: 'Person who runs this, for the audit log [default: the name of this user]',
});

/** For verbs that take something away with one of their flags. */
export const optionalRemovalReasonFlags = (flag: string) => ({
  person: personFlags.person,
  reason: Flags.string({
    description: `Reason; it is signed into the audit log. With ${flag} required without a terminal, asked for at one`,
  }),
});

type Given = { readonly person?: string | undefined; readonly reason?: string | undefined };

const MAX_PERSON = 256;

/** @throws FleetError USAGE for a name that no statement can have */
export const personOf = ({ person = userInfo().username }: Given): string => {
  if (person.trim() !== '' && person.length <= MAX_PERSON) return person;
  throw new FleetError('USAGE', `the name of a person has 1 to ${MAX_PERSON} characters`, {
    hint: 'Give --person with the name of the person who decides',
  });
};

/** @throws FleetError USAGE for a person or reason that no statement can have */
export const personAndReason = (flags: Given): By => ({
  person: personOf(flags),
  reason: flags.reason === undefined ? null : checkReason(flags.reason),
});

/**
 * Person and reason of a verb that takes something away. A person at a terminal is asked for the reason, and an empty answer
 * stops the verb.
 * @param what the consequence: 'plant-7/press-1 is revoked: its key and its reports are refused from now on'
 * @throws FleetError USAGE without a reason; ABORTED for Ctrl-C
 */
export const requireReason = async (
  flags: Given,
  what: string,
  { json, ...terminal }: Omit<Asking, 'flag'> & { readonly json: boolean },
): Promise<By> => {
  if (flags.reason !== undefined) return personAndReason(flags);
  if (json || !canAsk(terminal))
    throw new FleetError('USAGE', `--reason is missing: ${what}`, {
      hint: 'The reason is signed into the audit log',
    });
  const reason = await ask(`${what}.\nReason, for the audit log (empty: stop): `, {
    ...terminal,
    flag: '--reason',
  });
  if (reason.trim() === '')
    throw new FleetError('USAGE', 'no reason was given, and nothing was changed', { subject: '--reason' });
  return personAndReason({ ...flags, reason });
};
