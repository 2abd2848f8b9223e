import { Flags } from '@oclif/core';
import { hubFlags } from './configuration-flags.ts';
import { WHEN } from './parse-when.ts';

/** Flags of commands that ask the hub about its past; parsed by parseQuestion. */
export const questionFlags = {
  ...hubFlags,
  environment: Flags.string({ char: 'e', description: 'Only agents of this environment' }),
  site: Flags.string({ description: 'Only this site' }),
  workload: Flags.string({ description: 'Only this workload or assignment' }),
  'as-known-at': Flags.string({
    description: `Only what the hub had received by this time: ${WHEN}`,
  }),
  limit: Flags.string({ description: 'Entries at most, 1 to 1000 [default: 100]' }),
  cursor: Flags.string({ description: 'Where the answer before ended' }),
};

/** --since and --until, by the time at the sites. */
export const spanFlags = {
  since: Flags.string({ description: `From this time: ${WHEN}` }),
  until: Flags.string({ description: 'Up to this time' }),
};

export const atFlag = {
  at: Flags.string({ description: `The state at this time: ${WHEN}` }),
};
