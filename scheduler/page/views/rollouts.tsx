import { Anchor, Group, Progress, Table, Text, Title } from '@mantine/core';
import { Link, type LoaderFunctionArgs, useLoaderData } from 'react-router';
import type { Rollouts } from '#bundles/schemas/types/hub-decisions';
import {
  rolloutAdvance,
  rolloutPause,
  rolloutResume,
  rollouts,
  rolloutTakeBack,
  valuesRolloutAdvance,
  valuesRolloutPause,
  valuesRolloutResume,
  valuesRolloutTakeBack,
  workloads,
} from '#bundles/transport/hub/client';
import { ask, refusedOr, Refusal } from '../api/ask.ts';
import { Age } from '../parts/age.tsx';
import { Chart } from '../parts/chart/chart.tsx';
import type { ChartColor, ChartData } from '../parts/chart/chart-data.ts';
import { Holder } from '../parts/holder.tsx';
import { movesOfReleases, WhatMoves } from '../parts/pipeline/what-moves.tsx';
import { type Tone, State } from '../parts/state.tsx';
import { Wide } from '../parts/wide.tsx';
import { Decide, type Decision } from './decide.tsx';

type ListedRollout = Rollouts['rollouts'][number];
type ValuesRollout = Rollouts['values'][number];
/** What rollouts of releases and of values share. */
type Judged = Pick<ListedRollout, 'stages' | 'next' | 'curve'>;

type Environment = { readonly name: string; readonly answer: Rollouts | Refusal };
type RolloutsAnswer = { readonly at: string; readonly environments: readonly Environment[] };

export const readRollouts = async ({ request: { signal } }: LoaderFunctionArgs): Promise<RolloutsAnswer> => {
  const { at, environments } = await ask((options) => workloads({ limit: 1 }, options), signal);
  const read = environments.map(async (name): Promise<Environment> => {
    const asked = ask((options) => rollouts({ environment: name }, options), signal);
    return { name, answer: await refusedOr(asked) };
  });
  return { at, environments: await Promise.all(read) };
};

/** Rollouts: the stages of each release, the conditions that the current stage waits for, and the decisions. */
export const RolloutsView = () => {
  const { environments } = useLoaderData<RolloutsAnswer>();
  const listed = environments.flatMap(({ answer }) =>
    answer instanceof Refusal ? [] : answer.rollouts.map((one) => ({ one, at: answer.at })),
  );
  const values = environments.flatMap(({ answer }) =>
    answer instanceof Refusal ? [] : answer.values.map((one) => ({ one, at: answer.at })),
  );
  const refusals = environments.flatMap(({ answer }) => (answer instanceof Refusal ? [answer] : []));
  return (
    <>
      <title>Rollouts - Fleet Ferry</title>
      <Title order={1}>Rollouts</Title>
      {listed.length + values.length === 0 && refusals.length === 0 && (
        <Text>No release and no change of values of this fleet is reaching its agents in stages.</Text>
      )}
      {refusals.slice(0, 1).map((refusal) => (
        <Text key={refusal.code}>Rollouts cannot be read: {refusal.message}</Text>
      ))}
      {listed.map(({ one, at }) => (
        <Rollout key={one.channel} rollout={one} now={at} />
      ))}
      {values.map(({ one, at }) => (
        <ValuesRolloutSection key={one.rollout} rollout={one} now={at} />
      ))}
    </>
  );
};

const Rollout = ({ rollout, now }: { readonly rollout: ListedRollout; readonly now: string }) => {
  const { channel, release, policy, next } = rollout;
  const environment = environmentOf(channel);
  const id = `rollout-${channel.replace('/', '-')}`;
  return (
    <section aria-labelledby={id}>
      <Title order={2} id={id}>
        {channel}, release {release}
      </Title>
      <Text>
        By the policy {policy}. <NextStep next={next} now={now} />
      </Text>
      <Stages
        name={channel}
        environment={environment}
        sites={`/sites?${new URLSearchParams({ environment, channel })}`}
        judged={rollout}
        now={now}
      />
      <Group my="sm">
        {STEPS.filter((step) => isOffered(step, rollout)).map((step) => (
          <Decide key={step} decision={decisionOf(step, rollout)} />
        ))}
      </Group>
    </section>
  );
};

