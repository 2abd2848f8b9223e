import { shortDigest } from '#bundles/digest';
import { formatPlace } from '#bundles/errors';
import { nameSome } from '#bundles/name-some';
import type { Printed, Row } from '#cli/format-table';
import type { Waiting } from './waiting.ts';

/** Names listed per line. Approvers need to see every change; the limit is for a first release, where everything is new. */
const MAX_NAMES = 50;

/** Text for an approver: what the bundle changes, and every field of the statement to sign. */
export const waitingLines = (waiting: Waiting): readonly Printed[] => {
  const { channel, bundle, changes, statement, runningRelease, runningBundle, signed, needed } = waiting;
  const { sources, held } = statement;
  const line = (name: string, text: string): Row => [name, text];
  const list = (name: string, names: readonly string[]): readonly Row[] =>
    names.length === 0 ? [] : [line(name, nameSome(names, MAX_NAMES))];
  const changed = [
    ...list('new', changes.added),
    ...list('changed', changes.changed),
    ...list('removed', changes.removed),
    ...list('new images', changes.newImages),
    ...list('old images', changes.goneImages),
  ];
  const lines = [
    line('bundle', bundle),
    line(
      'instead of',
      runningBundle === null
        ? 'no release: it would be the first one'
        : `release ${runningRelease}, bundle ${shortDigest(runningBundle)}`,
    ),
    ...(changed.length === 0 ? [line('changes', 'only in its packing')] : changed),
    line(
      'says',
      `fleet ${statement.fleet}, environment ${statement.environment}, cluster type ${statement.clusterType}, for a ${statement.kind === 'host' ? 'host' : 'Kubernetes cluster'}`,
    ),
    line('built', `${statement.builtAt} by ${statement.builder}`),
    line('candidate', statement.candidate),
    ...sources.map(({ role, repo, path, commit, ref, tree }) =>
      line(
        'source',
        `${role}: ${repo}${path === '' ? '' : ` ${path}`}${ref === undefined ? '' : ` ${ref}`} ${commit ?? `tree ${tree}`}`,
      ),
    ),
    ...held.map(({ assignment, code, message, at, kept }) =>
      line(
        'held',
        `${assignment}: ${at ? `${formatPlace(at)}: ` : ''}${code}: ${message}${kept ? ` (the last good one, ${shortDigest(kept)}, stays)` : ''}`,
      ),
    ),
    line('SHA-256', `${waiting.payload.slice('sha256:'.length)} of the statement`),
    ...signed.map((key) => line('signed by', key)),
  ];
  return [
    `${channel}: ${signed.length} of ${needed} bundle signers have signed`,
    { rows: lines, indent: 2, min: ['instead of'.length] },
  ];
};
