import { Code, Group, Table, Text, Title } from '@mantine/core';
import { type LoaderFunctionArgs, useLoaderData } from 'react-router';
import {
  gate as askGate,
  type LinkState,
  pause,
  promote,
  type Promotions,
  promotions as askPromotions,
  reject,
  resume,
  sites,
  type Verdict as Gate,
} from '#bundles/transport/hub/client';
import { ask, refusedOr, Refusal } from '../api/ask.ts';
import { inChainOrder } from '../api/chain.ts';
import { Age } from '../parts/age.tsx';
import { ShortDigest } from '../parts/digest.tsx';
import { GateState, State } from '../parts/state.tsx';
import { Wide } from '../parts/wide.tsx';
import { Decide, type Decision } from './decide.tsx';

/** A link of the chain. The gate is a refusal if it cannot be judged, for example without a candidate. */
type Link = {
  readonly link: LinkState;
  readonly gate: Gate | Refusal;
  readonly promotions: Promotions['promotions'];
};
type PipelineAnswer = { readonly at: string; readonly links: readonly Link[] };

const SHOWN = 5;

export const readPipeline = async ({ request: { signal } }: LoaderFunctionArgs): Promise<PipelineAnswer> => {
  const { at, links } = await ask((options) => sites({ limit: 1 }, options), signal);
  const read = inChainOrder(links).map(async (link): Promise<Link> => {
    const environment = link.to;
    const [gate, past] = await Promise.all([
      refusedOr(ask((options) => askGate({ environment }, options), signal)),
      refusedOr(ask((options) => askPromotions({ environment, limit: SHOWN }, options), signal)),
    ]);
    return { link, gate, promotions: past instanceof Refusal ? [] : past.promotions };
  });
  return { at, links: await Promise.all(read) };
};

/** The chain of environments: each promotion with all conditions of its gate, and the decisions about it. */
export const Pipeline = () => {
  const { at, links } = useLoaderData<PipelineAnswer>();
  return (
    <>
      <title>Pipeline - Fleet Ferry</title>
      <Title order={1}>Pipeline</Title>
      {links.length === 0 && (
        <Text>
          No environment of this fleet is promoted from another one, or the hub runs without a platform.
        </Text>
      )}
      {links.map((one) => (
        <LinkSection key={one.link.to} of={one} now={at} />
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

const LinkSection = ({ of: { link, gate }, now }: { readonly of: Link; readonly now: string }) => {
  const state = gate instanceof Refusal ? link.state : gate.state;
  return (
    <section aria-labelledby={`link-${link.to}`}>
      <Title order={2} id={`link-${link.to}`}>
        {link.from} to {link.to}
      </Title>
      <Text component="div">
        <GateState state={state} /> {link.mode}, since <Age at={link.since} now={now} />
      </Text>
      {gate instanceof Refusal ? <Text>{gate.message}</Text> : <Conditions gate={gate} now={now} />}
      <Group my="sm">
        {VERBS.filter((verb) => isOffered(verb, state)).map((verb) => (
          <Decide key={verb} decision={decisionOf(verb, link, gate)} />
        ))}
      </Group>
    </section>
  );
};

type Verb = 'promote' | 'reject' | 'pause' | 'resume';

const TITLES: Readonly<Record<Verb, string>> = {
  promote: 'Promote',
  reject: 'Reject',
  pause: 'Pause',
  resume: 'Resume',
};

/** @param about the candidate on the screen; the decision does not apply to a newer one */
const decideFor = (
  verb: Verb,
  environment: string,
  about: { readonly candidate?: string },
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
    decide: decideFor(verb, to, candidate === undefined ? {} : { candidate }),
    allowance: `${verb}:${to}`,
    isMain: verb === 'promote',
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

const candidateOf = (gate: Gate | Refusal): string | undefined =>
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
          <Table.Th scope="row">{name}</Table.Th>
          <Table.Td>
            <State mood={met ? 'good' : 'late'}>{met ? 'met' : 'not met'}</State>
          </Table.Td>
          <Table.Td>{wanted}</Table.Td>
          <Table.Td>{found}</Table.Td>
          <Table.Td>
            {holding.first.map((one) => (
              <div key={one}>{one}</div>
            ))}
            {holding.count > holding.first.length && `and ${holding.count - holding.first.length} more`}
          </Table.Td>
          <Table.Td>{changedBy.join(', ')}</Table.Td>
        </Table.Tr>
      ))}
    </Wide>
    {gate.conditions.some(({ changedBy }) => changedBy.includes('person')) && (
      <Text>
        An approval is signed with the key of its person, which no browser has:{' '}
        <Code>fleet-scheduler approve --to {gate.to}</Code>
      </Text>
    )}
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
          {number}
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
