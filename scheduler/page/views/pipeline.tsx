import { Anchor, Card, Code, Group, Table, Text, Title } from '@mantine/core';
import { Fragment } from 'react';
import { Link, type LoaderFunctionArgs, useLoaderData } from 'react-router';
import type { Digest } from '#bundles/digest';
import type { LinkState, Promotions, Rollouts, Verdict as Gate } from '#bundles/schemas/types/hub-decisions';
import {
  gate as askGate,
  pause,
  promote,
  promotions as askPromotions,
  reject,
  resume,
  rollouts,
  sites,
} from '#bundles/transport/hub/client';
import { formatCount } from '#bundles/format-count';
import { ask, refusedOr, Refusal } from '../api/ask.ts';
import { inChainOrder } from '../api/chain.ts';
import { Age, At } from '../parts/age.tsx';
import { Commit } from '../parts/commit.tsx';
import { ShortDigest } from '../parts/digest.tsx';
import { Holder } from '../parts/holder.tsx';
import { conditionAddress } from '../parts/pipeline/condition-address.ts';
import { Rings } from '../parts/pipeline/rings.tsx';
import { movesOfCandidate, WhatMoves } from '../parts/pipeline/what-moves.tsx';
import { GateState, State } from '../parts/state.tsx';
import { Wide } from '../parts/wide.tsx';
import { ReasonDialog } from '../parts/with-reason.tsx';
import { Decide, type Decision } from './decide.tsx';
import { RolloutSummary } from './rollouts.tsx';

/** A link of the chain. The gate is a refusal if it cannot be judged, for example without a candidate. */
type JudgedLink = {
  readonly link: LinkState;
  readonly gate: Gate | Refusal;
  readonly promotions: Promotions['promotions'];
};
type Environment = { readonly name: string; readonly rollouts: Rollouts['rollouts'] };
type PipelineAnswer = {
  readonly at: string;
  readonly links: readonly JudgedLink[];
  /** In the order of the chain. */
  readonly environments: readonly Environment[];
};

const SHOWN = 5;

export const readPipeline = async ({ request: { signal } }: LoaderFunctionArgs): Promise<PipelineAnswer> => {
  const { at, links: found } = await ask((options) => sites({ limit: 1 }, options), signal);
  const links = inChainOrder(found);
  const names = [...new Set(links.flatMap(({ from, to }) => [from, to]))];
  const [judged, environments] = await Promise.all([
    Promise.all(
      links.map(async (link): Promise<JudgedLink> => {
        const environment = link.to;
        const [gate, past] = await Promise.all([
          refusedOr(ask((options) => askGate({ environment }, options), signal)),
          refusedOr(ask((options) => askPromotions({ environment, limit: SHOWN }, options), signal)),
        ]);
        return { link, gate, promotions: past instanceof Refusal ? [] : past.promotions };
      }),
    ),
    Promise.all(
      names.map(async (name): Promise<Environment> => {
        const asked = await refusedOr(ask((options) => rollouts({ environment: name }, options), signal));
        return { name, rollouts: asked instanceof Refusal ? [] : asked.rollouts };
      }),
    ),
  ]);
  return { at, links: judged, environments };
};

/** The chain as columns: environments with their rollouts, and between them the gates with the decisions about them. */
export const Pipeline = () => {
  const { at, links, environments } = useLoaderData<PipelineAnswer>();
  return (
    <>
      <title>Pipeline - Fleet Ferry</title>
      <Title order={1}>Pipeline</Title>
      {links.length === 0 && (
        <Text>
          No environment of this fleet is promoted from another one, or the hub runs without a platform.
        </Text>
      )}
      <ol className="pipeline">
        {environments.map(({ name, rollouts: running }) => {
          const into = links.find(({ link }) => link.to === name);
          return (
            <Fragment key={name}>
              {into !== undefined && (
                <li className="between">
                  <GateCard of={into} now={at} />
                </li>
              )}
              <li className="environment">
                <EnvironmentCard name={name} rollouts={running} current={currentOf(name, links)} now={at} />
              </li>
            </Fragment>
          );
        })}
      </ol>
      {links.map(({ link, gate }) => (
        <section key={link.to} aria-labelledby={`conditions-${link.to}`}>
          <Title order={2} id={`conditions-${link.to}`}>
            Conditions of {link.from} to {link.to}
          </Title>
          {gate instanceof Refusal ? <Text>{gate.message}</Text> : <Conditions gate={gate} now={at} />}
        </section>
      ))}
      {links.some(({ promotions }) => promotions.length > 0) && (
        <section aria-labelledby="past">
          <Title order={2} id="past">
            Promoted before
          </Title>
          {links.map(
            ({ link: { from, to }, promotions }) =>
              promotions.length > 0 && (
                <section key={to} aria-labelledby={`past-${to}`}>
                  <Title order={3} id={`past-${to}`}>
                    From {from} to {to}
                  </Title>
                  <Past promotions={promotions} to={to} now={at} />
                </section>
              ),
          )}
        </section>
      )}
    </>
  );
};

