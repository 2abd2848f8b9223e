import { Anchor, Group, Text, Title } from '@mantine/core';
import { Link, type LoaderFunctionArgs, useLoaderData } from 'react-router';
import type { Workloads } from '#bundles/schemas/types/hub-decisions';
import { workloads } from '#bundles/transport/hub/client';
import { ask } from '../api/ask.ts';
import { readNarrowed } from '../api/read-narrowed.ts';
import type { Facet } from '../parts/facet.ts';
import { type Column, FilteredTable } from '../parts/filtered-table.tsx';
import type { Order } from '../parts/order.ts';
import { Pages } from '../parts/pages.tsx';
import { State } from '../parts/state.tsx';

/** Workloads that one answer has, and that choices are counted among. */
const WORKLOADS = 500;

export const readWorkloads = async ({ request }: LoaderFunctionArgs): Promise<Workloads> => {
  const query = new URL(request.url).searchParams;
  return readNarrowed(query, (asked) =>
    ask((options) => workloads({ ...asked, limit: WORKLOADS }, options), request.signal),
  );
};

/** Matrix of environments and workloads: the versions that run, and those of the newest releases. */
export const WorkloadsView = () => {
  const { environments, workloads, next } = useLoaderData<Workloads>();
  return (
    <>
      <title>Workloads - Fleet Ferry</title>
      <Title order={1}>Workloads</Title>
      {workloads.length === 0 && <Text>No workload is released.</Text>}
      <FilteredTable
        label="Workloads"
        noun="workloads"
        rows={workloads}
        keyOf={({ workload }) => workload}
        columns={columnsOf(environments)}
        facets={FACETS}
        orders={ORDERS}
        hasMore={next !== null}
      />
      <Pages next={next} />
    </>
  );
};

type Row = Workloads['workloads'][number];
type WorkloadCell = Workloads['workloads'][number]['cells'][number];

/** States that a workload has somewhere. */
const statesOf = ({ cells }: Row): readonly string[] => {
  const states = [
    cells.some(({ failed }) => failed > 0) && 'failed',
    cells.some(({ drifted }) => drifted > 0) && 'drifted',
    cells.some(({ versions }) => versions.some(({ releases }) => releases.length === 0)) && 'old',
  ].filter((one) => one !== false);
  return states.length === 0 ? ['fine'] : states;
};

const troubled = ({ cells }: Row): number =>
  cells.reduce((sum, { failed, drifted }) => sum + failed + drifted, 0);
const agentsOf = ({ cells }: Row): number => cells.reduce((sum, { agents }) => sum + agents, 0);
const byName = (a: Row, b: Row): number => a.workload.localeCompare(b.workload);

const FACETS: readonly Facet<Row>[] = [
  {
    key: 'environment',
    label: 'Environment',
    of: ({ cells }) => cells.map(({ environment }) => environment),
  },
  {
    key: 'state',
    label: 'State',
    of: statesOf,
    names: {
      failed: 'fails somewhere',
      drifted: 'drifted somewhere',
      old: 'runs in an old version',
      fine: 'none of these',
    },
    order: ['failed', 'drifted', 'old', 'fine'],
  },
];

const ORDERS: readonly Order<Row>[] = [
  { value: 'name', label: 'name', compare: byName },
  {
    value: 'state',
    label: 'failed and drifted agents',
    compare: (a, b) => troubled(b) - troubled(a) || byName(a, b),
  },
  { value: 'agents', label: 'agents', compare: (a, b) => agentsOf(b) - agentsOf(a) || byName(a, b) },
];

const columnsOf = (environments: readonly string[]): readonly Column<Row>[] => [
  {
    name: 'Workload',
    text: ({ workload }) => workload,
    cell: ({ workload }) => (
      <Anchor component={Link} to={`/workloads/${encodeURIComponent(workload)}`}>
        {workload}
      </Anchor>
    ),
  },
  ...environments.map((environment): Column<Row> => {
    const cellOf = ({ cells }: Row) => cells.find((one) => one.environment === environment);
    return {
      name: environment,
      text: (row) =>
        cellOf(row)
          ?.versions.map(({ name, agents }) => `${shortName(row.workload, name)} (${agents})`)
          .join(', ') ?? '',
      cell: (row) => <Cell workload={row.workload} cell={cellOf(row)} />,
    };
  }),
];

/** A version without the name of its workload, which the row has already. */
export const shortName = (workload: string, name: string): string =>
  name.startsWith(`${workload} `) ? name.slice(workload.length + 1) : name;

const Cell = ({ workload, cell }: { readonly workload: string; readonly cell: WorkloadCell | undefined }) => {
  if (cell === undefined) return <Text span>nothing</Text>;
  const { agents, failed, drifted, versions } = cell;
  return (
    <>
      {versions.map(({ name, agents: running, releases }) => (
        <div key={name}>
          {shortName(workload, name)}{' '}
          <State mood={toneOfCell(running, agents, releases.length > 0)}>
            {`${running} of ${agents}${releases.length > 0 ? '' : ', not in the newest release'}`}
          </State>
        </div>
      ))}
      <Group gap={4}>
        {failed > 0 && <State mood="bad">{`${failed} failed`}</State>}
        {drifted > 0 && <State mood="bad">{`${drifted} drifted`}</State>}
      </Group>
    </>
  );
};

/** A version that no release has any more is late; one that runs at all agents is good. */
export const toneOfCell = (running: number, agents: number, isWanted: boolean) => {
  if (!isWanted) return 'late';
  return running >= agents ? 'good' : 'quiet';
};
