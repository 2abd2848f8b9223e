import { Anchor, Button, Group, Table, Text, TextInput, Title } from '@mantine/core';
import { Form, Link, type LoaderFunctionArgs, useLoaderData, useSearchParams } from 'react-router';
import { type Workloads, workloads } from '#bundles/transport/hub/client';
import { ask, given } from '../api/ask.ts';
import { Pages } from '../parts/pages.tsx';
import { State } from '../parts/state.tsx';
import { Wide } from '../parts/wide.tsx';

const WORKLOADS = 50;

export const readWorkloads = async ({ request }: LoaderFunctionArgs): Promise<Workloads> => {
  const query = new URL(request.url).searchParams;
  const asked = given({ environment: query.get('environment'), cursor: query.get('cursor') });
  return ask((options) => workloads({ ...asked, limit: WORKLOADS }, options), request.signal);
};

/** Matrix of environments and workloads: the versions that run, and those of the newest releases. */
export const WorkloadsView = () => {
  const { environments, workloads, next } = useLoaderData<Workloads>();
  const [query] = useSearchParams();
  return (
    <>
      <title>Workloads - Fleet Ferry</title>
      <Title order={1}>Workloads</Title>
      <Form role="search" aria-label="Filters" key={query.toString()}>
        <Group align="end" my="md">
          <TextInput name="environment" label="Environment" defaultValue={query.get('environment') ?? ''} />
          <Button type="submit">Filter</Button>
        </Group>
      </Form>
      {workloads.length === 0 && <Text>No workload is released.</Text>}
      <Wide label="Workloads" headings={['Workload', ...environments]}>
        {workloads.map(({ workload, cells }) => (
          <Table.Tr key={workload}>
            <Table.Th scope="row">
              <Anchor component={Link} to={`/workloads/${encodeURIComponent(workload)}`}>
                {workload}
              </Anchor>
            </Table.Th>
            {environments.map((environment) => (
              <Table.Td key={environment}>
                <Cell workload={workload} cell={cells.find((one) => one.environment === environment)} />
              </Table.Td>
            ))}
          </Table.Tr>
        ))}
      </Wide>
      <Pages next={next} />
    </>
  );
};

type WorkloadCell = Workloads['workloads'][number]['cells'][number];

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
      {failed > 0 && <State mood="bad">{`${failed} failed`}</State>}
      {drifted > 0 && <State mood="bad">{`${drifted} drifted`}</State>}
    </>
  );
};

/** A version that no release has any more is late; one that runs at all agents is good. */
export const toneOfCell = (running: number, agents: number, isWanted: boolean) => {
  if (!isWanted) return 'late';
  return running >= agents ? 'good' : 'quiet';
};
