import { defined } from '#bundles/defined';
import { canonicalBytes } from '#bundles/json/canonical';
import type { Candidate } from '#bundles/formats/candidate';
import type { Digest } from '#bundles/digest';
import { formatTime } from '#bundles/time';
import { layerRole } from '../../../model/images/layer-role.ts';
import { type CheckAbout, checkId } from './check-records.ts';

/** Where checks answer that do not answer at once. */
export const CHECKS_PATH = '/v1/checks';

export type Asked = {
  readonly candidate: Digest;
  readonly document: Pick<Candidate, 'environment' | 'sources'>;
  /** The candidate that the later environment has; undefined: none was promoted to it. */
  readonly previous:
    | { readonly candidate: Digest; readonly document: Pick<Candidate, 'sources'> }
    | undefined;
};

/** The body of a question (docs/hub-api.md): the candidate, and the shared sources that differ from the promoted candidate. */
export const describeQuestion = (
  about: CheckAbout,
  { candidate, document, previous }: Asked,
  now: Date,
): Buffer => {
  const { fleet, from, to, shared, check } = about;
  const id = checkId(about);
  const before = previous?.document.sources ?? [];
  const layer = document.environment === undefined ? undefined : layerRole(document.environment);
  const changed = document.sources
    .filter(({ role }) => role !== layer)
    .filter(
      ({ role, path, tree }) =>
        !before.some((other) => other.role === role && other.path === path && other.tree === tree),
    )
    .slice(0, MAX_CHANGED)
    .map(({ role, repo, path, ref, commit }) =>
      defined({
        role,
        repo,
        path,
        ref,
        commit,
      }),
    );
  return canonicalBytes({
    id,
    fleet,
    check: check.name,
    from,
    to,
    candidate,
    shared,
    previous: previous?.candidate ?? null,
    changed,
    answerBy: formatTime(new Date(now.getTime() + check.timeoutSeconds * 1000)),
    callback: `${CHECKS_PATH}/${id}`,
  });
};

/** Keeps a question small where nothing was promoted before. */
const MAX_CHANGED = 200;