/** The newest promotion into an environment: what it has, from whom and since when. */
const currentOf = (
  name: string,
  links: readonly JudgedLink[],
): Promotions['promotions'][number] | undefined =>
  links.find(({ link }) => link.to === name)?.promotions.find(({ current }) => current);

type EnvironmentProps = Environment & {
  readonly current: Promotions['promotions'][number] | undefined;
  readonly now: string;
};

const EnvironmentCard = ({ name, rollouts: running, current, now }: EnvironmentProps) => (
  <Card withBorder padding="sm" component="section" aria-label={`Environment ${name}`}>
    <Anchor component={Link} to={`/workloads?environment=${encodeURIComponent(name)}`} fw={700} size="lg">
      {name}
    </Anchor>
    {current === undefined ? (
      <Text size="sm" c="dimmed">
        takes what is built
      </Text>
    ) : (
      <Text size="sm" component="div">
        <ShortDigest of={current.candidate} /> by {current.person ?? 'a rule'}{' '}
        <Age at={current.time} now={now} />
        {current.reason !== null && (
          <Text size="sm" c="dimmed">
            {current.reason}
          </Text>
        )}
      </Text>
    )}
    {running.map((rollout) => (
      <RolloutSummary key={rollout.channel} rollout={rollout} now={now} />
    ))}
  </Card>
);

const GateCard = ({ of: { link, gate }, now }: { readonly of: JudgedLink; readonly now: string }) => {
  const state = gate instanceof Refusal ? link.state : gate.state;
  const held = gate instanceof Refusal ? [] : gate.conditions.filter(({ met }) => !met);
  const moves = state === 'ready' || state === 'waiting';
  return (
    <Card withBorder padding="sm" component="section" aria-label={`Gate ${link.from} to ${link.to}`}>
      <Group gap="xs">
        <GateState state={state} />
        <Text size="sm">
          {link.mode}, since <Age at={link.since} now={now} />
        </Text>
      </Group>
      {!(gate instanceof Refusal) && (
        <>
          <Text size="sm" mt={4} component="div">
            {moves ? 'Candidate' : 'Last candidate'} <ShortDigest of={gate.candidate} />
            {gate.note !== null && `: ${gate.note}`}
          </Text>
          {gate.about !== undefined && <CandidateText about={gate.about} from={link.from} now={now} />}
          <Rings conditions={gate.conditions} />
          {held.map((condition) => (
            <Held key={condition.name} condition={condition} now={now} />
          ))}
          {gate.earliest !== null && (
            <Text size="sm">
              Opens at the earliest <At at={gate.earliest} /> if nothing else changes.
            </Text>
          )}
        </>
      )}
      <Anchor component={Link} size="sm" to={`/compare?left=${link.from}&right=${link.to}`}>
        Compare {link.from} and {link.to}
      </Anchor>
      <Group mt="sm" gap="xs">
        {VERBS.filter((verb) => isOffered(verb, state)).map((verb) => (
          <Decide key={verb} decision={decisionOf(verb, link, gate)} />
        ))}
        {held.some(({ changedBy }) => changedBy.includes('person')) && (
          <Approve link={link} candidate={candidateOf(gate)} />
        )}
      </Group>
    </Card>
  );
};

type ApproveProps = { readonly link: LinkState; readonly candidate: string | undefined };