/** The stages of a rollout in the column of its environment, with the curve and the decisions. */
export const RolloutSummary = ({
  rollout,
  now,
}: {
  readonly rollout: ListedRollout;
  readonly now: string;
}) => {
  const { channel, release, stages, next } = rollout;
  return (
    <div className="rollout">
      <Text size="sm" fw={600}>
        {channel}, release {release}
      </Text>
      <ol className="stages">
        {stages.map(({ name, state, agents, complies }) => (
          <li key={name}>
            <Text size="sm" component="div">
              {name} <State mood={TONES[state]}>{state}</State>
            </Text>
            <Complying of={{ agents, complies }} label={`Agents of ${name} of ${channel} that comply`} />
            <Text size="xs" c="dimmed">
              {complies} of {agents}
            </Text>
          </li>
        ))}
      </ol>
      <Text size="sm">
        <NextStep next={next} now={now} />
      </Text>
      <Curve name={channel} environment={environmentOf(channel)} judged={rollout} />
      <Group mt="xs" gap="xs">
        {STEPS.filter((step) => isOffered(step, rollout)).map((step) => (
          <Decide key={step} decision={decisionOf(step, rollout)} />
        ))}
      </Group>
    </div>
  );
};

const ValuesRolloutSection = ({
  rollout: one,
  now,
}: {
  readonly rollout: ValuesRollout;
  readonly now: string;
}) => {
  const { rollout, environment, kind, state, policy, person, reason, since, next } = one;
  const id = `values-${rollout}`;
  return (
    <section aria-labelledby={id}>
      <Title order={2} id={id}>
        {kind === 'layers' ? 'Layers' : 'Values'} of {environment}, {rollout}
      </Title>
      <Text>
        By {person ?? 'a rule'} <Age at={since} now={now} />
        {reason !== null && `: ${reason}`}. In the stages of {policy}.{' '}
        {state === 'taken-back' ? 'It was taken back.' : <NextStep next={next} now={now} />}
      </Text>
      <Stages
        name={rollout}
        environment={environment}
        sites={`/sites?${new URLSearchParams({ environment })}`}
        judged={one}
        now={now}
      />
      <Group my="sm">
        {STEPS.filter((step) => isOffered(step, one) || (step === 'resume' && state === 'taken-back')).map(
          (step) => (
            <Decide key={step} decision={valuesDecision(step, one)} />
          ),
        )}
      </Group>
    </section>
  );
};

type CurveProps = {
  /** The channel, or the rollout of values. */
  readonly name: string;
  readonly environment: string;
  readonly judged: Judged;
};

type StagesProps = CurveProps & {
  /** Address of the sites that the rollout reaches. */
  readonly sites: string;
  readonly now: string;
};

const Stages = ({ name, environment, sites, judged, now }: StagesProps) => (
  <>
    <Wide
      label={`Stages of ${name}`}
      headings={['Stage', 'State', 'Agents', 'Since', 'Approvals', 'Waits for']}
    >
      {judged.stages.map((stage) => (
        <Stage key={stage.name} stage={stage} to={sites} now={now} />
      ))}
    </Wide>
    <Curve name={name} environment={environment} judged={judged} />
  </>
);

/** How many agents of each stage comply, over time. A rollout of this minute has no span to draw. */
const Curve = ({ name, environment, judged: { stages, curve } }: CurveProps) =>
  curve[0]?.at !== curve.at(-1)?.at && (
    <Chart title={`Agents of ${name} that comply`} environment={environment} data={dataOf(curve, stages)} />
  );

const environmentOf = (channel: string): string => channel.split('/')[0] ?? '';

const STAGE_COLORS: readonly ChartColor[] = ['silent', 'late', 'good', 'quiet', 'bad'];

const dataOf = (curve: ListedRollout['curve'], stages: ListedRollout['stages']): ChartData => ({
  form: 'steps',
  most: Math.max(...stages.map(({ agents }) => agents)),
  times: curve.map(({ at }) => at),
  curves: stages.map(({ name, agents }, index) => ({
    name: `${name}, of ${agents}`,
    color: STAGE_COLORS[index % STAGE_COLORS.length] ?? 'good',
    values: curve.map(({ complies }) => complies[index] ?? 0),
  })),
});

const NextStep = ({ next, now }: { readonly next: ListedRollout['next']; readonly now: string }) => {
  switch (next.kind) {
    case 'advance':
      return <>Next: the stage {next.stage} begins.</>;
    case 'complete':
      return <>Next: it completes.</>;
    case 'wait':
      return (
        <>
          It waits: {next.why}
          {next.earliest !== null && (
            <>
              , at the earliest <Age at={next.earliest} now={now} />
            </>
          )}
          .
        </>
      );
    case 'pause':
    case 'take-back':
      return (
        <>
          Next: {next.kind}, because {next.why}.
        </>
      );
    case 'none':
      return <>Nothing comes next: {next.why}.</>;
  }
};

type StageVerdict = ListedRollout['stages'][number];

const TONES: Readonly<Record<StageVerdict['state'], Tone>> = {
  waiting: 'quiet',
  running: 'late',
  soaking: 'late',
  done: 'good',
  failed: 'bad',
  paused: 'late',
};

