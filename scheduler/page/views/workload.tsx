import { Anchor, Button, Group, Table, Text, Title } from '@mantine/core';
import { Link, type LoaderFunctionArgs, useLoaderData } from 'react-router';
import type { History as HistoryAnswer, Where, Workloads } from '#bundles/schemas/types/hub-decisions';
import { history, where, workloads } from '#bundles/transport/hub/client';
import { ask, given, refusedOr, Refusal } from '../api/ask.ts';
import { Age } from '../parts/age.tsx';
import { Commit } from '../parts/commit.tsx';
import { ShortDigest } from '../parts/digest.tsx';
import { RunningAgents } from '../parts/running-agents.tsx';
import { State } from '../parts/state.tsx';
import { Wide } from '../parts/wide.tsx';
import { shortName, toneOfCell } from './workloads.tsx';

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
      <Versions workload={workload} cells={row?.cells ?? []} environments={matrix.environments} />
      {where instanceof Refusal ? <Text>{where.message}</Text> : <Agents where={where} />}
      {!(history instanceof Refusal) && <History history={history} />}
    </>
  );
};

type Cells = Workloads['workloads'][number]['cells'];
type VersionsProps = {
  readonly workload: string;
  readonly cells: Cells;
  readonly environments: readonly string[];
};

/** A row for each version, as people name it, with its digests behind the copy; a column for each environment. */
const Versions = ({ workload, cells, environments }: VersionsProps) => {
  const all = Map.groupBy(
    cells.flatMap((cell) => cell.versions.map((one) => ({ ...one, cell }))),
    ({ name }) => name,
  );
  return (
    <>
      <Wide
        label="Versions"
        headings={['Version', 'Chart', 'Tag or branch', 'Commit', 'Package', ...environments]}
      >
        {[...all].map(([name, of]) => {
          const version = of.find((one) => one.version !== null)?.version;
          const packages = [...new Set(of.flatMap((one) => one.packages))];
          return (
            <Table.Tr key={name}>
              <Table.Th scope="row" title={name}>
                <Anchor
                  component={Link}
                  to={`/where?${new URLSearchParams({ name: workload, version: name })}`}
                >
                  {version?.version ?? shortName(workload, name)}
                </Anchor>
              </Table.Th>
              <Table.Td>{version?.chart}</Table.Td>
              <Table.Td>{version?.ref}</Table.Td>
              <Table.Td>
                <Commit of={version} />
              </Table.Td>
              <Table.Td>
                {packages.map((digest) => (
                  <div key={digest}>
                    <ShortDigest of={digest} />
                  </div>
                ))}
              </Table.Td>
              {environments.map((environment) => (
                <Table.Td key={environment}>
                  <InEnvironment of={of.find((one) => one.cell.environment === environment)} />
                </Table.Td>
              ))}
            </Table.Tr>
          );
        })}
      </Wide>
      <Group gap="xs" my="xs">
        {cells.flatMap(({ environment, failed, drifted }) =>
          (
            [
              [failed, 'failed'],
              [drifted, 'drifted'],
            ] as const
          ).flatMap(([count, word]) =>
            count === 0 ? (
              []
            ) : (
              <Anchor
                key={`${environment} ${word}`}
                component={Link}
                to={`/sites?${new URLSearchParams({ environment, verdict: word })}`}
              >
                <State mood="bad">{`${count} ${word} in ${environment}`}</State>
              </Anchor>
            ),
          ),
        )}
      </Group>
    </>
  );
};

type Placed = Cells[number]['versions'][number] & { readonly cell: Cells[number] };

/** At how many agents of an environment a version runs, and which releases have it. */
const InEnvironment = ({ of }: { readonly of: Placed | undefined }) => {
  if (of === undefined) return null;
  const { agents, releases, cell } = of;
  return (
    <>
      <State
        mood={toneOfCell(agents, cell.agents, releases.length > 0)}
      >{`${agents} of ${cell.agents}`}</State>
      <Text size="sm" c="dimmed">
        {releases.length === 0
          ? 'not in the newest release'
          : releases.map(({ channel, version }) => `${channel} release ${version}`).join(', ')}
      </Text>
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
          <Table.Td>
            <Anchor component={Link} to={`/sites/${change.agent.split('/')[0] ?? ''}`}>
              {change.agent}
            </Anchor>
          </Table.Td>
          <Table.Td>
            {change.assignment !== null && (
              <Anchor component={Link} to={`/sites/${change.agent}/${change.assignment}`}>
                {change.assignment}
              </Anchor>
            )}
          </Table.Td>
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