/** What an approver would approve, and the command: a browser has no key that could sign it. */
const Approve = ({ link: { from, to }, candidate }: ApproveProps) => (
  <ReasonDialog title="Approve" what={`Approve ${from} to ${to}`} isWide>
    {() => (
      <>
        <WhatMoves title={`Changes in ${to}`} moves={movesOfCandidate(to, candidate)} />
        <Text size="sm">
          An approval is signed with the key of its person, which no browser has. Run this where the key is:
        </Text>
        <Code block tabIndex={0}>
          {[
            `fleet-scheduler approve --to ${to}`,
            ...(candidate === undefined ? [] : [`--candidate ${candidate}`]),
            '--key your.key --person you --reason "why"',
          ].join(' ')}
        </Code>
      </>
    )}
  </ReasonDialog>
);

type CandidateProps = {
  readonly about: NonNullable<Gate['about']>;
  readonly from: string;
  readonly now: string;
};

/** The versions that a candidate brings, with the authors of their commits, and its age. */
const CandidateText = ({ about: { since, brings, more }, from, now }: CandidateProps) => (
  <div className="candidate">
    {brings.map(({ workload, name, version, before, commit }) => (
      <Text key={`${workload} ${name}`} size="sm" component="div">
        <Anchor component={Link} to={`/workloads/${encodeURIComponent(workload)}`} size="sm" fw={600}>
          {workload}
        </Anchor>{' '}
        {version?.version ?? version?.chart ?? (version?.commit === null ? name : '')}
        <Commit of={version} />
        {before !== null && `, now ${before}`}
        {commit !== null && (
          <Text size="sm" c="dimmed">
            {commit.author}, <Age at={commit.at} now={now} />: {commit.title}
          </Text>
        )}
      </Text>
    ))}
    {more > 0 && <Text size="sm">and {formatCount(more, 'more version')}</Text>}
    {since !== null && (
      <Text size="sm" c="dimmed">
        In {from} since <Age at={since} now={now} />
      </Text>
    )}
  </div>
);

const HOLDERS = 3;

type HeldProps = { readonly condition: Gate['conditions'][number]; readonly now: string };

/** Who holds a condition back, and when it can be met. */
const Held = ({ condition, now }: HeldProps) => {
  const { name, found, wanted, holding, earliest, expectedBy } = condition;
  return (
    <div className="held">
      <Text size="sm" component="div">
        <strong>{name}</strong> {found}, wanted {wanted}
        {expectedBy !== undefined && (
          <>
            , media expected by <At at={expectedBy} />
          </>
        )}
        {earliest !== null && (
          <>
            , can be met <Age at={earliest} now={now} />
          </>
        )}
      </Text>
      {holding.first.slice(0, HOLDERS).map((line) => (
        <Holder key={line} line={line} />
      ))}
      {holding.count > HOLDERS && <Text size="sm">and {holding.count - HOLDERS} more</Text>}
    </div>
  );
};

type Verb = 'promote' | 'reject' | 'pause' | 'resume';

const TITLES: Readonly<Record<Verb, string>> = {
  promote: 'Promote',
  reject: 'Reject',
  pause: 'Pause',
  resume: 'Resume',
};

/** Heads the list of what the candidate would change. */
const MOVES: Readonly<Record<Verb, (to: string) => string>> = {
  promote: (to) => `Changes in ${to}`,
  reject: (to) => `Does not come to ${to}`,
  pause: (to) => `Stays away from ${to} until it is resumed`,
  resume: (to) => `May move to ${to} again`,
};

/** @param about the candidate on the screen; the decision does not apply to a newer one */
const decideFor = (
  verb: Verb,
  environment: string,
  about: { readonly candidate?: Digest },
): Decision['decide'] => {
  switch (verb) {
    case 'promote':
      return (reason, options) => promote({ environment, promote: { reason, ...about } }, options);
    case 'reject':
      return (reason, options) => reject({ environment, reject: { reason, ...about } }, options);
    case 'pause':
      return (reason, options) => pause({ environment, reason: { reason } }, options);
    case 'resume':
      return (reason, options) => resume({ environment, reason: { reason } }, options);
  }
};

