import { Anchor, Button, Group, NativeSelect, Table, Text, Title } from '@mantine/core';
import { Form, Link, type LoaderFunctionArgs, useLoaderData, useSearchParams } from 'react-router';
import { defined } from '#bundles/defined';
import type { Compare } from '#bundles/schemas/types/hub-decisions';
import { compare } from '#bundles/transport/hub/client';
import { ask, given } from '../api/ask.ts';
import { Change } from '../parts/change.tsx';
import { Pages } from '../parts/pages.tsx';
import { useEnvironments } from '../parts/shell/scope.tsx';
import { type Tone, State } from '../parts/state.tsx';
import { Wide } from '../parts/wide.tsx';

const ASSIGNMENTS = 50;

/** null: the two environments are not selected yet. */
export const readCompare = async ({ request }: LoaderFunctionArgs): Promise<Compare | null> => {
  const query = new URL(request.url).searchParams;
  const [left, right] = [query.get('left') ?? '', query.get('right') ?? ''];
  if (left === '' || right === '') return null;
  const show = query.get('show') === 'all' ? 'all' : 'differing';
  const asked = { left, right, show, limit: ASSIGNMENTS, ...given({ cursor: query.get('cursor') }) } as const;
  return ask((options) => compare(asked, options), request.signal);
};

/** Comparison of the newest releases of two environments: versions, running versions, and differing objects. */
export const CompareView = () => {
  const answer = useLoaderData<Compare | null>();
  const [query] = useSearchParams();
  const environments = useEnvironments();
  // Without a query the fields offer the last two environments of the chain.
  const [before = '', last = ''] = environments.slice(-2);
  return (
    <>
      <title>Compare - Fleet Ferry</title>
      <Title order={1}>Compare</Title>
      <Form key={`${query.toString()} ${environments.join()}`}>
        <Group align="end" my="md">
          {[
            { name: 'left', label: 'Environment', chosen: query.get('left') ?? before },
            { name: 'right', label: 'With', chosen: query.get('right') ?? last },
          ].map(({ chosen, ...field }) => (
            <NativeSelect
              key={field.name}
              {...field}
              defaultValue={chosen}
              // The address may name an environment that the chain does not have.
              data={[...new Set([...environments, chosen])]}
            />
          ))}
          <Button type="submit">Compare</Button>
        </Group>
      </Form>
      {answer === null ? <Neighbours of={environments} /> : <Differences answer={answer} />}
    </>
  );
};

/** Environments that follow each other in the chain, to compare by one click. */
const Neighbours = ({ of: environments }: { readonly of: readonly string[] }) => (
  <Group gap="md">
    {environments.slice(1).map((right, at) => {
      const left = environments[at] ?? '';
      return (
        <Anchor key={right} component={Link} to={`?${new URLSearchParams({ left, right })}`}>
          {left} and {right}
        </Anchor>
      );
    })}
  </Group>
);

type Compared = Compare['assignments'][number];

const TONES: Readonly<Record<Compared['outcome'], Tone>> = {
  same: 'good',
  version: 'late',
  configuration: 'late',
  'only left': 'quiet',
  'only right': 'quiet',
};

const Differences = ({ answer: { left, right, total, assignments, next } }: { readonly answer: Compare }) => {
  const [query] = useSearchParams();
  const isAll = query.get('show') === 'all';
  const differing = assignments.length === 0 ? 'No more of them differ. ' : 'Those that differ are listed. ';
  return (
    <>
      <Text>
        {left} and {right} have {total} assignments. {isAll ? 'All are listed. ' : differing}
        <Anchor
          component={Link}
          underline="always"
          to={`?${new URLSearchParams(defined({ left, right, show: isAll ? undefined : 'all' }))}`}
        >
          {isAll ? 'Show those that differ' : 'Show all'}
        </Anchor>
      </Text>
      <Wide
        label="Assignments"
        headings={['Assignment', 'Outcome', left, right, `What differs: - ${left}, + ${right}`]}
      >
        {assignments.map((one) => (
          <Table.Tr key={`${one.clusterType} ${one.assignment}`}>
            <Table.Th scope="row">
              {one.clusterType}/
              <Anchor component={Link} to={`/where?name=${encodeURIComponent(one.assignment)}`}>
                {one.assignment}
              </Anchor>
            </Table.Th>
            <Table.Td>
              <State mood={TONES[one.outcome]}>{one.outcome}</State>
            </Table.Td>
            <Table.Td>
              <Release of={one.left} />
            </Table.Td>
            <Table.Td>
              <Release of={one.right} />
            </Table.Td>
            <Table.Td>
              {one.values.map(({ name, old = 'nothing', new: now = 'nothing' }) => (
                <Text key={name} size="sm">
                  {name}: {old} in {left}, {now} in {right}
                </Text>
              ))}
              {one.objects.map((object) => (
                <Change key={`${object.file} ${object.object}`} object={object} />
              ))}
            </Table.Td>
          </Table.Tr>
        ))}
      </Wide>
      <Pages next={next} />
    </>
  );
};

const Release = ({ of }: { readonly of: Compared['left'] }) =>
  of === null ? (
    'nothing'
  ) : (
    <>
      {of.name}, release {of.release}
      <Text size="sm">
        {of.agents.running} of {of.agents.all} agents run it
      </Text>
    </>
  );
