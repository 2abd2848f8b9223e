import { Button, Table, Text, Title } from '@mantine/core';
import { Link, type LoaderFunctionArgs, useLoaderData } from 'react-router';
import {
  type History as HistoryAnswer,
  history,
  type Where,
  where,
  type Workloads,
  workloads,
} from '#bundles/transport/hub/client';
import { ask, given, refusedOr, Refusal } from '../api/ask.ts';
import { Age } from '../parts/age.tsx';
import { RunningAgents } from '../parts/running-agents.tsx';
import { Wide } from '../parts/wide.tsx';
import { Cell } from './workloads.tsx';

/** The answer to a question without a time; it has changes. */
type Changes = Extract<HistoryAnswer, { readonly changes: unknown }>;

type WorkloadAnswer = {
  readonly workload: string;
  readonly matrix: Workloads;
  /** A refusal if no release and no agent has the workload yet. */
  readonly where: Where | Refusal;
  readonly history: Changes | Refusal;
};

const AGENTS = 50;
const CHANGES = 25;

export const readWorkload = async ({ params, request }: LoaderFunctionArgs): Promise<WorkloadAnswer> => {
  const { workload = '' } = params;
  const { signal } = request;
  const query = new URL(request.url).searchParams;
  const after = given({ cursor: query.get('cursor') });
  const before = given({ cursor: query.get('before') });
  const [matrix, agents, changes] = await Promise.all([
    ask((options) => workloads({ workload }, options), signal),
    refusedOr(ask((options) => where({ workload, ...after, limit: AGENTS }, options), signal)),
    refusedOr(ask((options) => history({ workload, ...before, limit: CHANGES }, options), signal)),
  ]);
  return { workload, matrix, where: agents, history: changes as Changes | Refusal };
};

/** A workload: its versions by environment, the agents that run it, and how that changed. */
export const WorkloadView = () => {
  const { workload, matrix, where, history } = useLoaderData<WorkloadAnswer>();
  const [row] = matrix.workloads;
  return (
    <>
      <title>{`Workload ${workload} - Fleet Ferry`}</title>
      <Title order={1}>Workload {workload}</Title>
      <Wide label="Versions" headings={matrix.environments}>
        <Table.Tr>
          {matrix.environments.map((environment) => (
            <Table.Td key={environment}>
              <Cell workload={workload} cell={row?.cells.find((one) => one.environment === environment)} />
            </Table.Td>
          ))}
        </Table.Tr>
      </Wide>
      {where instanceof Refusal ? <Text>{where.message}</Text> : <Agents where={where} />}
      {!(history instanceof Refusal) && <History history={history} />}
    </>
  );
};

const Agents = ({ where }: { readonly where: Where }) => (
  <section aria-labelledby="agents">
    <Title order={2} id="agents">
      Agents
    </Title>
    {where.agents.length === 0 && <Text>No agent of this page runs it.</Text>}
    <RunningAgents where={where} assignments={false} />
  </section>
);

const History = ({ history: { at, changes, next } }: { readonly history: Changes }) => (
  <section aria-labelledby="history">
    <Title order={2} id="history">
      History
    </Title>
    <Wide label="Changes" headings={['Time', 'Agent', 'Assignment', 'Field', 'From', 'To', 'Received']}>
      {changes.map((change) => (
        <Table.Tr key={`${change.agent} ${change.assignment} ${change.field} ${change.seq}`}>
          <Table.Td>
            <Age at={change.observedAt} now={at} />
          </Table.Td>
          <Table.Td>{change.agent}</Table.Td>
          <Table.Td>{change.assignment}</Table.Td>
          <Table.Td>{change.field}</Table.Td>
          <Table.Td>{change.fromName}</Table.Td>
          <Table.Td>
            {change.toName}
            {change.message !== null && <Text size="sm">{change.message}</Text>}
          </Table.Td>
          <Table.Td>
            <Age at={change.receivedAt} now={at} />
          </Table.Td>
        </Table.Tr>
      ))}
    </Wide>
    {next !== null && (
      <Button component={Link} to={`?before=${encodeURIComponent(next)}`} variant="default" my="md">
        Older changes
      </Button>
    )}
  </section>
);