const decisionOf = (verb: Verb, { from, to }: LinkState, gate: Gate | Refusal): Decision => {
  const title = TITLES[verb];
  const candidate = candidateOf(gate);
  const limited = gate instanceof Refusal ? undefined : gate.limited;
  return {
    title,
    what: `${title} ${from} to ${to}`,
    object: candidate ?? '',
    decide: decideFor(verb, to, candidate === undefined ? {} : { candidate }),
    allowance: `${verb}:${to}`,
    isMain: verb === 'promote',
    preview: <WhatMoves title={MOVES[verb](to)} moves={movesOfCandidate(to, candidate)} />,
    // Of the verbs here only a rejection may be for workspaces, and only the hub knows what the candidate changes.
    byWorkspace: verb === 'reject' && limited?.whyNotReject === null,
    whyNot:
      verb === 'reject' && typeof limited?.whyNotReject === 'string'
        ? `your roles do not allow reject:${to} of this candidate, ${limited.whyNotReject}`
        : undefined,
  };
};

const VERBS: readonly Verb[] = ['promote', 'reject', 'pause', 'resume'];

/** Leaves out decisions that have no effect in this state. The hub checks each decision itself. */
const isOffered = (verb: Verb, state: string): boolean => {
  switch (verb) {
    case 'promote':
      return state === 'ready';
    case 'reject':
      return state === 'ready' || state === 'waiting';
    case 'pause':
      return state !== 'paused';
    case 'resume':
      return state === 'paused';
  }
};

const candidateOf = (gate: Gate | Refusal): Digest | undefined =>
  gate instanceof Refusal ? undefined : gate.candidate;

const Conditions = ({ gate, now }: { readonly gate: Gate; readonly now: string }) => (
  <>
    <Text>
      Candidate <ShortDigest of={gate.candidate} />
      {gate.note !== null && `: ${gate.note}`}
      {gate.earliest !== null && (
        <>
          . The clock alone can open it: <Age at={gate.earliest} now={now} />
        </>
      )}
    </Text>
    <Wide
      label={`Gate of ${gate.to}`}
      headings={['Condition', 'State', 'Wanted', 'Found', 'Held back by', 'Changed by']}
    >
      {gate.conditions.map(({ name, met, wanted, found, holding, changedBy }) => (
        <Table.Tr key={name}>
          <Table.Th scope="row">
            <Anchor component={Link} to={conditionAddress(name, gate)}>
              {name}
            </Anchor>
          </Table.Th>
          <Table.Td>
            <State mood={met ? 'good' : 'late'}>{met ? 'met' : 'not met'}</State>
          </Table.Td>
          <Table.Td>{wanted}</Table.Td>
          <Table.Td>{found}</Table.Td>
          <Table.Td>
            {holding.first.map((one) => (
              <Holder key={one} line={one} />
            ))}
            {holding.count > holding.first.length && `and ${holding.count - holding.first.length} more`}
          </Table.Td>
          <Table.Td>{changedBy.join(', ')}</Table.Td>
        </Table.Tr>
      ))}
    </Wide>
    {gate.limited !== undefined && (
      <Text>
        You approve for {gate.limited.workspaces.join(', ')}
        {gate.limited.whyNotApprove !== null && `, but not this candidate, ${gate.limited.whyNotApprove}`}.
      </Text>
    )}
  </>
);

type PastProps = {
  readonly promotions: Promotions['promotions'];
  readonly to: string;
  readonly now: string;
};

const Past = ({ promotions, to, now }: PastProps) => (
  <Wide label={`Promotions to ${to}`} headings={['Number', 'Time', 'Candidate', 'Who', 'Reason']}>
    {promotions.map(({ number, time, candidate, person, mode, reason, current }) => (
      <Table.Tr key={number}>
        <Table.Th scope="row">
          <Anchor
            component={Link}
            to={`/audit?${new URLSearchParams({ environment: to, what: 'promotion' })}`}
          >
            {number}
          </Anchor>
          {current && ', current'}
        </Table.Th>
        <Table.Td>
          <Age at={time} now={now} />
        </Table.Td>
        <Table.Td>
          <ShortDigest of={candidate} />
        </Table.Td>
        <Table.Td>{person ?? mode}</Table.Td>
        <Table.Td>{reason}</Table.Td>
      </Table.Tr>
    ))}
  </Wide>
);
