import { FleetError } from '#bundles/errors';

/** Rule of a signer for other values of a site: a decision of the audit log, and so many approvals. */
export type ValuesRule = { readonly approvals: number };

/** Parses 'decided' and 'approved=2'. @throws FleetError USAGE */
export const parseValuesRule = (word: string): ValuesRule => {
  if (word === 'decided') return { approvals: 0 };
  const [, number] = /^approved=([1-9]\d?)$/.exec(word) ?? [];
  if (number !== undefined) return { approvals: Number(number) };
  throw new FleetError('USAGE', `--site-values ${JSON.stringify(word.slice(0, 80))} is no rule`, {
    hint: 'Write decided, or with a number of approvals approved=2',
  });
};
