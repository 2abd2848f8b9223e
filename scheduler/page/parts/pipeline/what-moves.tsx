import { Loader, Text } from '@mantine/core';
import { defined } from '#bundles/defined';
import { formatCount } from '#bundles/format-count';
import { nameSome } from '#bundles/name-some';
import type { PlannedChanges } from '#bundles/schemas/types/hub-decisions';
import { candidateChanges, releaseChanges } from '#bundles/transport/hub/client';
import { Refusal, send } from '../../api/ask.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { Change } from '../change.tsx';
import { Shape } from '../state.tsx';
import type { Tone } from '../tone.ts';

type Changed = PlannedChanges['packages'][number];

/** Two states of packages that a decision chooses between. */
export type Moves = {
  /** Identifies the two states. */
  readonly id: string;
  readonly read: (signal: AbortSignal) => Promise<PlannedChanges>;
};

/** What the promotion of a candidate would change. @param candidate undefined: the one whose turn it is */
export const movesOfCandidate = (environment: string, candidate: string | undefined): Moves => ({
  id: `${environment} ${candidate ?? ''}`,
  read: (signal) =>
    send((options) => candidateChanges(defined({ environment, candidate }), options), { signal }),
});

type Releases = {
  /** 'prod/press' */
  readonly channel: string;
  /** undefined: the current one. */
  readonly from?: number | undefined;
  readonly to: number;
  /** An assignment; undefined: all. */
  readonly only?: string;
};

/** What agents with one release of a channel get with another one. */
export const movesOfReleases = ({ channel, from, to, only }: Releases): Moves => {
  const [environment = '', clusterType = ''] = channel.split('/');
  const asked = { environment, clusterType, release: `${to}` };
  const $from = from === undefined ? undefined : `${from}`;
  return {
    id: `${channel} ${from ?? ''} ${to} ${only ?? ''}`,
    read: (signal) =>
      send((options) => releaseChanges({ ...asked, ...defined({ $from, only }) }, options), { signal }),
  };
};

/** What a decision is about, above its reason: packages, versions, configuration, and the sites concerned. Read when the dialog opens. */
export const WhatMoves = ({ title, moves }: { readonly title: string; readonly moves: Moves }) => {
  const answer = useAnswer(moves);
  if (answer === undefined) return <Loader size="sm" aria-label="Reading what would change" />;
  const why = answer instanceof Refusal ? answer.message : answer.why;
  if (answer instanceof Refusal || !answer.known)
    return (
      <Text size="sm" mb="sm">
        What would change is not known: {why}
      </Text>
    );
  return <ChangeList title={title} answer={answer} />;
};

type ListProps = { readonly title: string; readonly answer: PlannedChanges };

const ChangeList = ({ title, answer }: ListProps) => {
  const { packages, more, hidden, others, channels } = answer;
  return (
    <section aria-label={title} className="moves">
      <Text size="sm" fw={600}>
        {title}: {packages.length + others.length + hidden === 0 ? 'nothing' : summaryOf(answer)}
      </Text>
      <ul>
        {packages.map((one) => (
          <li key={`${one.clusterType} ${one.assignment}`}>
            <ChangedPackage of={one} />
          </li>
        ))}
        {others.map((other) => (
          <li key={other}>{other}</li>
        ))}
      </ul>
      {more > 0 && <Text size="sm">and {formatCount(more, 'more package')}</Text>}
      {channels.map(({ channel, agents, sites, first }) => (
        <Text key={channel} size="sm" c="dimmed">
          {channel} has {formatCount(agents, 'agent')} at {formatCount(sites, 'site')}
          {first.length > 0 && `: ${nameSome(first, 5, sites)}`}
        </Text>
      ))}
    </section>
  );
};

const OUTCOMES: Readonly<Record<Changed['outcome'], readonly [tone: Tone, word: string]>> = {
  added: ['good', 'added'],
  version: ['late', 'other version'],
  configuration: ['late', 'other configuration'],
  settings: ['quiet', 'other settings'],
  removed: ['bad', 'removed'],
};

/** '2 other version, 1 removed, 3 that you may not see'. */
const summaryOf = ({ packages, more, hidden, others }: PlannedChanges): string => {
  const counts = Map.groupBy(packages, ({ outcome }) => OUTCOMES[outcome][1]);
  return [
    ...[...counts].map(([word, of]) => `${of.length} ${word}`),
    ...(more > 0 ? [`${more} that are not listed`] : []),
    ...(hidden > 0 ? [`${hidden} that you may not see`] : []),
    ...(others.length > 0 ? ['settings'] : []),
  ].join(', ');
};

const ChangedPackage = ({ of }: { readonly of: Changed }) => {
  const { clusterType, assignment, workload, outcome, before, agents, values, objects, moreObjects } = of;
  const [tone, word] = OUTCOMES[outcome];
  return (
    <>
      <Shape tone={tone} /> <strong>{workload ?? assignment}</strong> on {clusterType}, {word}:{' '}
      {versionsOf(of)}
      {before !== null && <>, at {formatCount(agents, 'agent')}</>}
      {values.map(({ name, old = 'nothing', new: now = 'nothing' }) => (
        <div key={name}>
          {name}: {old} to {now}
        </div>
      ))}
      {objects.map((object) => (
        <Change key={`${object.file} ${object.object}`} object={object} />
      ))}
      {moreObjects > 0 && <div>and {formatCount(moreObjects, 'more object')}</div>}
      {!of.compared && <div>Its lines are not known: the older content is not in the layout any more.</div>}
    </>
  );
};

type Side = Changed['before'];

/** A version as people know it: its tag or chart, otherwise the commit or the digest. */
const nameOf = (side: Side): string =>
  side?.version?.version ??
  side?.version?.chart ??
  side?.version?.commit?.slice(0, 8) ??
  side?.name ??
  'nothing';

const versionsOf = ({ outcome, before, after }: Changed): string => {
  switch (outcome) {
    case 'added':
      return nameOf(after);
    case 'removed':
      return nameOf(before);
    case 'version':
      return `${nameOf(before)} to ${nameOf(after)}`;
    case 'configuration':
    case 'settings':
      return `${nameOf(after)} stays`;
  }
};
