import { Flags } from '@oclif/core';
import { FleetError } from '#bundles/errors';

export const personFlag = {
  person: Flags.string({ description: 'Who decided it [default: the user who runs the command]' }),
};

/** @param operator user of the machine @throws FleetError USAGE for a user without a name, as in a container */
export const personOf = (person: string | undefined, operator: string): string => {
  if (person !== undefined) return person;
  if (!operator.startsWith('uid ')) return operator;
  throw new FleetError('USAGE', `the user of this command has no name (${operator})`, {
    subject: '--person',
    hint: 'Say who decided it: --person anna',
  });
};
