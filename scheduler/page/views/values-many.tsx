import { Anchor, Button, Checkbox, Group, List, Text, TextInput, Title } from '@mantine/core';
import { lazy, Suspense } from 'react';
import { Form, Link, type LoaderFunctionArgs, useLoaderData } from 'react-router';
import { formatCount } from '#bundles/format-count';
import type { ValuesSelection } from '#bundles/schemas/types/hub-decisions';
import { valuesSelection, valuesTree } from '#bundles/transport/hub/client';
import { ask, Refusal, refusedOr } from '../api/ask.ts';
import { Refused } from '../parts/with-reason.tsx';

/** The library of forms is loaded with the first one. */
const ManyForm = lazy(() => import('./values-many-form.tsx'));

type Answer = {
  readonly select: string;
  readonly agents: boolean;
  /** Labels that agents have: label=value. */
  readonly labels: readonly { readonly pair: string; readonly sites: number }[];
  readonly found: ValuesSelection | Refusal | undefined;
};

export const readManyValues = async ({ request }: LoaderFunctionArgs): Promise<Answer> => {
  const query = new URL(request.url).searchParams;
  const select = query.get('select') ?? '';
  const agents = query.get('agents') === 'true';
  const { signal } = request;
  const asked = { select, agents: agents ? ('true' as const) : ('false' as const) };
  const [{ labels }, found] = await Promise.all([
    ask((options) => valuesTree({ limit: 1 }, options), signal),
    select === '' ? undefined : refusedOr(ask((options) => valuesSelection(asked, options), signal)),
  ]);
  const pairs = Object.entries(labels).flatMap(([label, counts]) =>
    Object.entries(counts).map(([value, sites]) => ({ pair: `${label}=${value}`, sites })),
  );
  return { select, agents, labels: pairs, found };
};

/** One change of the values of all sites, or agents, that have some labels. */
export const ManyValuesView = () => {
  const { select, agents, labels, found } = useLoaderData<Answer>();
  return (
    <>
      <title>Values of many sites - Fleet Ferry</title>
      <Title order={1}>Values of many sites</Title>
      <Text>
        <Anchor component={Link} to="/values">
          All layers and sites
        </Anchor>
      </Text>
      <Form method="get">
        <Group align="end" my="sm">
          <TextInput
            key={select}
            name="select"
            label="Labels"
            description="All of them, like region=north,line=a"
            defaultValue={select}
            required
            withAsterisk={false}
          />
          <Checkbox
            key={`${agents}`}
            name="agents"
            value="true"
            label="The values of the agents with these labels, not of their sites"
            defaultChecked={agents}
          />
          <Button type="submit" variant="default">
            Select
          </Button>
        </Group>
      </Form>
      {select === '' && labels.length > 0 && (
        <>
          <Text>Labels that sites have:</Text>
          <List aria-label="Labels">
            {labels.map(({ pair, sites }) => (
              <List.Item key={pair}>
                <Anchor component={Link} to={`?select=${encodeURIComponent(pair)}`}>
                  {pair}
                </Anchor>{' '}
                ({formatCount(sites, 'site')})
              </List.Item>
            ))}
          </List>
        </>
      )}
      {select === '' && labels.length === 0 && (
        <Text>No agent that you see has labels: they are given when it is enrolled.</Text>
      )}
      {found instanceof Refusal && <Refused fault={found} />}
      {found !== undefined && !(found instanceof Refusal) && (
        <>
          <Selected of={found} />
          {found.values.length === 0 ? (
            <Text>No application there takes a value of the site.</Text>
          ) : (
            <Suspense fallback={<Text>The form is loading.</Text>}>
              <ManyForm key={`${select} ${agents}`} selection={found} />
            </Suspense>
          )}
        </>
      )}
    </>
  );
};

/** The selected sites, the agents that a change reaches too, and how many sites the person may not see. */
const Selected = ({ of: { sites, unseen, others, agents } }: { readonly of: ValuesSelection }) => {
  const count = agents ? sites.reduce((sum, one) => sum + one.agents.length, 0) : sites.length;
  return (
    <>
      <details>
        <summary>{formatCount(count, agents ? 'agent' : 'site')}</summary>
        <Text size="sm">
          {sites
            .map(({ site, agents: own }) =>
              agents ? own.map((agent) => `${site}/${agent}`).join(', ') : site,
            )
            .join(', ')}
        </Text>
      </details>
      {others.length > 0 && (
        <Text>
          A value of a site reaches all its agents, also these without the labels: {others.join(', ')}.
        </Text>
      )}
      {unseen > 0 && (
        <Text>
          {unseen} more {unseen === 1 ? 'site has' : 'sites have'} these labels. You may not see{' '}
          {unseen === 1 ? 'it' : 'them'}, and nothing changes there.
        </Text>
      )}
    </>
  );
};