type ComplyingProps = {
  readonly of: Pick<StageVerdict, 'agents' | 'complies'>;
  readonly label: string;
};

/** The share of the agents of a stage that comply, as a bar. */
const Complying = ({ of: { agents, complies }, label }: ComplyingProps) => (
  <Progress value={agents === 0 ? 0 : (complies / agents) * 100} aria-label={label} transitionDuration={0} />
);

type StageProps = {
  readonly stage: StageVerdict;
  /** Address of its sites. */
  readonly to: string;
  readonly now: string;
};

const Stage = ({ stage, to, now }: StageProps) => {
  const { name, state, startedAt, agents, complies, failed, excluded, approvals, holding, waiting } = stage;
  return (
    <Table.Tr>
      <Table.Th scope="row">
        <Anchor component={Link} to={to}>
          {name}
        </Anchor>
      </Table.Th>
      <Table.Td>
        <State mood={TONES[state]}>{state}</State>
      </Table.Td>
      <Table.Td>
        <Complying of={stage} label={`Agents of ${name} that comply`} />
        {complies} of {agents} comply, {failed} failed, {excluded} excluded
      </Table.Td>
      <Table.Td>{startedAt === null ? 'not begun' : <Age at={startedAt} now={now} />}</Table.Td>
      <Table.Td>
        {approvals.needed === 0 ? 'none needed' : `${approvals.found} of ${approvals.needed}`}
      </Table.Td>
      <Table.Td>
        {startedAt !== null && holding.map((line) => <Holder key={line} line={line} />)}
        {startedAt !== null && waiting > holding.length && `and ${waiting - holding.length} more`}
      </Table.Td>
    </Table.Tr>
  );
};

const STEPS = ['advance', 'pause', 'resume', 'take-back'] as const;
type Step = (typeof STEPS)[number];

/** Leaves out decisions that have no effect in this state. The hub checks each decision itself. */
const isOffered = (step: Step, { stages, next }: Judged): boolean => {
  const isPaused = stages.some(({ state }) => state === 'paused');
  const isOver = next.kind === 'none' && !isPaused;
  switch (step) {
    case 'advance':
      return !isOver && !isPaused && stages.some(({ startedAt }) => startedAt === null);
    case 'pause':
      return !isOver && !isPaused;
    case 'resume':
      return isPaused;
    case 'take-back':
      return !isOver;
  }
};

const TITLES: Readonly<Record<Step, string>> = {
  advance: 'Advance',
  pause: 'Pause',
  resume: 'Resume',
  'take-back': 'Take back',
};

const DECISIONS = {
  advance: rolloutAdvance,
  pause: rolloutPause,
  resume: rolloutResume,
  'take-back': rolloutTakeBack,
} as const satisfies Record<Step, unknown>;

const VALUES_DECISIONS = {
  advance: valuesRolloutAdvance,
  pause: valuesRolloutPause,
  resume: valuesRolloutResume,
  'take-back': valuesRolloutTakeBack,
} as const satisfies Record<Step, unknown>;

/** Heads the list of what the release changes, or what the release before it brings back. */
const MOVES: Readonly<Record<Step, string>> = {
  advance: 'Changes at more agents',
  pause: 'Reaches no more agents until it is resumed',
  resume: 'Reaches more agents again',
  'take-back': 'Changes back at the agents that have it',
};

const decisionOf = (step: Step, { channel, release, before }: ListedRollout): Decision => {
  const [environment = '', clusterType = ''] = channel.split('/');
  const moves =
    before === null
      ? undefined
      : movesOfReleases(
          step === 'take-back'
            ? { channel, from: release, to: before }
            : { channel, from: before, to: release },
        );
  return stepDecision(step, {
    of: channel,
    object: `release ${release}`,
    environment,
    decide: (reason, options) => DECISIONS[step]({ environment, clusterType, reason: { reason } }, options),
    preview: moves && <WhatMoves title={MOVES[step]} moves={moves} />,
  });
};

const valuesDecision = (step: Step, { environment, rollout }: ValuesRollout): Decision =>
  stepDecision(step, {
    of: `values ${rollout} of ${environment}`,
    object: rollout,
    environment,
    decide: (reason, options) =>
      VALUES_DECISIONS[step]({ environment, rollout, reason: { reason } }, options),
  });

type StepDecision = Pick<Decision, 'object' | 'decide' | 'preview'> & {
  readonly of: string;
  readonly environment: string;
};

const stepDecision = (step: Step, { of, object, environment, decide, preview }: StepDecision): Decision => ({
  title: TITLES[step],
  what: `${TITLES[step]} ${of}`,
  object,
  decide,
  allowance: `rollout:${environment}`,
  isMain: step === 'advance',
  preview,
});
