import type { Audit } from '#bundles/transport/hub/client';

/** In place of a person, where a rule of the platform decided. The audit log is filtered by it, too. */
export const RULE = 'a rule';

/** The decision of an entry of the audit log, in a few words. */
export const describeEntry = ({
  what,
  promotion,
  stage,
  only,
  release,
  workspaces,
  ended,
  about,
}: Audit['entries'][number]): string =>
  [
    ended === undefined || ended === null ? wordsOf(what, stage) : 'end of a submission',
    about ?? '',
    promotion === null ? '' : `${promotion.number} from ${promotion.from}, ${promotion.mode}`,
    only === null ? '' : `of ${only}`,
    stage === null ? '' : `of stage ${stage}`,
    Array.isArray(workspaces) && workspaces.length > 0 ? `for ${workspaces.join(', ')}` : '',
    release === null ? '' : `to release ${release}`,
  ]
    .filter((part) => part !== '')
    .join(' ');

/** An approval of no stage is of a promotion. */
const wordsOf = (what: string, stage: string | null): string =>
  what === 'approval' && stage === null ? 'approval of a promotion' : what;
