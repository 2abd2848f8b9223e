import type { Digest } from '#bundles/digest';
import { shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { formatChannel } from '#bundles/names';
import { nameSome } from '#bundles/name-some';
import { formatTime } from '#bundles/time';
import type { ChainLink, Evidence } from '../chain.ts';
import type { EvidenceState, KnownAgent } from '../state/evidence-state.ts';

type About = { readonly shared: Digest; readonly what: string; readonly now: Date };

/**
 * Checks by signed reports alone that enough agents of the environment before comply with the candidate: of all agents in the
 * site statements that this signer signed, regardless of agents that the scheduler calls absent. A new agent counts after the
 * soak time: a scheduler can enrol agents of its own.
 * @throws FleetError NOT_PROMOTED naming agents that do not comply, and why
 */
export const checkEvidence = (
  state: EvidenceState,
  { promotedFrom: from, evidence, soakMs }: ChainLink,
  { shared, what, now }: About,
): void => {
  if (!evidence) return;
  const agents = state.agentsOf(from);
  const { share } = evidence;
  const needed = Math.max(
    'count' in share ? share.count : Math.ceil((share.percent * agents.length) / 100),
    1,
  );
  const others = agents.flatMap((agent) => {
    const isNew = now.getTime() - agent.since < soakMs;
    const why = isNew
      ? 'is enrolled for less than the soak time'
      : whyNotCompliant(state, agent, { shared, now, evidence });
    return why === undefined ? [] : [`${agent.agent} ${why}`];
  });
  const found = agents.length - others.length;
  if (found >= needed) return;
  throw new FleetError(
    'NOT_PROMOTED',
    `${what}: ${found} of ${agents.length} agents of ${from} show by their signed reports that they comply with ${shortDigest(shared)}, ${needed} must${others.length === 0 ? '' : `: ${nameSome(others)}`}`,
    {
      subject: shared,
      hint:
        agents.length === 0
          ? 'Sign the site statements again with: fleet-scheduler sites renew'
          : 'Promote again after their next reports',
    },
  );
};

/** undefined if the agent complies. */
const whyNotCompliant = (
  state: EvidenceState,
  { agent, key, channel }: KnownAgent,
  { shared, now, evidence }: { readonly shared: Digest; readonly now: Date; readonly evidence: Evidence },
): string | undefined => {
  const word = state.word(agent);
  if (word?.key !== key) return 'showed no report';
  const acknowledged = state.acknowledged(agent);
  if (acknowledged > word.seq)
    return `reported events up to ${acknowledged}, and those after ${word.seq} were not shown`;
  if (evidence.freshMs !== undefined && now.getTime() - word.writtenAt > evidence.freshMs)
    return word.writtenAt === 0
      ? 'does not trust its clock'
      : `looked last at ${formatTime(new Date(word.writtenAt))}`;
  const { release } = word;
  const named = release ? state.namedBy(release.channel, release.version) : [];
  const isOf =
    named.length > 0 &&
    named.every(
      ({ bundle, ...one }) =>
        one.shared === shared || state.isTried({ channel: one.channel, bundle, shared }),
    );
  if (!release || release.channel !== formatChannel(channel) || !isOf)
    return `runs ${release ? `${release.channel} release ${release.version}` : 'no release that it reported'}, which is not of this candidate`;
  const wanted = named.map(({ bundle }) => state.packages(bundle));
  if (wanted.includes(undefined)) return 'runs a bundle that was not shown';
  const packages = new Map(wanted.flatMap((one) => Object.entries(one ?? {})));
  for (const [assignment, digest] of packages) {
    const shown = word.states[assignment];
    if (shown?.package !== digest) return `does not run ${assignment} of this candidate`;
    if (!shown.ok) return `failed or could not check ${assignment}`;
    if (shown.drifted) return `has drift in ${assignment}`;
  }
  const extra = Object.entries(word.states).find(
    ([name, { package: runs, ok }]) => !packages.has(name) && (runs !== null || !ok),
  );
  return extra ? `still runs ${extra[0]}` : undefined;
};
