import { Anchor } from '@mantine/core';
import { Link } from 'react-router';
import type { Where } from '#bundles/schemas/types/hub-decisions';
import { Age } from './age.tsx';
import type { Facet } from './facet.ts';
import { type Column, FilteredTable } from './filtered-table.tsx';
import type { Order } from './order.ts';
import { Pages } from './pages.tsx';
import { State } from './state.tsx';

type Props = {
  readonly where: Where;
  /** Whether the table names the assignment of each row. */
  readonly assignments: boolean;
};

type Agent = Where['agents'][number];
type Row = Agent['running'][number] & Pick<Agent, 'agent' | 'site' | 'saidAt'> & { readonly channel: string };

/** The agents of an answer about what runs where, a row for each assignment, with the links to its other pages. */
export const RunningAgents = ({ where: { at, agents, next }, assignments }: Props) => {
  const rows = agents.flatMap(({ agent, site, channel, saidAt, running }) =>
    running.map(
      (one): Row => ({
        ...one,
        agent,
        site,
        saidAt,
        channel: `${channel.environment}/${channel.clusterType}`,
      }),
    ),
  );
  return (
    <>
      <FilteredTable
        label="Agents"
        noun="rows"
        rows={rows}
        keyOf={({ agent, assignment }) => `${agent} ${assignment}`}
        columns={columnsAt(at).filter(({ name }) => assignments || name !== 'Assignment')}
        facets={FACETS.filter(({ key }) => assignments || key !== 'assignment')}
        orders={ORDERS}
        hasMore={next !== null}
      />
      <Pages next={next} />
    </>
  );
};

const healthOf = ({ health }: Row): string => health?.split(' sha256:')[0] ?? 'never reported';

const isTrouble = (row: Row): boolean => /^(?:failed|rolled back)\b/.test(healthOf(row));

const FACETS: readonly Facet<Row>[] = [
  { key: 'channel', label: 'Channel', of: ({ channel }) => [channel] },
  { key: 'assignment', label: 'Assignment', of: ({ assignment }) => [assignment] },
  { key: 'version', label: 'Version', of: ({ name }) => [name] },
  { key: 'health', label: 'Health', of: (row) => [healthOf(row)] },
  { key: 'drift', label: 'Drift', of: ({ drift }) => [drift === 'drifted' ? 'drifted' : 'none'] },
];

const byAgent = (a: Row, b: Row): number => a.agent.localeCompare(b.agent);
const byTime = (a: string | null, b: string | null): number => (a ?? '').localeCompare(b ?? '');

const ORDERS: readonly Order<Row>[] = [
  { value: 'name', label: 'agent', compare: byAgent },
  {
    value: 'since',
    label: 'since, the newest first',
    compare: (a, b) => byTime(b.since, a.since) || byAgent(a, b),
  },
  {
    value: 'word',
    label: 'last word, the oldest first',
    compare: (a, b) => byTime(a.saidAt, b.saidAt) || byAgent(a, b),
  },
  { value: 'version', label: 'version', compare: (a, b) => a.name.localeCompare(b.name) || byAgent(a, b) },
];

const columnsAt = (now: string): readonly Column<Row>[] => [
  {
    name: 'Agent',
    text: ({ agent }) => agent,
    cell: ({ agent, site }) => (
      <Anchor component={Link} to={`/sites/${site}`}>
        {agent}
      </Anchor>
    ),
  },
  { name: 'Channel', text: ({ channel }) => channel },
  { name: 'Assignment', text: ({ assignment }) => assignment },
  {
    name: 'Version',
    text: ({ name }) => name,
    cell: ({ agent, assignment, name }) => (
      <Anchor component={Link} to={`/sites/${agent}/${assignment}`}>
        {name}
      </Anchor>
    ),
  },
  { name: 'Since', text: ({ since }) => since ?? '', cell: ({ since }) => <Age at={since} now={now} /> },
  {
    name: 'Health',
    text: (row) => `${healthOf(row)}${row.drift === 'drifted' ? ', drifted' : ''}`,
    cell: (row) => (
      <>
        {isTrouble(row) ? <State mood="bad">{healthOf(row)}</State> : healthOf(row)}{' '}
        {row.drift === 'drifted' && <State mood="bad">drifted</State>}
      </>
    ),
  },
  {
    name: 'Last word',
    text: ({ saidAt }) => saidAt ?? 'never',
    cell: ({ saidAt }) => <Age at={saidAt} now={now} />,
  },
];
