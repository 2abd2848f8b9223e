import type { Audit } from '#bundles/schemas/types/hub-decisions';

type Entry = Audit['entries'][number];

/** In place of a person, where a rule of the platform decided. The audit log is filtered by it, too. */
export const RULE = 'a rule';

/** The decision of an entry of the audit log, in a few words. */
export const describeEntry = (entry: Entry): string => {
  const { promotion, stage, only, release, workspaces, ended, about } = entry;
  return [
    ended === undefined || ended === null ? wordsOf(entry) : 'end of a submission',
    about ?? '',
    promotion === null ? '' : `${promotion.number} from ${promotion.from}, ${promotion.mode}`,
    only === null ? '' : `of ${only}`,
    stage === null ? '' : `of stage ${stage}`,
    Array.isArray(workspaces) && workspaces.length > 0 ? `for ${workspaces.join(', ')}` : '',
    release === null ? '' : `to release ${release}`,
  ]
    .filter((part) => part !== '')
    .join(' ');
};

/** An approval is of values, which have no environment, of a stage, or of a promotion. */
const wordsOf = ({ what, environment, stage }: Entry): string => {
  if (what !== 'approval' || stage !== null) return what;
  return environment === null ? 'approval of values' : 'approval of a promotion';
};
